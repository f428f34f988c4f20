"""cenote for torch users: the names of ``torch.nn.functional`` and ``torch.nn``, and :func:`accelerate`.

>>> import torch
>>> import cenote.torch as F
>>> x = torch.arange(16.0).reshape(1, 4, 4).requires_grad_()
>>> y = F.max_pool2d(x, 2)
>>> y.detach()
tensor([[[ 5.,  7.],
         [13., 15.]]])
>>> y.sum().backward()
>>> x.grad[0, 1]
tensor([0., 1., 0., 1.])

The functions have the signatures, defaults, shapes and dtypes of ``torch.nn.functional``, and the layers those of
``torch.nn``; :mod:`cenote.dialects.torch` lists what differs. ``accelerate(model)`` replaces the pooling layers of a
model. Tensors must be on the CPU.
"""

from typing import TYPE_CHECKING

from ..backends.torch import functions as _functions  # noqa: F401  which defines the operators of exported programs
from ..dialects._missing import missing_names
from .acceleration import accelerate
from .functional import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    min_pool1d,
    min_pool2d,
    min_pool3d,
    smooth_max_pool1d,
    smooth_max_pool2d,
    smooth_max_pool3d,
)
from .modules import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
    MinPool1d,
    MinPool2d,
    MinPool3d,
    SmoothMaxPool1d,
    SmoothMaxPool2d,
    SmoothMaxPool3d,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "MinPool1d",
    "MinPool2d",
    "MinPool3d",
    "SmoothMaxPool1d",
    "SmoothMaxPool2d",
    "SmoothMaxPool3d",
    "accelerate",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "min_pool1d",
    "min_pool2d",
    "min_pool3d",
    "smooth_max_pool1d",
    "smooth_max_pool2d",
    "smooth_max_pool3d",
]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)
