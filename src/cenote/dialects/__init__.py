"""Other systems' pooling and convolution under their own names, with their signatures, defaults, layouts and values.

>>> import numpy as np
>>> from cenote.dialects import flax, nabla
>>> x = np.arange(16.0).reshape(1, 4, 4, 1)
>>> flax.max_pool(x, (2, 2)).shape  # flax moves a window by one element
(1, 3, 3, 1)
>>> nabla.max_pool2d(x, kernel_size=2).shape  # nabla by its size
(1, 2, 2, 1)

They take NumPy arrays, Tensors, and torch, JAX and dask arrays, and return the same kind. Those of mygrad take NumPy
arrays and Tensors, and return Tensors, as there. The systems' own import lines work with ``cenote.dialects.`` in front:
``from cenote.dialects.flax import nnx``, ``import cenote.dialects.mygrad as mg``.
Each is a module of its own, loaded on first use: ``cn.dialects.flax.max_pool``
needs no import but that of ``cenote``. Where a system is known to be wrong, and for the types of exceptions, the rules
of ``cenote`` hold; each module says where.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import d2l, flax, mygrad, nabla, torch, torchlean

__all__ = ["d2l", "flax", "mygrad", "nabla", "torch", "torchlean"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute

    def __getattr__(name):
        if name in __all__:
            return import_module(f".{name}", __name__)
        hint = "" if name.startswith("_") else f": there are {', '.join(__all__)}"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return __all__
