"""``flax.nnx``'s pooling functions: ``from cenote.dialects.flax import nnx``."""

from . import avg_pool, max_pool, min_pool, pool

__all__ = ["avg_pool", "max_pool", "min_pool", "pool"]
