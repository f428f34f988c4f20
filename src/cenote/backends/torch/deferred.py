"""Public calls on tensors whose sizes are not known yet: they are made again in symbols, or for the sizes at hand."""

from __future__ import annotations

import contextvars
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ...arguments.errors import BadType, BadValue, Deferred
from ...ops.base import Shape
from ...ops.fold import Fold
from .arrays import Tensor
from .functions import bind, transforming
from .symbolic import Call, Symbolic, concrete, is_symbolic, text_of
from .symbols import NoFormula, Size, pattern_of

specializing = contextvars.ContextVar("specializing", default=False)


def known_sizes(x: Tensor) -> Shape:
    """The shape of a tensor; if some sizes are not known yet, the call is made in another way."""
    shape = tuple(x.shape)
    if not is_symbolic(shape):
        return shape
    if specializing.get():
        return tuple(map(int, shape))
    raise Deferred(symbolic_call)


def symbolic_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A public call on tensors whose sizes are symbols."""
    arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    tensors = [x for x in arguments.values() if isinstance(x, Tensor)]
    shapes = [tuple(x.shape) for x in tensors]
    # Some sizes may have to be those at hand: of windows, if sizes of results are no formula of them, or of filters.
    for windows_too, filters_too in itertools.product((True, False), repeat=2) if not transforming() else ():
        try:
            text, symbols = text_of(function, arguments, windows_too and not arguments.get("ceil_mode"))
            call = Call(text, independent_sizes(text, shapes, symbols, filters_too))
            op, _ = call.concrete((), 0)
            if isinstance(op, Fold) and not op.derivable:  # torch derives its function
                raise NoFormula
            outputs = bind(Symbolic(call, ()), *tensors)
            return outputs[0] if len(outputs) == 1 else outputs
        except NoFormula:
            continue
    token = specializing.set(True)  # for the sizes at hand only: others are compiled again
    try:
        return function(*args, **kwargs)
    finally:
        specializing.reset(token)


def independent_sizes(
    text: str, shapes: Sequence[Sequence[Size]], symbols: tuple[Size, ...], filters_too: bool
) -> list[tuple[Size, ...]]:
    """Shapes without those symbols that the call needs numbers for, which are the sizes at hand then: of filters, and
    those that have to agree with others."""
    first = {str(n.node.expr) for n in shapes[0] if not isinstance(n, int)} if filters_too else set()
    rest = [tuple(n if not isinstance(n, int) and str(n.node.expr) in first else int(n) for n in s) for s in shapes[1:]]
    kept = [tuple(shapes[0]), *rest, *([symbols] if symbols else [])]
    pattern, _ = pattern_of(kept, len(shapes))
    fixed = set()
    start = pattern.hints
    for symbol, step in enumerate(pattern.steps):
        if symbol == pattern.of_tensors:  # there is room for larger windows
            start = tuple(n if k in fixed else m for k, (n, m) in enumerate(zip(start, pattern.room, strict=True)))
        try:
            concrete(text, (), pattern.at(pattern.moved(start, symbol, step)))
        except (BadType, BadValue):
            fixed.add(symbol)
    entries = zip(pattern.shapes, kept, strict=True)
    return [
        tuple(int(n) if isinstance(e, tuple) and e[0] in fixed else n for e, n in zip(shape, sizes, strict=True))
        for shape, sizes in entries
    ]
