"""Which tensors carry a tangent of torch's forward mode that it would push further.

Python knows whether a dual level is open, but a compiled graph opens one of its own without telling it. Asking a tensor
costs a microsecond: so tensors are asked while a level is open, and once a compiler has seen one of our operations.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.autograd import forward_ad

AUTOGRAD = torch._C.DispatchKey.AutogradFunctionality
excluded = torch._C._dispatch_tls_is_dispatch_key_excluded  # below torch's derivatives nothing is pushed, nor known
modes = torch._C._len_torch_dispatch_stack
unpack = torch._C._VariableFunctions._unpack_dual


class Graphs:
    """Whether there may be graphs with operations of ours."""

    seen = False


def level_may_be_open() -> bool:
    return Graphs.seen or forward_ad._current_level >= 0


def has_tangent(operands: Sequence[torch.Tensor]) -> bool:
    if not level_may_be_open() or not torch._C._is_fwd_grad_enabled():
        return False
    if modes() == 0:
        return asked(operands)
    if excluded(AUTOGRAD):
        return False
    with unrecorded():
        return asked(operands)


def asked(operands: Sequence[torch.Tensor]) -> bool:
    try:
        return any(unpack(x, level=0).tangent is not None for x in operands)
    except RuntimeError:  # a batch of torch's older vmap cannot be asked; graphs do not run on these
        return forward_ad._current_level >= 0


def unrecorded() -> AbstractContextManager[Any]:
    """Keeps what is asked here out of a graph that is being recorded, in which nobody could answer it."""
    recorder = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if recorder is None or recorder.get_proxy_mode() is None:
        return nullcontext()
    quiet: AbstractContextManager[Any] = recorder.disable_proxy_modes_tracing()
    return quiet
