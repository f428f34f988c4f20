"""The module that the book's JAX edition imports: ``from cenote.dialects.d2l import jax as d2l``."""

from . import pool2d

__all__ = ["pool2d"]
