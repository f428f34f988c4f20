"""mygrad's ``max_pool``, ``conv_nd`` and its Tensors.

>>> from cenote.dialects import mygrad as mg
>>> x = mg.Tensor([[0.0, 10.0, 8.0], [2.0, 7.0, 3.0], [5.0, 7.0, 20.0]])
>>> out = mg.max_pool(x, pool=(2, 2), stride=1)
>>> out
Tensor([[10., 10.],
        [ 7., 20.]])
>>> out.sum().backward()
>>> x.grad
array([[0., 2., 0.],
       [0., 1., 0.],
       [0., 0., 1.]])

As there, a Tensor can be changed in place, ``x += y`` and ``x[0] = 3``, which is recorded, and basic slices of it are
views. ``nnet`` and ``nnet.layers`` have the two functions as well, for mygrad's own import lines.
"""

from typing import TYPE_CHECKING

from .._missing import missing_names
from .nnet import conv_nd, max_pool
from .tensors import Tensor, tensor

__all__ = ["Tensor", "conv_nd", "max_pool", "tensor"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)
