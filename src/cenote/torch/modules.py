"""The pooling layers of ``torch.nn``, computed by cenote, and two families that torch does not have.

Each layer is a subclass of torch's: constructor, attributes, representation and state are inherited, and code that
looks for ``torch.nn.MaxPool2d`` finds it. A tensor that cenote does not compute on, because it is on another device,
sparse, quantised or nested, is pooled by torch, and so is one that ``torch.jit.trace`` follows.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import torch
from torch import Tensor, nn

from ..arguments.errors import BadValue, format_value, public
from ..arguments.values import Ints, real_number
from . import functional as F  # noqa: N812  what it is in torch

is_tracing: Callable[[], bool] = torch.jit.is_tracing  # type: ignore[attr-defined]


def is_ours(input: object) -> bool:
    """Whether cenote computes on this: on strided tensors in the memory of the CPU, unless torch.jit is tracing."""
    if not isinstance(input, Tensor):  # a proxy, say
        return True
    if is_tracing():  # by torch.jit, whose programs are to run without cenote
        return False
    return input.is_cpu and input.layout is torch.strided and not (input.is_quantized or input.is_nested)


class Pooling(nn.Module):
    """A layer that calls a function of cenote's with its own attributes, which have the names of the arguments."""

    function: ClassVar[Callable[..., Any]]
    arguments: ClassVar[tuple[str, ...]]
    operands: ClassVar[tuple[str, ...]] = ("input",)  # what is given to each call

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "function" in vars(cls):
            cls.arguments = tuple(p for p in inspect.signature(cls.function).parameters if p not in cls.operands)

    def forward(self, input: Tensor) -> Any:
        return self.function(input, *[getattr(self, name) for name in self.arguments])

    def __prepare_scriptable__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: torch.jit.script cannot compile what cenote computes: write "
            "torch.export.export(model, (x,)), or script the model without cenote's layers"
        )


# ------------------------------------------------------------------------------------------------ torch.nn's own


class TorchPooling(Pooling):
    """A layer that torch has too, and computes where cenote does not."""

    def forward(self, input: Tensor) -> Any:
        if not is_ours(input):
            return super(Pooling, self).forward(input)  # torch's own
        return self.function(input, *[getattr(self, name) for name in self.arguments])


