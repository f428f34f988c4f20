"""torch's pooling and convolution functions, written with ours: what torch's own samples are run on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cenote as cn


def per_axis(value: Any, rank: int) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * rank if len(values) == 1 else values


def function(name: str) -> Callable[..., Any]:
    """The function of ``torch.nn.functional`` that has this name."""
    rank = int(name[-2])

    def max_pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return cn.max_pool(
            x,
            per_axis(kernel_size, rank),
            stride=stride or None,
            padding=per_axis(padding, rank),
            dilation=per_axis(dilation, rank),
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )

    def avg_pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        return cn.avg_pool(
            x,
            per_axis(kernel_size, rank),
            stride=per_axis(stride, rank) if stride else None,
            padding=per_axis(padding, rank),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor=divisor_override,
        )

    def adaptive_max_pool(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        return cn.adaptive_max_pool(x, per_axis(output_size, rank), return_indices=return_indices)

    def adaptive_avg_pool(x: Any, output_size: Any) -> Any:
        return cn.adaptive_avg_pool(x, per_axis(output_size, rank))

    def max_unpool(
        x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        return cn.max_unpool(
            x,
            indices,
            per_axis(kernel_size, rank),
            stride=per_axis(stride, rank) if stride else None,
            padding=per_axis(padding, rank),
            output_shape=None if output_size is None else tuple(output_size)[-rank:],
        )

    def conv(
        x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        return cn.conv(
            x,
            w,
            bias=bias,
            stride=per_axis(stride, rank),
            padding=padding if isinstance(padding, str) else per_axis(padding, rank),
            dilation=per_axis(dilation, rank),
            groups=groups,
            layout="channels_first",
        )

    def conv_transpose(
        x: Any,
        w: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        return cn.conv_transpose(
            x,
            w,
            bias=bias,
            stride=per_axis(stride, rank),
            padding=per_axis(padding, rank),
            output_padding=per_axis(output_padding, rank),
            groups=groups,
            dilation=per_axis(dilation, rank),
            layout="channels_first",
        )

    known = (max_pool, avg_pool, adaptive_max_pool, adaptive_avg_pool, max_unpool, conv, conv_transpose)
    return {f.__name__: f for f in known}[name[:-2]]
