"""Functions of other libraries by name, and what to write here: pooling, convolution, derivatives, settings.

Tables only, by name in lower case without underscores and the number of dimensions; :mod:`names` fills them in:
{window} is 2 for each dimension, {axes} are the last axes, {middle} those between batch and channels. Filters are in
:mod:`filters`.
"""

from __future__ import annotations

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
    "maxpoolwithargmax": "max_pool(x, {window}, axes={middle}, return_indices=True)",
    "argminpool": "min_pool(x, {window}, return_indices=True)",
    "normpool": "lp_pool(x, {window}, p=2)",
    "smoothmax": "smooth_max_pool(x, {window})",
    "smoothmaxpool": "smooth_max_pool(x, {window})",
    "logsumexppool": "smooth_max_pool(x, {window})",
    "lsepool": "smooth_max_pool(x, {window})",
    **dict.fromkeys(
        ("softmaxpool", "softpool"), "sum_pool(x * np.exp(x), {window}) / cn.sum_pool(np.exp(x), {window})"
    ),
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
    "pool": "max_pool(x, {window})",
    "reducewindow": "pool(x, {window}, 0, np.add)",
    "conv": "conv(x, w)",
    "convolution": "conv(x, w)",
    # JAX has channels in front unless dimension_numbers says otherwise.
    **dict.fromkeys(
        ("convgeneral", "convgeneraldilated", "convwithgeneralpadding"), "conv(x, w, layout='channels_first')"
    ),
    "depthwiseconv": "conv(x, w.reshape(*w.shape[:-2], 1, -1), groups=x.shape[-1])",
    "convtranspose": "conv_transpose(x, w)",
    "convtransposed": "conv_transpose(x, w)",
    "transposedconv": "conv_transpose(x, w)",
    "deconv": "conv_transpose(x, w)",
    "deconvolution": "conv_transpose(x, w)",
    "convolve": "convolve(x, k)",
    "correlate": "correlate(x, k)",
    "correlation": "correlate(x, k)",
    "crosscorrelate": "correlate(x, k)",
    "crosscorrelation": "correlate(x, k)",
    "xcorr": "correlate(x, k)",
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
    "jacobian": "jvp(f, (x,), (dx,))",
    "hessian": "jvp(cn.grad(f), (x,), (dx,))",
    "hvp": "jvp(cn.grad(f), (x,), (dx,))",
    "outputsize": "output_shape((8, 8), (2, 2))",
    "setthreads": "set_num_threads(2)",
    "threads": "num_threads(2)",
    **dict.fromkeys(("cacheclear", "emptycache"), "clear_cache()"),
    "version": "__version__",
    "config": "show_config()",
    "showversions": "show_config()",
    "showconfig": "show_config()",
}

ROLLING = " for a 1-D x; windows that would begin before x are left out, not NaN"
# What follows the call.
NOTES = {
    "pool": " for maxima, cn.avg_pool for means",
    "reducewindow": " for sums",
    "depthwiseconv": " with the filters of TensorFlow and Keras, (*k, C, multiplier)",
    "maxpoolwithargmax": ", whose indices count rows and columns; those of TensorFlow count channels, too",
    **dict.fromkeys(("coarsen", "downsample", "downscale"), " for means"),
    "rolling": ROLLING.replace(" for", " for means of", 1),
    **dict.fromkeys(
        (
            "rollingmean", "movemean", "rollingmax", "movemax", "rollingmin", "movemin", "rollingsum", "movesum",
            "rollingmedian", "movemedian",
        ),
        ROLLING,
    ),
    **dict.fromkeys(("jacobian", "hessian"), " for its product with dx"),
}  # fmt: skip
# Where one call cannot be equal.
NO_CALL = {
    "deconvolve": "conv_transpose is the transpose of a convolution, and nothing here inverts one",
    "separableconv": "call conv twice, first with groups= the number of channels, then with filters of size 1",
    "fractionalmaxpool": "max_pool and adaptive_max_pool have windows of regular sizes, not of random ones",
}
