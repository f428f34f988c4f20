"""Names of functions that other libraries have, and what to write here."""

from __future__ import annotations

import contextlib
import difflib
import dis
import importlib
import importlib.util
import re
import sys

import numpy as np

from .drafts import PACKAGE
from .words import TENSOR_ATTRIBUTES

# By name in lower case, without underscores and the number of dimensions. {window} is one entry per dimension, {odd} an
# odd one for filters, {axes} are the last axes.
CALLS = {
    "maxpool": "max_pool(x, {window})",
    "minpool": "min_pool(x, {window})",
    "avgpool": "avg_pool(x, {window})",
    "sumpool": "sum_pool(x, {window})",
    "lppool": "lp_pool(x, {window}, p=2)",
    "l2pool": "lp_pool(x, {window}, p=2)",
    "l1pool": "lp_pool(x, {window}, p=1)",
    "lpnormpool": "lp_pool(x, {window}, p=2)",
    "argmaxpool": "max_pool(x, {window}, return_indices=True)",
    "argminpool": "min_pool(x, {window}, return_indices=True)",
    "normpool": "lp_pool(x, {window}, p=2)",
    "smoothmax": "smooth_max_pool(x, {window})",
    "smoothmaxpool": "smooth_max_pool(x, {window})",
    "logsumexppool": "smooth_max_pool(x, {window})",
    "lsepool": "smooth_max_pool(x, {window})",
    "softmaxpool": "smooth_max_pool(x, {window})",
    "medianpool": "median_pool(x, {window})",
    "modepool": "mode_pool(x, {window})",
    "majoritypool": "mode_pool(x, {window})",
    "maxunpool": "max_unpool(y, indices, {window})",
    "unpool": "max_unpool(y, indices, {window})",
    "adaptivemaxpool": "adaptive_max_pool(x, {window})",
    "adaptiveavgpool": "adaptive_avg_pool(x, {window})",
    "adaptivepool": "adaptive_avg_pool(x, {window})",
    "globalmaxpool": "global_max_pool(x, axes={axes})",
    "globalavgpool": "global_avg_pool(x, axes={axes})",
    "globalminpool": "min_pool(x, x.shape[-{rank}:])",
    "globalsumpool": "sum_pool(x, x.shape[-{rank}:])",
    "adaptiveminpool": "-adaptive_max_pool(-x, {window})",
    "prodpool": "pool(x, {window}, 1, np.multiply)",
    "globalpool": "global_avg_pool(x, axes={axes})",
    "gap": "global_avg_pool(x, axes={axes})",
    "pool": "pool(x, {window}, 0, np.add)",
    "reducewindow": "pool(x, {window}, 0, np.add)",
    "genericfilter": "pool(x, {odd}, 0, np.add, stride=1)",
    "conv": "conv(x, w)",
    "convolution": "conv(x, w)",
    "convgeneral": "conv(x, w)",
    "convgeneraldilated": "conv(x, w)",
    "convwithgeneralpadding": "conv(x, w)",
    "depthwiseconv": "conv(x, w, groups=w.shape[-1])",
    "convtranspose": "conv_transpose(x, w)",
    "convtransposed": "conv_transpose(x, w)",
    "transposedconv": "conv_transpose(x, w)",
    "deconv": "conv_transpose(x, w)",
    "deconvolution": "conv_transpose(x, w)",
    "deconvolve": "conv_transpose(x, w)",
    "convolve": "convolve(x, k)",
    "conv2": "convolve(x, k)",  # of MATLAB
    "convn": "convolve(x, k)",
    "fftconvolve": "convolve(x, k)",
    "oaconvolve": "convolve(x, k)",
    "correlate": "correlate(x, k)",
    "correlation": "correlate(x, k)",
    "crosscorrelate": "correlate(x, k)",
    "crosscorrelation": "correlate(x, k)",
    "xcorr": "correlate(x, k)",
    "filter": "correlate(x, k, mode='same')",
    "filter2": "correlate(x, k, mode='same')",
    "imfilter": "correlate(x, k, mode='same')",
    "maximumfilter": "max_pool(x, {odd}, stride=1, padding='same')",
    "minimumfilter": "min_pool(x, {odd}, stride=1, padding='same')",
    "maxfilter": "max_pool(x, {odd}, stride=1, padding='same')",
    "minfilter": "min_pool(x, {odd}, stride=1, padding='same')",
    "uniformfilter": "avg_pool(np.pad(x, 1, 'symmetric'), {odd}, stride=1)",
    "meanfilter": "avg_pool(np.pad(x, 1, 'symmetric'), {odd}, stride=1)",
    "boxfilter": "avg_pool(np.pad(x, 1, 'reflect'), {odd}, stride=1)",
    "blur": "avg_pool(np.pad(x, 1, 'reflect'), {odd}, stride=1)",
    "medianfilter": "median_pool(np.pad(x, 1, 'symmetric'), {odd}, stride=1)",
    "medianblur": "median_pool(np.pad(x, 1, 'edge'), {odd}, stride=1)",
    "medfilt": "median_pool(np.pad(x, 1), {odd}, stride=1)",
    "medfilt2": "median_pool(np.pad(x, 1), {odd}, stride=1)",
    "dilate": "max_pool(x, {odd}, stride=1, padding='same')",
    "dilation": "max_pool(x, {odd}, stride=1, padding='same')",
    "imdilate": "max_pool(x, {odd}, stride=1, padding='same')",
    "greydilation": "max_pool(x, {odd}, stride=1, padding='same')",
    "erode": "min_pool(x, {odd}, stride=1, padding='same')",
    "erosion": "min_pool(x, {odd}, stride=1, padding='same')",
    "imerode": "min_pool(x, {odd}, stride=1, padding='same')",
    "greyerosion": "min_pool(x, {odd}, stride=1, padding='same')",
    "blockreduce": "sum_pool(x, {window}, ceil_mode=True)",
    "downscalelocalmean": "avg_pool(x, {window}, ceil_mode=True)",
    "downsample": "avg_pool(x, {window})",
    "downscale": "avg_pool(x, {window})",
    "coarsen": "avg_pool(x, {window})",
    "blockmean": "avg_pool(x, {window})",
    "movingaverage": "avg_pool(x, (3,), stride=1)",
    "rolling": "avg_pool(x, (3,), stride=1)",
    "rollingmean": "avg_pool(x, (3,), stride=1)",
    "runningmean": "avg_pool(x, (3,), stride=1)",
    "movemean": "avg_pool(x, (3,), stride=1)",
    "rollingmax": "max_pool(x, (3,), stride=1)",
    "movemax": "max_pool(x, (3,), stride=1)",
    "slidingmax": "max_pool(x, (3,), stride=1)",
    "movingmax": "max_pool(x, (3,), stride=1)",
    "rollingmin": "min_pool(x, (3,), stride=1)",
    "movemin": "min_pool(x, (3,), stride=1)",
    "rollingsum": "sum_pool(x, (3,), stride=1)",
    "movesum": "sum_pool(x, (3,), stride=1)",
    "rollingmedian": "median_pool(x, (3,), stride=1)",
    "movemedian": "median_pool(x, (3,), stride=1)",
    "movmean": "avg_pool(x, (3,), stride=1, padding='same', count_include_pad=False)",  # of MATLAB, centred
    "movmax": "max_pool(x, (3,), stride=1, padding='same')",
    "movmin": "min_pool(x, (3,), stride=1, padding='same')",
    "movsum": "sum_pool(x, (3,), stride=1, padding='same')",
    "movmedian": "median_pool(x, (3,), stride=1, padding='same')",
    "tensor": "Tensor(x)",
    "variable": "Tensor(x)",
    "gradient": "grad(f)",
    "valueandgradient": "value_and_grad(f)",
    "gradcheck": "check_grads(f, (x,))",
    "checkgrad": "check_grads(f, (x,))",
    "pullback": "vjp(f, x)",
    "jacobian": "jvp(f, (x,), (dx,))",  # times dx, as the next ones
    "hessian": "jvp(cn.grad(f), (x,), (dx,))",
    "hvp": "jvp(cn.grad(f), (x,), (dx,))",
    "outputsize": "output_shape((8, 8), (2, 2))",
    "setthreads": "set_num_threads(2)",
    "threads": "num_threads(2)",
    "version": "__version__",
    "config": "show_config()",
    "showversions": "show_config()",
    "showconfig": "show_config()",
}
MODULES = re.compile(r"((Max|Min|Avg|LP|AdaptiveMax|AdaptiveAvg|SmoothMax)Pool|MaxUnpool)[123]d")
# Names that come with a module of the package, which `import cenote` does not import.
IMPORTS = {"torch": "torch", "accelerate": "torch", "jax": "jax", "xarray": "xarray"}
DIALECTS = ("torch", "mygrad", "d2l", "nabla", "flax", "torchlean")