class MaxPool1d(TorchPooling, nn.MaxPool1d):
    """``torch.nn.MaxPool1d``, computed by cenote."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(TorchPooling, nn.MaxPool2d):
    """``torch.nn.MaxPool2d``, computed by cenote.

    >>> import torch, cenote.torch
    >>> pool = cenote.torch.MaxPool2d(3, stride=2, padding=1)
    >>> pool
    MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)
    >>> pool(torch.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    >>> isinstance(pool, torch.nn.MaxPool2d)
    True
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(TorchPooling, nn.MaxPool3d):
    """``torch.nn.MaxPool3d``, computed by cenote."""

    function = staticmethod(F.max_pool3d)


class AvgPool1d(TorchPooling, nn.AvgPool1d):
    """``torch.nn.AvgPool1d``, computed by cenote."""

    function = staticmethod(F.avg_pool1d)


class AvgPool2d(TorchPooling, nn.AvgPool2d):
    """``torch.nn.AvgPool2d``, computed by cenote."""

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(TorchPooling, nn.AvgPool3d):
    """``torch.nn.AvgPool3d``, computed by cenote."""

    function = staticmethod(F.avg_pool3d)


class LPPool1d(TorchPooling, nn.LPPool1d):
    """``torch.nn.LPPool1d``, computed by cenote: the norm of \\|x\\|, see :func:`cenote.torch.lp_pool1d`."""

    function = staticmethod(F.lp_pool1d)


class LPPool2d(TorchPooling, nn.LPPool2d):
    """``torch.nn.LPPool2d``, computed by cenote: the norm of \\|x\\|, see :func:`cenote.torch.lp_pool2d`."""

    function = staticmethod(F.lp_pool2d)


class LPPool3d(TorchPooling, nn.LPPool3d):
    """``torch.nn.LPPool3d``, computed by cenote: the norm of \\|x\\|, see :func:`cenote.torch.lp_pool3d`."""

    function = staticmethod(F.lp_pool3d)


class AdaptiveMaxPool1d(TorchPooling, nn.AdaptiveMaxPool1d):
    """``torch.nn.AdaptiveMaxPool1d``, computed by cenote."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(TorchPooling, nn.AdaptiveMaxPool2d):
    """``torch.nn.AdaptiveMaxPool2d``, computed by cenote."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(TorchPooling, nn.AdaptiveMaxPool3d):
    """``torch.nn.AdaptiveMaxPool3d``, computed by cenote."""

    function = staticmethod(F.adaptive_max_pool3d)


class AdaptiveAvgPool1d(TorchPooling, nn.AdaptiveAvgPool1d):
    """``torch.nn.AdaptiveAvgPool1d``, computed by cenote."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(TorchPooling, nn.AdaptiveAvgPool2d):
    """``torch.nn.AdaptiveAvgPool2d``, computed by cenote."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(TorchPooling, nn.AdaptiveAvgPool3d):
    """``torch.nn.AdaptiveAvgPool3d``, computed by cenote."""

    function = staticmethod(F.adaptive_avg_pool3d)


class MaxUnpooling(Pooling):
    operands = ("input", "indices", "output_size")

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Any:  # type: ignore[override]
        if not is_ours(input):
            return super(Pooling, self).forward(input, indices, output_size)
        return self.function(input, indices, *[getattr(self, name) for name in self.arguments], output_size)


class MaxUnpool1d(MaxUnpooling, nn.MaxUnpool1d):
    """``torch.nn.MaxUnpool1d``, computed by cenote."""

    function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(MaxUnpooling, nn.MaxUnpool2d):
    """``torch.nn.MaxUnpool2d``, computed by cenote."""

    function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(MaxUnpooling, nn.MaxUnpool3d):
    """``torch.nn.MaxUnpool3d``, computed by cenote."""

    function = staticmethod(F.max_unpool3d)


# --------------------------------------------------------------------------------------- what torch does not have


class MinPooling(Pooling):
    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        window = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return f"{window}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MinPool1d(MinPooling):
    """The smallest element of each window, with the arguments of ``torch.nn.MaxPool1d``."""

    function = staticmethod(F.min_pool1d)


class MinPool2d(MinPooling):
    """The smallest element of each window, with the arguments of ``torch.nn.MaxPool2d``.

    >>> import torch, cenote.torch
    >>> cenote.torch.MinPool2d(2)(torch.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 0.,  2.],
             [ 8., 10.]]])
    """

    function = staticmethod(F.min_pool2d)


class MinPool3d(MinPooling):
    """The smallest element of each window, with the arguments of ``torch.nn.MaxPool3d``."""

    function = staticmethod(F.min_pool3d)


class SmoothMaxPooling(Pooling):
    beta: float | nn.Parameter

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        beta: float = 1.0,
        learn: bool = False,
    ) -> None:
        super().__init__()
        sharpness = checked_beta(type(self).__name__, beta)
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.learn = learn
        self.beta = nn.Parameter(torch.tensor(sharpness)) if learn else sharpness

    def extra_repr(self) -> str:
        window = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        beta = self.beta.item() if isinstance(self.beta, Tensor) and not self.beta.is_meta else self.beta
        return f"{window}, beta={beta}, learn={self.learn}"


def checked_beta(name: str, beta: object) -> float:
    """A sharpness: any finite number other than 0."""

    def check() -> float:
        value = real_number("beta", beta)
        if not math.isfinite(value) or value == 0:
            raise BadValue(f"beta={format_value(beta)}: a finite number other than 0 is needed")
        return value

    check.__name__ = name
    return public(check)()


class SmoothMaxPool1d(SmoothMaxPooling):
    """The smooth maximum of each window; the arguments are those of :class:`SmoothMaxPool2d`."""

    function = staticmethod(F.smooth_max_pool1d)


class SmoothMaxPool2d(SmoothMaxPooling):
    """The smooth maximum of each window, (1/β)·log Σ exp(β·x), in which padded elements count as zeros.

    ``beta`` is any number but 0, negative for a smooth minimum. With ``learn=True`` it is a parameter.

    >>> import torch, cenote.torch
    >>> pool = cenote.torch.SmoothMaxPool2d(2, beta=4.0, learn=True)
    >>> pool
    SmoothMaxPool2d(kernel_size=2, stride=2, padding=0, beta=4.0, learn=True)
    >>> dict(pool.state_dict())
    {'beta': tensor(4.)}
    >>> pool(torch.arange(16.0).reshape(1, 4, 4)).sum().backward()
    >>> pool.beta.grad
    tensor(-0.0225)
    """

    function = staticmethod(F.smooth_max_pool2d)


class SmoothMaxPool3d(SmoothMaxPooling):
    """The smooth maximum of each window; the arguments are those of :class:`SmoothMaxPool2d`."""

    function = staticmethod(F.smooth_max_pool3d)
