"""``mygrad.nnet``: its layers."""

from .layers import conv_nd, max_pool

__all__ = ["conv_nd", "max_pool"]