def no_such_name(name: str, public: list[str]) -> Exception:
    """The error for a name that the package does not have, to be raised by its ``__getattr__``.

    Python replaces an AttributeError in ``from cenote import name`` by an ImportError of its own, without the hint.
    """
    hint = missing_name(name, public)
    line = sys._getframe(2)  # of the user's
    if hint and line.f_lasti >= 0 and line.f_code.co_code[line.f_lasti] == dis.opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {name!r} from {PACKAGE!r}{hint}", name=PACKAGE)
    return AttributeError(f"module {PACKAGE!r} has no attribute {name!r}{hint}")


def missing_name(name: str, public: list[str]) -> str:
    """What follows ``module 'cenote' has no attribute 'name'``."""
    if name in IMPORTS:
        module = f"{PACKAGE}.{IMPORTS[name]}"
        return f": write import {module}" if name == IMPORTS[name] else f": write {module}.{name}"
    if name in DIALECTS:
        return f": write cn.dialects.{name}"
    if name == "nn":
        return f": write import {PACKAGE}.torch as nn, or from {PACKAGE}.dialects.flax import linen as nn"
    rank, stem = taken_apart(name)
    call = CALLS.get(stem)
    if call is not None:
        if call.partition("(")[0].lstrip("-") not in [*public, "__version__"]:  # not there yet
            return ""
        axes = {1: "-1", 2: "(-2, -1)", 3: "(-3, -2, -1)"}[rank]
        text = call.format(window=entries(2, rank), odd=entries(3, rank), axes=axes, rank=rank)
        of_rank = f" for a {rank}-D x" if "np.pad(" in text else ""  # np.pad would extend batch axes, too
        sign = "-" if text.startswith("-") else ""
        return f": write {sign}cn.{text.lstrip('-')}{of_rank}{elsewhere(name)}"
    close = [other for other in difflib.get_close_matches(name.lower(), public, 3, 0.82) if is_misspelt(name, other)]
    return f": write cn.{close[0]}" if close else ""


