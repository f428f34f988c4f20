"""``explain`` and what it gives."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..arguments.errors import Cause, format_value, public
from . import svg, terminal
from .build import build_call
from .calls import Call, check_seen, elements_of_window
from .formula import formula, remarks
from .page import page
from .scene import Scene
from .sizes import describe
from .windows import Builder, Element, Index, Window, misfit, plain

MOST_STEPS = 400  # windows of an animation or a page
MOST_MARKS = 20000  # on the elements of all of them: about 2 MB of SVG
MOST_ELEMENTS_OF_STEPS = 2**16
MOST_OF_AXIS = 24  # elements of a larger window along each axis
MOST_HOVERED = 2000  # marks of a picture in a notebook, which is kept with its outputs
MOST_ELEMENTS, MOST_WINDOWS = 4096, 1024  # of what as_json gives


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
    def _builder(self) -> Builder | None:
        call = self._call
        return None if call.geometry is None or call.y is None else Builder(call, call.geometry, call.y)

    @cached_property
    def windows(self) -> list[Window]:
        """All windows, in row-major order of the outputs."""
        if self._builder is None or self.y is None:
            return []
        try:
            check_seen(self._call, self.y.size)
        except Cause as cause:
            raise ValueError(f"windows: {cause}") from None
        return self._builder.build(list(np.ndindex(self.y.shape)))

    @cached_property
    def gradient(self) -> Array | None:
        """Derivative of the sum of all outputs with respect to ``x``: how much of the gradient each element gets."""
        if self._builder is None or self.y is None:
            return None
        gradients = self._builder.gradients
        return gradients.pull(np.ones(self.y.shape)) if gradients.exist else None

    # --------------------------------------------------------------------------------------------- pictures

    def svg(self, window: Any = 0, view: str = "values") -> str:
        """The picture of one window as SVG text.

        Parameters
        ----------
        window : int or tuple of int, optional
            Which one: its number in row-major order, negative from the end, or the index of its output.
        view : str, optional
            "values", or "gradient": where a cotangent of 1 on that output goes, and what each element gets of all.

        Returns
        -------
        str
            An SVG document.
        """
        return svg.picture(self._scene(self._index("svg", window), view, False))

    def draw(self, window: Any = 0, view: str = "values") -> str:
        """The picture of one window as plain text, with the size arithmetic; arguments as of :meth:`svg`."""
        return f"{self.text}\n\n{terminal.picture(self._scene(self._index('draw', window), view, False))}"

    def html(self, window: Any = 0, view: str = "values") -> str:
        """One page that needs nothing else: point at an element, pin it, step and play through the windows, see where
        the gradient goes, copy the call, save the picture. Arguments as of :meth:`svg`: what it shows first."""
        first = self._scene(self._index("html", window), view, True)
        scenes = {"values": replace(first, gradient=None)}
        if self.gradient is not None and self.y is not None:
            scenes["gradient"] = replace(first, gradient=self.gradient)
        return page(self._call, scenes, self.text, view)

    def save(self, path: str | os.PathLike[str], window: Any = 0, view: str = "values") -> None:
        """Write a picture or a page to a file, by its ending: .svg, .html or .png.

        Parameters
        ----------
        path : str or path-like
            Name of the file. A PNG needs Pillow.
        window, view : optional
            As in :meth:`svg`; a page has all windows and both views, and shows these first.
        """
        ending = ending_of("save", path, ".svg", ".html", ".png")
        if ending == ".png":
            try:
                from . import png
            except ImportError as error:
                raise ImportError("save: a PNG is drawn with Pillow: pip install 'cenote[demo]'") from error
            content = png.picture(self._scene(self._index("save", window), view, False))
        else:
            content = (self.html if ending == ".html" else self.svg)(window, view).encode()
        with open(path, "wb") as file:
            file.write(content)

    def animate(self, path: str | os.PathLike[str], seconds: float = 1.0, view: str = "values") -> None:
        """Write an SVG that shows the windows one after the other.

        Parameters
        ----------
        path : str or path-like
            Name of the file, which ends in .svg.
        seconds : float, optional
            How long each window is shown.
        view : str, optional
            As in :meth:`svg`.
        """
        ending_of("animate", path, ".svg")
        if not isinstance(seconds, (int, float, np.number)):
            raise TypeError(f"animate: seconds={format_value(seconds)}: a positive number is needed")
        if not 0 < seconds < math.inf:
            raise ValueError(f"animate: seconds={seconds}: a positive number is needed")
        content = svg.animation(self._scene(self._index("animate", 0), view, True), seconds)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    def _repr_html_(self) -> str:
        """The picture of the first window for a notebook; pointing at another output shows the window of that one."""
        scene = self._scene(self._index("svg", 0), "values", True)
        marks = sum(len(overlay.marks) for overlay in scene.overlays)
        return svg.with_hover(scene) if marks <= MOST_HOVERED else self.svg()

    def _index(self, name: str, window: object) -> Index | None:
        """The output that was asked for; None if there is none."""
        if self.y is None or not self.y.size:
            return None
        shape = self.y.shape
        if isinstance(window, (int, np.integer)) and not isinstance(window, bool):
            if not -self.y.size <= window < self.y.size:
                raise ValueError(f"{name}: window={window}: there are {self.y.size} windows")
            return tuple(int(i) for i in np.unravel_index(int(window) % self.y.size, shape))
        entries = window if isinstance(window, (tuple, list)) else None
        if entries is None or not all(isinstance(i, (int, np.integer)) for i in entries):
            raise TypeError(f"{name}: window={window!r}: a number or the index of an output is needed")
        if len(entries) != len(shape) or not all(-n <= i < n for i, n in zip(entries, shape, strict=True)):
            raise ValueError(f"{name}: window={window!r} is no index of an output of shape {shape}")
        return tuple(int(i) % n for i, n in zip(entries, shape, strict=True))

    def _scene(self, first: Index | None, view: str, every: bool) -> Scene:
        """The picture of one window, or of all windows that are drawn beside it."""
        if view not in ("values", "gradient"):
            raise ValueError(f"view={view!r}: 'values' or 'gradient' is needed")
        gradient = self.gradient if view == "gradient" else None
        if view == "gradient" and self.problem is not None:
            raise ValueError(f"view='gradient': there is none, because the call fails: {self.problem}")
        if view == "gradient" and (gradient is None or self.y is None):
            raise ValueError(f"view='gradient': {self.op} has no derivative here")
        if self._builder is None:
            return Scene(self._call, [misfit(self._call)], None)
        if first is None:
            return Scene(self._call, [], gradient)
        builder, number = self._builder, elements_of_window(self._call)
        if number > MOST_ELEMENTS_OF_STEPS:  # more than can be drawn: a part of the window, and no others
            builder = Builder(self._call, builder.geometry, builder.y, MOST_OF_AXIS)
            return Scene(self._call, builder.build([first]), gradient, left_out_of_window=number)
        scene = Scene(self._call, builder.build([first]), gradient)
        return self._with_neighbours(scene, builder) if every else scene

    def _with_neighbours(self, scene: Scene, builder: Builder) -> Scene:
        """The same part of the arrays with all windows that lie in it."""
        drawn = sorted(c.index for c in scene.cells if c.array == "y" and c.role == "real")
        first = scene.windows[0]
        seen = len(first.elements) + len(first.padding) + len(first.overhang)
        most = max(1, min(MOST_STEPS, MOST_MARKS // len(scene.overlays[0].marks), MOST_ELEMENTS_OF_STEPS // (seen + 1)))
        inside = sorted({first.index, *(index for index in drawn if scene.contains(index))})
        at = inside.index(first.index)
        begin = min(at, max(0, len(inside) - most))
        found = [w for w in builder.build(inside[begin : begin + most]) if w.index == first.index or scene.shows(w)]
        notices = []
        if self.y is not None and len(found) < self.y.size:
            notices = [f"Windows that can be shown: {len(found)} of {self.y.size}, those in the part that is drawn."]
        focus = [window.index for window in found].index(first.index)
        return Scene(self._call, found, scene.gradient, notices, focus=focus)

    def as_json(self) -> dict[str, Any]:
        """Everything as a plain dict that ``json.dumps`` takes.

        Keys are ``version`` (1), ``op``, ``call``, ``text``, ``problem``, ``x``, ``w`` and ``y`` (each ``{"shape",
        "dtype", "values"}`` with flat row-major values, or null), ``axes`` (one per window axis: ``position``, ``n``,
        ``outputs``, ``size``, ``stride``, ``dilation``, ``low``, ``high``), ``gradient`` (flat, of the sum of all
        outputs, or null) and ``windows``: for each output ``index``, ``elements``, ``padding`` and ``overhang`` (each
        a list of ``{"index", "value", "weight", "gradient"}``), ``omitted``, ``chosen``, ``selected``, ``divisor``,
        ``bias``, ``result``, ``unrounded``, ``formula`` and ``remarks``. NaN and infinities are the strings "NaN",
        "Infinity" and "-Infinity"; a complex number is the list of its parts. At most 4096 elements and 1024 windows
        are listed.
        """
        if self.x.size > MOST_ELEMENTS or (self.y is not None and self.y.size > MOST_WINDOWS):
            number = 0 if self.y is None else self.y.size
            raise ValueError(
                f"as_json: {self.x.size} elements and {number} windows are too many, at most {MOST_ELEMENTS} and "
                f"{MOST_WINDOWS} are listed: give a smaller shape, or a part of the array"
            )
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
            "windows": [
                {**window_as_json(w), "formula": formula(self._call, w), "remarks": remarks(self._call, w)}
                for w in self.windows
            ],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<cenote explanation of {self._call.text}>"


def ending_of(name: str, path: object, *possible: str) -> str:
    """The ending of the name of a file, which is one of these."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name}: path={format_value(path)}: the name of a file is needed")
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in possible:
        endings = ", ".join(possible[:-1]) + (" or " if possible[1:] else "") + possible[-1]
        raise ValueError(f"{name}: path={os.fspath(path)!r}: a name that ends in {endings} is needed")
    return ending


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
        "unrounded": plain(window.unrounded),
    }


