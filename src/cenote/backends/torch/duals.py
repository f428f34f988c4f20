"""Which tensors carry a tangent of torch's forward mode that it would push further.

Python knows whether a dual level is open, but a compiled graph opens one of its own without telling it. Asking a tensor
costs a microsecond: so tensors are asked while a level is open, and once a compiler has seen one of our operations.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.autograd import forward_ad

unpack = torch._C._VariableFunctions._unpack_dual


class Graphs:
    """Whether there may be graphs with operations of ours."""

    seen = False


def level_may_be_open() -> bool:
    return Graphs.seen or forward_ad._current_level >= 0


def has_tangent(operands: Sequence[torch.Tensor]) -> bool:
    if not level_may_be_open() or not torch._C._is_fwd_grad_enabled():
        return False
    try:
        return any(unpack(x, level=0).tangent is not None for x in operands)
    except RuntimeError:  # a batch of torch's older vmap cannot be asked; graphs do not run on these
        return forward_ad._current_level >= 0
