"""``flax.linen``'s pooling functions: ``from cenote.dialects.flax import linen as nn``."""

from . import avg_pool, max_pool, min_pool, pool

__all__ = ["avg_pool", "max_pool", "min_pool", "pool"]
