"""The generic pool on tensors.

A NumPy ufunc, or torch's function of the same name, is folded by NumPy. Any other function is called once for each
element of the window, on whole tensors, and torch differentiates it. A ufunc is derived by the rule of the Op, and one
that has none there by torch's function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch._functorch.pyfunctorch import temporarily_pop_interpreter_stack

from ...arguments.errors import BadType, BadValue
from ...dtypes import is_differentiable
from ...ops.fold import Fold, Reducer
from ...ops.record import replace
from .arrays import Tensor, from_numpy
from .duals import unpack
from .functions import bind, floats, primals, tangents_of_outer_transforms, tracked, transforming

functorch = torch._C._functorch
BY_NUMPY = "write it with torch instead of NumPy"


def ufunc_of(fn: Any) -> np.ufunc | None:
    """The ufunc of NumPy's that a function is, or that it has the name and the meaning of."""
    if isinstance(fn, np.ufunc):
        return fn
    name = getattr(fn, "__name__", "")
    found = getattr(np, name, None) if fn is getattr(torch, name or "-", None) else None
    return found if isinstance(found, np.ufunc) and (found.nin, found.nout) == (2, 1) else None


def fold(x: Tensor, op: Fold) -> Tensor:
    """``op`` on a tensor."""
    known = ufunc_of(op.fn)
    if known is None:
        return unrolled(op, x)
    value: Tensor
    op = replace(op, fn=known)
    if op.derivable or not is_differentiable(op.dtype) or not tracked([x]):
        (value,) = bind(op, x)
        return value
    function = getattr(torch, known.__name__, None)
    if function is None:
        raise BadType(f"np.{known.__name__} has no derivative in torch: give cn.reducer(fn, partials)")
    (value,) = bind(op, x.detach())
    if not any(floats([value])):  # of a comparison, which is a constant in torch, too
        return value
    derived = unrolled(replace(op, fn=function), x)
    replaced: Tensor = Replace.apply(value, derived.to(value.dtype))
    return replaced


def unrolled(op: Fold, x: Tensor) -> Tensor:
    fn = with_partials(op.fn) if isinstance(op.fn, Reducer) else op.fn
    out = from_numpy(np.full(op.geometry.out_shape, op.init, op.init.dtype))
    if next(op.geometry.taps(), None) is None:  # nothing is folded: the derivative is 0
        return out + x[..., :0].sum().to(out.dtype)
    for to, of in op.geometry.taps():
        accumulator, part = out[to], x[of]
        new = called(fn, accumulator, part)
        new = new.clone() if new is part else new  # a result of the caller's own, not his array
        if new.shape != accumulator.shape:
            raise BadValue(
                f"reduce_fn gave shape {tuple(new.shape)} for two tensors of shape {tuple(accumulator.shape)}: it must "
                "work element by element"
            )
        out = new if new.shape == out.shape else put(out, to, new)
    return out


def put(out: Tensor, to: Any, new: Tensor) -> Tensor:
    """``out`` with ``new`` in a part of it."""
    dtype = torch.promote_types(new.dtype, out.dtype)
    pads = []
    for part, n in zip(reversed(to), reversed(out.shape), strict=True):
        begin, end, _ = part.indices(n)
        pads += [begin, n - end]
    spread = torch.nn.functional.pad(new.to(dtype), pads)
    # Not written into zeros: torch.func.linearize evaluates constants ahead, and misses what is done to them in place.
    inside = torch.nn.functional.pad(torch.ones(new.shape, dtype=torch.bool, device="cpu"), pads)
    return torch.where(inside, spread, out.to(dtype))


def called(fn: Callable[..., Any], a: Tensor, b: Tensor) -> Tensor:
    try:
        out = fn(a, b)
    except RuntimeError as cause:
        if "numpy" not in str(cause):
            raise
        raise BadType(f"reduce_fn makes NumPy arrays of tensors that torch derives by: {BY_NUMPY}") from None
    if not isinstance(out, Tensor):
        raise BadType(f"reduce_fn gives no torch tensor for two torch tensors: {BY_NUMPY}")
    return out


def with_partials(reducer: Reducer) -> Callable[..., Any]:
    """The reducer as a function that torch differentiates by the partial derivatives that it has."""

    def function(a: Tensor, b: Tensor) -> Any:
        if not tracked([a, b]):
            return called(reducer.fn, a, b)
        value = called(reducer.fn, a.detach(), b.detach())
        if depends(value):
            raise BadType(
                "reduce_fn depends on another tensor that torch derives by, and cn.reducer has derivatives by its two "
                "arguments only: give the function itself, which torch derives"
            )
        return Reduce.apply(reducer, value, a, b)

    return function


def depends(x: Tensor) -> bool:
    """Whether a tensor has a derivative, in whichever of the transformations that are active."""
    innermost = functorch.peek_interpreter_stack() if transforming() else None
    asked = innermost is None or innermost.key() != functorch.TransformType.Vmap  # which has no rule for the question
    if x.requires_grad or (asked and unpack(x, level=0).tangent is not None):
        return True
    if innermost is None:
        return False
    inner = functorch.get_unwrapped(x) if functorch.maybe_get_level(x) == innermost.level() else x
    with temporarily_pop_interpreter_stack():
        return depends(inner)


def partials_of(ctx: Any, operands: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    def partial(i: int) -> Callable[..., Any]:
        return lambda a, b: torch.as_tensor(reducer.partials(a, b)[i])

    reducer = ctx.reducer
    a, b = operands
    return called(partial(0), a, b), called(partial(1), a, b)


class Reduce(torch.autograd.Function):
    """``apply(reducer, value, a, b)``: the value, which is a constant, with the reducer's derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(reducer: Reducer, value: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.reducer, _, *operands = inputs
        ctx.save_for_backward(*operands)
        ctx.save_for_forward(*operands)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        by_a, by_b = partials_of(ctx, ctx.saved_tensors)
        return None, None, g * by_a, g * by_b

    @staticmethod
    def jvp(ctx: Any, _: None, __: Tensor, da: Tensor, db: Tensor) -> Tensor:
        with tangents_of_outer_transforms():
            by_a, by_b = partials_of(ctx, primals(ctx.saved_tensors))
            return by_a * da + by_b * db


class Replace(torch.autograd.Function):
    """``apply(value, derived)``: the value of the first, with the derivative of the second."""

    generate_vmap_rule = True

    @staticmethod
    def forward(value: Tensor, derived: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, g

    @staticmethod
    def jvp(ctx: Any, _: None, t: Tensor) -> Tensor:
        with tangents_of_outer_transforms():
            return t.clone()
