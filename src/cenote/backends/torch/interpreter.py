"""The backend of torch tensors; see :class:`cenote.backends.dispatch.Backend`."""

from __future__ import annotations

from typing import Any

from ...arguments.arrays import Array
from ...ops.base import Spec
from .arrays import PLAIN, Tensor, checked, from_fresh, spec_of, tracing
from .deferred import known_sizes
from .duals import has_tangent
from .fold import fold
from .functions import bind, transforming
from .library import has_format, modes

__all__ = ["bind", "fold", "from_plain", "operand", "plain", "spec"]

operand = checked


def spec(x: Tensor) -> Spec:
    if type(x) in PLAIN and not transforming():
        return spec_of(x)
    return Spec(known_sizes(x), spec_of(x).dtype)


def plain(x: Any) -> Array | None:
    """A tensor as a NumPy array, if that is all that there is to it, and a result may keep its order."""
    if type(x) not in PLAIN or x.requires_grad or transforming() or modes() or tracing() is not None:
        return None
    try:
        return x.numpy() if has_format(x) and not has_tangent((x,)) else None
    except (RuntimeError, TypeError):  # it is on another device, has another layout, is a conjugate …
        return None


from_plain = from_fresh
