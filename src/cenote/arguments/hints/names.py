"""Names of functions that other libraries have, and what to write here."""

from __future__ import annotations

import contextlib
import difflib
import dis
import importlib
import importlib.util
import re
import sys

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
    "smoothmax": "smooth_max_pool(x, {window})",
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
    "globalpool": "global_avg_pool(x, axes={axes})",
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
    "fftconvolve": "convolve(x, k)",
    "oaconvolve": "convolve(x, k)",
    "correlate": "correlate(x, k)",
    "correlation": "correlate(x, k)",
    "crosscorrelate": "correlate(x, k)",
    "xcorr": "correlate(x, k)",
    "filter": "correlate(x, k, mode='same')",
    "maximumfilter": "max_pool(x, {odd}, stride=1, padding='same')",
    "minimumfilter": "min_pool(x, {odd}, stride=1, padding='same')",
    "maxfilter": "max_pool(x, {odd}, stride=1, padding='same')",
    "minfilter": "min_pool(x, {odd}, stride=1, padding='same')",
    "uniformfilter": "avg_pool(np.pad(x, 1, 'symmetric'), {odd}, stride=1)",
    "meanfilter": "avg_pool(np.pad(x, 1, 'symmetric'), {odd}, stride=1)",
    "boxfilter": "avg_pool(np.pad(x, 1, 'symmetric'), {odd}, stride=1)",
    "blur": "avg_pool(np.pad(x, 1, 'reflect'), {odd}, stride=1)",
    "medianfilter": "median_pool(x, {odd}, stride=1, padding='same')",
    "medianblur": "median_pool(x, {odd}, stride=1, padding='same')",
    "medfilt": "median_pool(x, {odd}, stride=1, padding='same')",
    "dilate": "max_pool(x, {odd}, stride=1, padding='same')",
    "greydilation": "max_pool(x, {odd}, stride=1, padding='same')",
    "erode": "min_pool(x, {odd}, stride=1, padding='same')",
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
    "tensor": "Tensor(x)",
    "variable": "Tensor(x)",
    "gradient": "grad(f)",
    "valueandgradient": "value_and_grad(f)",
    "gradcheck": "check_grads(f, (x,))",
    "checkgrad": "check_grads(f, (x,))",
    "pullback": "vjp(f, x)",
    "setthreads": "set_num_threads(2)",
    "threads": "num_threads(2)",
    "version": "__version__",
    "config": "show_config()",
    "showversions": "show_config()",
    "showconfig": "show_config()",
}
MODULES = re.compile(r"((Max|Min|Avg|LP|AdaptiveMax|AdaptiveAvg|SmoothMax)Pool|MaxUnpool)[123]d")
# Names that come with a module of the package, which `import cenote` does not import.
IMPORTS = {"torch": "torch", "accelerate": "torch"}
DIALECTS = ("torch", "mygrad", "d2l", "nabla", "flax")


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
    rank, stem = taken_apart(name)
    call = CALLS.get(stem)
    if call is not None:
        if call.partition("(")[0] not in [*public, "__version__"]:  # not there yet
            return ""
        axes = {1: "-1", 2: "(-2, -1)", 3: "(-3, -2, -1)"}[rank]
        text = call.format(window=entries(2, rank), odd=entries(3, rank), axes=axes)
        return f": write cn.{text}{elsewhere(name)}"
    close = difflib.get_close_matches(name.lower(), public, 1, 0.75)
    return f": write cn.{close[0]}" if close else ""


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
    return f": write .{ours}" if ours else ""
