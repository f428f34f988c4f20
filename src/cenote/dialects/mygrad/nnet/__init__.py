"""``mygrad.nnet``: its layers."""

from typing import TYPE_CHECKING

from ..._missing import missing_names
from .layers import conv_nd, max_pool

__all__ = ["conv_nd", "max_pool"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)
