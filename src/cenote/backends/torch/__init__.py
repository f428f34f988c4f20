"""torch tensors on the CPU: every Op is an operator of torch's dispatcher, which torch differentiates.

Nothing here imports torch before one of its tensors comes in. ``interpreter.py`` is the backend, ``arrays.py`` has
tensors as NumPy arrays and back, ``functions.py`` the autograd functions that compute Ops with derivatives,
``duals.py`` which tensors carry a tangent, ``linearization.py`` the derivative of an Op as a program, ``library.py``
the operators that compilers see, ``fold.py`` the generic pool, ``dynamo.py`` tells ``torch.compile`` of our functions,
``symbolic.py``, ``symbols.py`` and ``deferred.py`` serve it where sizes are not known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...arguments.arrays import Array
from ...arguments.errors import BadType
from ...ops.base import Spec
from ..dispatch import register


class TorchBackend:
    """The functions of ``interpreter.py``, which is imported with the first tensor."""

    name = "torch"
    own_derivatives = "use torch.func, or requires_grad and backward()"
    operand: Callable[[Any, str], Any]
    spec: Callable[[Any], Spec]
    bind: Callable[..., tuple[Any, ...]]
    fold: Callable[..., Any]
    plain: Callable[[Any], Array | None]
    from_plain: Callable[[Array], Any]

    def owns(self, kind: type) -> bool:
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "Tensor"):  # or torch is being imported just now
            return False
        return issubclass(kind, torch.Tensor)

    def beside_tensor(self, x: Any, name: str) -> Any:
        """Next to a Tensor of ours: two libraries cannot derive the same call."""
        raise BadType(f"{name} is a torch tensor, and another argument is a cenote Tensor: pass arrays of one library")

    def numpy_dtype(self, given: object) -> object:
        if type(given).__module__ != "torch":
            return None
        from .arrays import numpy_dtype

        return numpy_dtype(given)

    def __getattr__(self, name: str) -> Any:
        if name not in TorchBackend.__annotations__:
            raise AttributeError(name)
        found = getattr(import_module(".interpreter", __name__), name)
        setattr(self, name, found)
        return found


def describe() -> str:
    """How torch is served, for :func:`cenote.show_config`."""
    torch = sys.modules.get("torch")
    if torch is None:
        return "not imported"
    used = f"{__name__}.interpreter" in sys.modules
    return f"{torch.__version__}, by operators of its dispatcher{'' if used else ' (not used yet)'}"


register(TorchBackend())
