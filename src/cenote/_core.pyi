from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Axes:
    def __init__(self, shape: Sequence[int]) -> None: ...
    def add(
        self,
        position: int,
        n: int,
        o: int,
        k: int,
        s: int,
        d: int,
        low: int,
        high: int,
        starts: Sequence[int],
        lengths: Sequence[int],
        spread_stride: int,
        spread_taps: int,
        spread_low: int,
    ) -> None: ...

class Recipe:
    def __init__(
        self,
        axes: Axes,
        in_type: int,
        work_type: int,
        out_type: int,
        swap: bool,
        reduce: int,
        prepare: int,
        finish: int,
        omit: bool,
        include_pad: bool,
        pad_value: float | None,
        divisor: float | None,
        parameter: float,
    ) -> None: ...
    def run(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        winners: NDArray[Any] | None,
        order: tuple[int, ...] | None,
    ) -> None: ...

class Memo:
    def __init__(self, array_type: type) -> None: ...
    def learn(
        self,
        x: object,
        given: tuple[object, ...],
        recipe: Recipe,
        out_shape: tuple[int, ...],
        out_dtype: np.dtype[Any],
    ) -> None: ...
    def recall(self, x: object, given: tuple[object, ...]) -> Any: ...

class ConvCalls:
    def __init__(self) -> None: ...
    def learn(
        self,
        x: object,
        w: object,
        bias: object,
        given: tuple[object, ...],
        core: Sequence[Sequence[int]],
        groups: int,
        first: bool,
        form: int,
        type: int,
        out_shape: tuple[int, ...],
    ) -> None: ...
    def recall(self, x: object, w: object, bias: object, given: tuple[object, ...]) -> Any: ...

def move(
    axes: Axes,
    x: NDArray[Any],
    y: NDArray[Any],
    winners: NDArray[Any],
    order: tuple[int, ...] | None,
    backwards: bool,
) -> None: ...
def put(out: NDArray[Any], values: NDArray[Any], index: NDArray[Any], planes: int) -> None: ...
def convolve(
    form: int,
    x: NDArray[Any],
    w: NDArray[Any],
    y: NDArray[Any],
    bias: NDArray[Any] | None,
    axes: Sequence[tuple[int, int, int, int, int, int]],
    groups: int,
    in_type: int,
) -> None: ...
def trace(f: Callable[[], object]) -> list[str]: ...
def set_verbose(on: bool) -> None: ...
def set_limits(bytes_per_tile: int, cells_per_thread: int, bytes_past_cache: int) -> None: ...
def set_fft(mode: int) -> None: ...
def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]: ...
def kept_bytes() -> int: ...
def kept_limit() -> int: ...
def set_kept_limit(bytes: int) -> None: ...
def num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def level() -> str: ...
def use_level(name: str) -> bool: ...
def levels() -> list[str]: ...
