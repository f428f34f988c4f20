"""The module that the book's JAX edition imports: ``from cenote.dialects.d2l import jax as d2l``."""

from typing import TYPE_CHECKING

from .._missing import missing_names
from . import pool2d

__all__ = ["pool2d"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)
