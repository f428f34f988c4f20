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

class PoolPlan:
    def __init__(
        self,
        axes: Axes,
        in_type: int,
        work_type: int,
        out_type: int,
        swap: bool,
        reduce: int,
        prologue: int,
        epilogue: int,
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
        argmax: NDArray[Any] | None,
        order: tuple[int, ...] | None,
    ) -> None: ...

class CallCache:
    def __init__(self, array_type: type) -> None: ...
    def insert(
        self,
        x: object,
        given: tuple[object, ...],
        plan: PoolPlan,
        out_shape: tuple[int, ...],
        out_dtype: np.dtype[Any],
    ) -> None: ...
    def lookup(self, x: object, given: tuple[object, ...]) -> Any: ...
    def clear(self) -> None: ...

class ConvCallCache:
    def __init__(self) -> None: ...
    def insert(
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
    def lookup(self, x: object, w: object, bias: object, given: tuple[object, ...]) -> Any: ...
    def clear(self) -> None: ...

def move(
    axes: Axes,
    x: NDArray[Any],
    y: NDArray[Any],
    argmax: NDArray[Any],
    order: tuple[int, ...] | None,
    backwards: bool,
) -> None: ...
def weighted(
    axes: Axes,
    transposed: Axes | None,
    exponential: bool,
    parameter: float,
    q: float,
    odd: bool,
    pad_value: float | None,
    x: NDArray[Any],
    t: NDArray[Any],
    out: NDArray[Any],
    x_type: int,
    t_type: int,
    order: tuple[int, ...] | None,
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
def same(a: object, b: object) -> bool: ...
def set_verbose(on: bool) -> None: ...
def set_limits(bytes_per_tile: int, elements_per_thread: int, streaming_bytes: int) -> None: ...
def set_fft(mode: int) -> None: ...
def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]: ...
def cached_bytes() -> int: ...
def cache_limit() -> int: ...
def set_cache_limit(bytes: int) -> None: ...
def num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def level() -> str: ...
def use_level(name: str) -> bool: ...
def levels() -> list[str]: ...
