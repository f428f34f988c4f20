"""Ops on tensors, and the autograd functions that give them derivatives.

An autograd function has the Op as an argument, and its derivative is made of the same functions: so it has derivatives
itself, in both modes and of every order. There are two. The classic one is faster. The transformations of
``torch.func`` need one that says apart what to keep for a derivative, and how it is batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch.autograd import forward_ad

from ...arguments.errors import BadType
from ...dtypes import is_differentiable
from ...ops.base import Op
from ...ops.fold import Fold
from .arrays import Tensor, spec_of, torch_dtype
from .duals import has_tangent, level_may_be_open
from .library import batched, compute, define_all, library, of_text, one_or_all, rules
from .linearization import Linearization, linearization
from .symbolic import Symbolic
from .symbols import Size

transforming = torch._C._are_functorch_transforms_active
FUNCTIONALIZE = torch._C._functorch.TransformType.Functionalize


def bind(op: Op, *operands: Any) -> tuple[Any, ...]:
    """The outputs of an Op on tensors."""
    if transforming():
        return in_transforms(op, operands)
    if not tracked(operands):
        return compute(op, *operands)
    out = apply_classic(op, *map(unwrap, operands))
    return out if type(out) is tuple else (out,)


def in_transforms(op: Op, operands: tuple[Tensor, ...]) -> tuple[Any, ...]:
    if torch._ops._len_torch_dispatch_stack_pre_dispatch():  # torch has no rule for an autograd function there
        raise BadType("torch.export cannot record torch.func with functions of cenote: write torch.compile(model)")
    if torch._C._functorch.peek_interpreter_stack().key() == FUNCTIONALIZE:
        raise BadType("torch.func.functionalize has nothing to do here, no array is changed in place: leave it out")
    outputs = (Transformable if has_derivative(op, operands) else Constant).apply(op, *operands)
    return outputs[: len(op.infer(*map(spec_of, operands)))]  # type: ignore[no-any-return]


def has_derivative(op: Op, operands: Sequence[Tensor]) -> bool:
    (result, *_) = op.infer(*map(spec_of, operands))
    elsewhere = isinstance(op, Fold) and not op.derivable
    return is_differentiable(result.dtype) and any(floats(operands)) and not elsewhere


def refuse(op: Op, operands: Sequence[Tensor]) -> NoReturn:
    """An integer result would be a constant: a derivative that is silently zero."""
    (result, *_) = op.infer(*map(spec_of, operands))
    raise BadType(
        f"a result of dtype {result.dtype} has no derivative: give a float dtype, or x.detach() if none is wanted"
    )


def tracked(operands: Sequence[Tensor]) -> bool:
    """Whether torch may derive by one of these tensors."""
    if transforming():
        return any(map(tracked_by_transform, operands))
    if torch.is_grad_enabled():
        for x in operands:
            if x.requires_grad:
                return True
    return has_tangent(operands)


def tracked_by_transform(x: Tensor) -> bool:
    """The same inside of a transformation: a tensor may be wrapped several times."""
    while True:
        if x.requires_grad or torch._C._functorch.is_gradtrackingtensor(x):
            return True
        if not torch._C._functorch.is_functorch_wrapped_tensor(x):
            return False
        x = torch._C._functorch.get_unwrapped(x)


def linearized(op: Op, wanted: tuple[bool, ...], operands: Sequence[Tensor]) -> Linearization:
    """The derivative of an Op; a TypeError if there is none."""
    if isinstance(op, Symbolic):  # which is not kept: its sizes belong to one compilation
        program = Linearization(op, wanted, [spec_of(x) for x in operands])
    else:
        program = linearization(op, wanted, lambda: [spec_of(x) for x in operands])
    if not program.differentiable:
        refuse(op, operands)
    return program


def cotangents(
    program: Linearization, wanted: Sequence[bool], saved: Sequence[Tensor], g: Tensor | None
) -> list[Tensor | None]:
    if g is None:
        return [None] * len(wanted)
    find = program.lookup(bind, saved)
    programs = [program.derivative(i, True) if want else None for i, want in enumerate(wanted)]
    # torch has adjoints where Ops have transposes. Cotangents may be real and filters complex, or the other way round.
    return [None if by is None else conjugate(by.run(bind, find, conjugate(g))) for by in programs]


def conjugate(x: Tensor) -> Tensor:
    return x.conj().resolve_conj() if x.is_complex() else x


def tangent(program: Linearization, saved: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> Tensor:
    total: Tensor | None = None
    find = program.lookup(bind, saved)
    for i, t in enumerate(tangents):
        by = None if t is None else program.derivative(i, False)
        if by is not None:
            part = by.run(bind, find, t)
            total = part if total is None else total + part
    if total is None:
        return torch.zeros(program.result.shape, dtype=torch_dtype(program.result.dtype), device="cpu")
    return total


def primals(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [forward_ad.unpack_dual(x, level=0).primal for x in tensors]


def tangents_of_outer_transforms() -> Any:
    """Inside of a rule for tangents torch computes none. If the rule itself is derived by an outer transformation, that
    would give zeros: they have to be computed, of primals that do not have those of this transformation."""
    return forward_ad._set_fwd_grad_enabled(True)


def floats(operands: Sequence[Tensor]) -> tuple[bool, ...]:
    return tuple(x.is_floating_point() or x.is_complex() for x in operands)


class Classic(torch.autograd.Function):
    """The outputs of an Op: ``apply(op, *operands)``."""

    @staticmethod
    def forward(ctx: Any, op: Op, *operands: Tensor) -> Any:
        dual = level_may_be_open()  # in here operands have no tangents
        program = linearized(op, floats(operands) if dual else ctx.needs_input_grad[1:], operands)
        values = program.run(compute, operands)
        ctx.program = program
        ctx.set_materialize_grads(False)
        saved = [values[n] for n in program.saved]
        ctx.save_for_backward(*saved)
        if dual:
            ctx.save_for_forward(*saved)
        if len(program.outputs) == 1:
            return values[program.outputs[0]]
        outputs = tuple(values[n] for n in program.outputs)
        ctx.mark_non_differentiable(*outputs[1:])
        return outputs

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> Any:
        program: Linearization = ctx.program
        g, saved = gs[0], ctx.saved_tensors  # once: torch.utils.checkpoint computes them again for it
        if g is not None and not torch.is_grad_enabled():
            op = program.only_cotangent()
            if op is not None and not has_tangent((g, *saved)):  # nothing of what follows would do anything more
                return None, compute(op, g, *saved)[0]
        return None, *cotangents(program, ctx.needs_input_grad[1:], saved, g)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Any:
        out = tangent(ctx.program, ctx.saved_tensors, tangents)
        more = len(ctx.program.outputs) - 1
        return (out, *[None] * more) if more else out


# What Classic.apply does outside of transformations, without its search for one; operands may be left over from one.
apply_classic = super(torch.autograd.Function, Classic).apply
unwrap = torch._C._functorch.unwrap_if_dead


class Transformable(torch.autograd.Function):
    """The same under ``torch.func``: ``apply(op, *operands)`` gives the outputs, then what is kept of the steps."""

    @staticmethod
    def forward(op: Op, *operands: Tensor) -> Any:
        program = linearized(op, floats(operands), operands)
        values = program.run(bind, operands)
        return tuple(values[n] for n in (*program.outputs, *program.kept))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        op, *operands = inputs
        program = linearized(op, floats(operands), operands)
        ctx.program = program
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*output[1:])
        known = dict(enumerate(operands))
        known.update(zip(program.kept, output[len(program.outputs) :], strict=True))
        known.update(zip(program.outputs, output[: len(program.outputs)], strict=True))
        saved = [known[n] for n in program.saved]
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> Any:
        return None, *cotangents(ctx.program, ctx.needs_input_grad[1:], ctx.saved_tensors, gs[0])

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Any:
        program: Linearization = ctx.program
        with tangents_of_outer_transforms():
            out = tangent(program, primals(ctx.saved_tensors), tangents)
        return out, *[None] * (len(program.outputs) + len(program.kept) - 1)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], op: Op, *operands: Tensor) -> Any:
        outputs = Transformable.apply(*batched(op, info.batch_size, in_dims[1:], operands))
        return outputs, (0,) * len(outputs)


class Constant(torch.autograd.Function):
    """The same for an Op without a derivative: integers, and folds whose derivative is computed elsewhere."""

    @staticmethod
    def forward(op: Op, *operands: Tensor) -> Any:
        return bind(op, *operands) if transforming() else compute(op, *operands)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        if any(ctx.needs_input_grad):
            refuse(inputs[0], inputs[1:])
        ctx.set_materialize_grads(False)
        ctx.inputs = inputs
        ctx.outputs = len(output)
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Any:
        if any(t is not None for t in tangents):
            refuse(ctx.inputs[0], ctx.inputs[1:])
        return (None,) * ctx.outputs

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], op: Op, *operands: Tensor) -> Any:
        outputs = Constant.apply(*batched(op, info.batch_size, in_dims[1:], operands))
        return outputs, (0,) * len(outputs)


# ------------------------------------------------------------------------ derivatives of programs, compiled or exported


def differentiable(text: str, sizes: Sequence[Size], *operands: Tensor) -> Any:
    return one_or_all(of_text(text, sizes, operands, bind))


def add_derivatives(name: str, operator: Callable[..., Any]) -> None:
    """Let an operator of torch's dispatcher have derivatives, and be transformed by ``torch.func``."""

    def autograd(text: str, sizes: Sequence[Size], *operands: Tensor) -> Any:
        if tracked(operands):
            return differentiable(text, sizes, *operands)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(text, sizes, *operands)

    library.impl(name, autograd, "Autograd")
    library.impl(name, differentiable, "FuncTorchDynamicLayerFrontMode")


rules.append(add_derivatives)
define_all()
