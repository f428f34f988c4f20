"""``flax.nnx``'s pooling functions: ``from cenote.dialects.flax import nnx``."""

from typing import TYPE_CHECKING

from .._missing import missing_names
from . import avg_pool, max_pool, min_pool, pool

__all__ = ["avg_pool", "max_pool", "min_pool", "pool"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)
