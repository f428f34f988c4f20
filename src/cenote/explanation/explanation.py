"""``explain`` and what it gives."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..arguments.errors import public
from .calls import Call, build_call
from .sizes import describe
from .windows import Builder, Element, Window, plain


class Explanation:
    """What every window of a call sees, as data and as pictures. See :func:`cenote.explain`."""

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def op(self) -> str:
        """Name of the function."""
        return self._call.op

    @property
    def x(self) -> Array:
        """The input."""
        return self._call.x

    @property
    def w(self) -> Array | None:
        """The filters of a convolution."""
        return self._call.w

    @property
    def y(self) -> Array | None:
        """The result; None if the window does not fit."""
        return self._call.y

    @property
    def problem(self) -> str | None:
        """Why the call fails; None if it works."""
        return self._call.problem

    @property
    def text(self) -> str:
        """The size arithmetic in words."""
        return describe(self._call)

    @cached_property
    def windows(self) -> list[Window]:
        """All windows, in row-major order of the outputs."""
        call = self._call
        if call.geometry is None or call.y is None:
            return []
        return Builder(call, call.geometry, call.y).build()

    @cached_property
    def gradient(self) -> Array | None:
        """Derivative of the sum of all outputs with respect to ``x``: how much of the gradient each element gets."""
        if any(window.gradient is None for window in self.windows):
            return None
        out = np.zeros(self.x.shape)
        for window in self.windows:
            for element in window.elements:
                out[element.index] += element.gradient
        return out

    def as_json(self) -> dict[str, Any]:
        """Everything as a plain dict that ``json.dumps`` takes.

        Keys are ``version`` (1), ``op``, ``call``, ``text``, ``problem``, ``x``, ``w`` and ``y`` (each ``{"shape",
        "dtype", "values"}`` with flat row-major values, or null), ``axes`` (one per window axis: ``position``, ``n``,
        ``outputs``, ``size``, ``stride``, ``dilation``, ``low``, ``high``), ``gradient`` (flat, of the sum of all
        outputs, or null) and ``windows``: for each output ``index``, ``elements``, ``padding`` and ``overhang`` (each
        a list of ``{"index", "value", "weight", "gradient"}``), ``omitted``, ``chosen``, ``selected``, ``divisor``,
        ``bias`` and ``result``. NaN and infinities are the strings "NaN", "Infinity" and "-Infinity"; a complex
        number is the list of its parts.
        """
        gradient = self.gradient
        return {
            "version": 1,
            "op": self.op,
            "call": self._call.text,
            "text": self.text,
            "problem": self.problem,
            "x": array_as_json(self.x),
            "w": array_as_json(self.w),
            "y": array_as_json(self.y),
            "axes": [
                {
                    "position": a.position, "n": a.n, "outputs": a.o, "size": a.k, "stride": a.s, "dilation": a.d,
                    "low": a.low, "high": a.high,
                }
                for a in self._call.axes
            ],
            "gradient": None if gradient is None else [plain(v) for v in gradient.ravel().tolist()],
            "windows": [window_as_json(window) for window in self.windows],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<cenote explanation of {self._call.text}>"


def array_as_json(array: Array | None) -> dict[str, Any] | None:
    if array is None:
        return None
    flat = array.ravel().tolist()
    values = [plain(v if isinstance(v, (bool, int, float, complex)) else float(v)) for v in flat]
    return {"shape": list(array.shape), "dtype": str(array.dtype), "values": values}


def element_as_json(element: Element) -> dict[str, Any]:
    return {
        "index": list(element.index),
        "value": plain(element.value),
        "weight": plain(element.weight),
        "gradient": plain(element.gradient),
    }


def window_as_json(window: Window) -> dict[str, Any]:
    return {
        "index": list(window.index),
        "elements": [element_as_json(e) for e in window.elements],
        "padding": [element_as_json(e) for e in window.padding],
        "overhang": [element_as_json(e) for e in window.overhang],
        "omitted": [list(i) for i in window.omitted],
        "chosen": None if window.chosen is None else list(window.chosen),
        "selected": [list(i) for i in window.selected],
        "divisor": plain(window.divisor),
        "bias": plain(window.bias),
        "result": plain(window.result),
    }


@public
def explain(op: str, x_or_shape: Any, window_or_w: Any = None, **arguments: Any) -> Any:
    """What each window of a call sees, chooses and gives, as data and as pictures.

    Parameters
    ----------
    op : str
        Name of a pooling function ("max" is short for "max_pool"), "conv" or "conv_transpose".
    x_or_shape : array_like or tuple of int
        Input of the call. A shape gets example data.
    window_or_w : int, tuple of int or array_like, optional
        Second argument of the function: the window, the ``output_size`` of adaptive pooling, or the filters of a
        convolution or their shape. Global pooling takes none.
    **arguments
        Other arguments of the function.

    Returns
    -------
    Explanation
        Has ``windows`` (a list with everything about each output), ``text`` (the size arithmetic in words),
        ``gradient`` and ``as_json()``.

    See Also
    --------
    output_shape : Shape of the result of a pooling call.
    which_kernel : Algorithm that serves a call.

    Notes
    -----
    Everything is computed by the function itself, its geometry and its derivative. If the window does not fit, the
    explanation says by how much in ``problem``, and has no windows; other mistakes are errors as in the call itself.
    At most 4096 elements and 1024 windows are explained.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> e = cn.explain("max_pool", np.array([3.0, 5, 5, 1]), (3,), stride=1)
    >>> e.windows[0].chosen, e.windows[0].selected, e.windows[0].result
    ((1,), ((1,), (2,)), 5.0)
    >>> print(e.text)
    max_pool((4,), window=(3,), stride=1)
    axis 0: 4 elements. The window spans 3, which leaves 4 - 3 = 1: floor(1 / 1) + 1 = 2 outputs.
    Result: shape (2,), 2 outputs.
    """
    return Explanation(build_call(op, x_or_shape, window_or_w, arguments))