@public
def explain(op: str, x_or_shape: Any = None, window_or_w: Any = None, *more: Any, **arguments: Any) -> Explanation:
    """What each window of a call sees, chooses and gives, as data and as pictures.

    Parameters
    ----------
    op : str
        Name of a pooling function ("max" is short for "max_pool"), "conv" or "conv_transpose".
    x_or_shape : array_like or tuple of int, optional
        Input of the call, needed unless it is given as ``x``. A shape gets example data.
    window_or_w : int, tuple of int or array_like, optional
        Second argument of the function: the window, the ``output_size`` of adaptive pooling, or the filters of a
        convolution or their shape. Global pooling takes none.
    *more
        What the function takes by position after these: ``init`` and ``reduce_fn`` of ``pool``.
    **arguments
        Other arguments of the function; ``x``, ``window`` and ``w`` by their names too.

    Returns
    -------
    Explanation
        Has ``svg()``, ``html()``, ``save(path)`` and ``animate(path)``, which draw it, ``windows`` (a list with
        everything about each output), ``text`` (the size arithmetic in words), ``gradient`` and ``as_json()``. A
        notebook shows the picture.

    See Also
    --------
    output_shape : Shape of the result of a pooling call.
    which_kernel : Algorithm that serves a call.

    Notes
    -----
    Everything is computed by the function itself, its geometry and its derivative. If the window does not fit, the
    explanation says by how much in ``problem``, draws that, and has no windows; other mistakes are errors as in the
    call itself. Of a large array a part is drawn, and the picture says which.

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
    return Explanation(build_call(op, (x_or_shape, window_or_w, *more), arguments))