def is_misspelt(name: str, other: str) -> bool:
    """Whether each word of a name is close to that of another: std_pool is not a misspelt sum_pool."""
    words, others = name.lower().split("_"), other.split("_")
    if ("unpool" in name.lower()) != ("unpool" in other):  # the opposite
        return False
    pairs = zip(words, others, strict=False)
    return len(words) != len(others) or all(difflib.SequenceMatcher(None, a, b).ratio() >= 0.6 for a, b in pairs)


def taken_apart(name: str) -> tuple[int, str]:
    """The number of dimensions in a name, 2 if there is none, and the name without it."""
    stem = name.lower().replace("_", "")
    found = re.search(r"([123n])d(?=$|transpose)", stem)
    rank = int(found[1]) if found and found[1] != "n" else 2
    if found:
        stem = stem[: found.start()] + stem[found.end() :]
    for word, ours in (("pooling", "pool"), ("average", "avg"), ("meanpool", "avgpool")):
        if word != "average" or "pool" in stem:
            stem = stem.replace(word, ours)
    return rank, stem


def entries(size: int, rank: int) -> str:
    return repr((size,) * rank)


def elsewhere(name: str) -> str:
    """Where that name is to be had as it is."""
    if MODULES.fullmatch(name) and importlib.util.find_spec(f"{PACKAGE}.torch") is not None:
        return f", or cenote.torch.{name}, a module of torch's"
    for dialect in DIALECTS:
        with contextlib.suppress(ImportError):
            module = importlib.import_module(f"{PACKAGE}.dialects.{dialect}")
            if name in getattr(module, "__all__", ()):
                return f", or cn.dialects.{dialect}.{name} with the arguments of {dialect}"
    return ""


def missing_tensor_attribute(name: str) -> str:
    """What follows ``Tensor has no attribute 'name'``."""
    ours = TENSOR_ATTRIBUTES.get(name)
    if ours:
        return f": write .{ours}"
    if name == "relu":
        return ": write np.maximum(x, 0)"
    engine = importlib.import_module(f"{PACKAGE}.autodiff.tensor")
    function = vars(np).get(name)
    if callable(function) and (function in engine.UFUNCS or function in engine.FUNCTIONS):
        return f": write np.{name}(x)"
    package = importlib.import_module(PACKAGE)
    if name in package.__all__ and name.endswith("_pool"):
        return f": write cn.{name}(x, …)"
    return ""
