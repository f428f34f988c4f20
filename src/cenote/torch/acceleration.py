"""``accelerate``: the pooling layers of a model, replaced by those of cenote."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import nn

from ..arguments.errors import BadType, BadValue, describe_type, public
from ..dialects._torch import bins, per_axis, window_arguments
from . import modules

NAMES = [f"{family}Pool{rank}d" for family in ("Max", "Avg", "LP", "AdaptiveMax", "AdaptiveAvg") for rank in (1, 2, 3)]
NAMES += ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]
# torch's layers, and ours in their place.
OURS: dict[type[nn.Module], type[nn.Module]] = {getattr(nn, name): getattr(modules, name) for name in NAMES}
# What a subclass may define without being another layer than the one that it is derived from.
HARMLESS = {
    "__annotations__", "__annotate__", "__annotate_func__", "__conditional_annotations__", "__constants__", "__doc__",
    "__firstlineno__", "__init__", "__module__", "__parameters__", "__qualname__", "__static_attributes__",
    "extra_repr",
}  # fmt: skip


LP = (nn.LPPool1d, nn.LPPool2d, nn.LPPool3d)
OVERFLOW = ", without overflow where torch gives inf"


@public
def accelerate(model: nn.Module, *, verbose: bool = False) -> list[tuple[str, nn.Module, nn.Module]]:
    """Replace the pooling layers of a model with those of cenote, in place, without changing its results.

    >>> import torch, cenote.torch
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
    >>> cenote.torch.accelerate(model, verbose=True)[0][0]
    2: MaxPool2d is computed by cenote
    '2'

    Parameters
    ----------
    model : torch.nn.Module
        Layers are replaced wherever they are submodules, at any depth; the model itself stays the same object. A layer
        that is used in several places stays one layer. A second call finds nothing left to replace.
    verbose : bool, optional
        Print a line for each pooling layer: that it is replaced, or why not.

    Returns
    -------
    list of (str, Module, Module)
        The name, the layer that was there and the layer that is there now, for each place.

    Notes
    -----
    The new layer has the attributes, hooks and training mode of the old one, and the handles of its hooks still remove
    them.

    Maxima, their indices and their gradients are exactly those of torch; averages and norms, and their gradients, up to
    rounding. ``LPPool`` gives the norm even where its powers overflow or underflow: of 1e20 in float32, say, where
    torch gives inf. In a window with several NaN, the gradient and the index are those of the first; in torch, of the
    last. A tensor that is not in CPU memory, or is sparse, quantised or nested, is pooled by torch as before.

    These stay as they are:

    - ``LPPool`` with an odd or fractional ``norm_type``, or with ``ceil_mode``, where torch does not compute a norm;
    - ``MaxUnpool`` with windows that overlap, where torch gives a gradient to values that another has overwritten;
    - layers of a subclass that defines more than a constructor, layers with a ``forward`` of their own, compiled and
      scripted layers;
    - a ``model`` that is itself a pooling layer, because it has no parent to replace it in: use
      ``cenote.torch.MaxPool2d``, and so on;
    - layers that are not submodules, such as those in a list or a closure, and calls of ``torch.nn.functional``.
    """
    if not isinstance(model, nn.Module):
        raise BadType(f"model is {describe_type(model)}: a torch.nn.Module is needed")

    def say(name: str, layer: nn.Module, what: str) -> None:
        if verbose:
            print(f"{name or 'the model'}: {name_of(layer)} {what}")

    if is_pooling(model):
        say("", model, "is left alone: it is the model itself, write cenote.torch.MaxPool2d(…), and so on, instead")
    made: dict[int, nn.Module] = {}  # by the identity of the old layer, all of which are alive
    replaced = []
    for name, parent, key, old in list(places(model)):
        reason = None if id(old) in made else refusal(parent, old)
        if reason is not None:
            say(name, old, reason)
            continue
        if id(old) not in made:
            made[id(old)] = replacement(old)
        parent._modules[key] = made[id(old)]
        replaced.append((name, old, made[id(old)]))
        say(name, old, "is computed by cenote" + (OVERFLOW if isinstance(old, LP) else ""))
    return replaced


def places(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, nn.Module]]:
    """Where pooling layers are, each place once: name, parent, name in the parent, layer."""
    seen = set()

    def children(prefix: str, parent: nn.Module) -> Iterator[tuple[str, nn.Module, str, nn.Module]]:
        if parent in seen:
            return
        seen.add(parent)
        for key, child in parent._modules.items():
            if child is None:
                continue
            if is_pooling(child):
                yield prefix + key, parent, key, child
            yield from children(f"{prefix}{key}.", child)

    return children("", model)


def is_pooling(layer: nn.Module) -> bool:
    scripted = isinstance(layer, torch.jit.ScriptModule) and name_of(layer) in NAMES
    return scripted or isinstance(layer, (*OURS, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d))


def name_of(layer: nn.Module) -> str:
    """The name of its class, also if torch.jit has compiled it."""
    return str(getattr(layer, "original_name", type(layer).__name__))


def replacement(old: nn.Module) -> nn.Module:
    """A layer of ours with all that the old one has; hooks lie in the same dictionaries, to which handles refer."""
    kind = OURS[base_of(old)]
    new = kind.__new__(kind)
    new.__dict__.update(old.__dict__)
    return new


def base_of(layer: nn.Module) -> type[nn.Module]:
    return next(kind for kind in type(layer).__mro__ if kind in OURS)


# ------------------------------------------------------------------------------------------- what is left alone


def refusal(parent: nn.Module, layer: nn.Module) -> str | None:
    """Why a pooling layer is not replaced; None if it is."""
    if isinstance(parent, torch.jit.ScriptModule) or isinstance(layer, torch.jit.ScriptModule):
        return "is left alone: it is compiled by torch.jit"
    if isinstance(layer, (nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)):
        return "is left alone: cenote has no such pooling"
    if isinstance(layer, modules.Pooling):
        return "is already computed by cenote"
    return class_refusal(layer) or window_refusal(layer)


def class_refusal(layer: nn.Module) -> str | None:
    """Why a layer may compute something else than what its torch class does."""
    for kind in type(layer).__mro__:
        if kind in OURS:
            break
        own = sorted(vars(kind).keys() - HARMLESS)
        if own:
            return f"is left alone: its class {kind.__name__} defines {', '.join(own)}"
    if "forward" in vars(layer):
        return "is left alone: it has a forward of its own"
    if getattr(layer, "_compiled_call_impl", None) is not None:
        return "is left alone: it was compiled, call accelerate before compile"
    return None


def window_refusal(layer: nn.Module) -> str | None:
    """Why cenote's result would not be torch's, given the layer's arguments."""
    rank = int(base_of(layer).__name__[-2])
    try:
        if isinstance(layer, LP):
            window_arguments(rank, layer.kernel_size, layer.stride, 0, 1, layer.ceil_mode)
            return norm_refusal(layer.norm_type, layer.ceil_mode)
        if isinstance(layer, (nn.MaxUnpool1d, nn.MaxUnpool2d, nn.MaxUnpool3d)):
            kernel = per_axis("kernel_size", layer.kernel_size, rank, 1)
            stride = per_axis("stride", layer.stride, rank, 1)
            if any(s < k for k, s in zip(kernel, stride, strict=True)):
                return "is left alone: its windows overlap, and torch's gradient is that of values that are not there"
        elif hasattr(layer, "output_size"):
            bins(rank, layer.output_size)
        else:
            dilation = getattr(layer, "dilation", 1)
            window_arguments(rank, layer.kernel_size, layer.stride, layer.padding, dilation, layer.ceil_mode)
    except (BadValue, BadType) as cause:
        return f"is left alone: {cause}"
    return None


def norm_refusal(norm_type: object, ceil_mode: object) -> str | None:
    if ceil_mode:
        return "is left alone: with ceil_mode torch scales the last windows"
    known = isinstance(norm_type, (int, float)) and not isinstance(norm_type, bool)
    if known and (math.isinf(norm_type) or (norm_type > 0 and norm_type % 2 == 0)):  # type: ignore[operator,arg-type]
        return None
    return f"is left alone: with norm_type={norm_type} torch computes no norm of negative numbers"
