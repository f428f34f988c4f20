"""NumPy arrays as torch tensors with the same strides, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from cases import BFLOAT16


def to_torch(x: Any) -> torch.Tensor:
    """The same memory if torch can have it: native, writeable, no stride below 0."""
    x = np.asarray(x, x.dtype.newbyteorder("="))
    if not x.flags.writeable or any(stride < 0 or stride % x.itemsize for stride in x.strides) or not x.flags.aligned:
        x = x.copy()
    if x.dtype == BFLOAT16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x.view(x.dtype.name))  # long long: torch knows one of NumPy's two integers of 64 bits


def to_numpy(x: torch.Tensor) -> Any:
    x = x.detach().resolve_conj()
    return x.view(torch.int16).numpy().view(BFLOAT16) if x.dtype == torch.bfloat16 else x.numpy()
