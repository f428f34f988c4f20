"""Filters of scipy, scikit-image, OpenCV and MATLAB by name: the call that has the same values, edges included.

Tables only, by name in lower case without underscores and the number of dimensions; :mod:`names` fills them in:
{odd} is 3 for each dimension, {window} is 2, {count} the number of elements of that. Where no single call is equal, the
table says so in words.
"""

from __future__ import annotations

# Each library extends an array in its own way: scipy.ndimage as np.pad's "symmetric", OpenCV as its "reflect". The
# element of an even filter without a counterpart lies at the low end, but for scipy's convolve1d, which flips it.
CENTRED = "[(n // 2, (n - 1) // 2) for n in k.shape]"
OF_MATLAB = "[((n - 1) // 2, n // 2) for n in k.shape]"
ON_LAST = "[(0, 0)] * (x.ndim - 1)"
OF_PICTURE = "[(0, 0)] * (x.ndim - 2)"  # colours are not filtered
FILTERED = f"correlate(np.pad(x, {CENTRED} + {OF_PICTURE}, 'reflect'), k, mode='valid', axes=(0, 1))"
CORRELATED = f"correlate(np.pad(x, {ON_LAST} + [(k.size // 2, (k.size - 1) // 2)], 'symmetric'), k, mode='valid')"
PADDED_PICTURE = f"np.pad(x, [(3 // 2, 3 // 2)] * 2 + {OF_PICTURE}, "
SAME = "{odd}, stride=1, padding='same'"

CALLS = {
    # scipy.ndimage
    "correlate1d": CORRELATED,
    "gaussianfilter1d": CORRELATED,
    "convolve1d": f"convolve(np.pad(x, {ON_LAST} + [((k.size - 1) // 2, k.size // 2)], 'symmetric'), k, mode='valid')",
    "gaussianfilter": f"correlate(np.pad(x, {CENTRED}, 'symmetric'), k, mode='valid')",
    "genericfilter": "pool(np.pad(x, 3 // 2, 'symmetric'), {odd}, 0, np.add, stride=1)",
    "uniformfilter": "avg_pool(np.pad(x, 3 // 2, 'symmetric'), {odd}, stride=1)",
    "meanfilter": "avg_pool(np.pad(x, 3 // 2, 'symmetric'), {odd}, stride=1)",
    "medianfilter": "median_pool(np.pad(x, 3 // 2, 'symmetric'), {odd}, stride=1)",
    "maximumfilter": f"max_pool(x, {SAME})",
    "minimumfilter": f"min_pool(x, {SAME})",
    "maxfilter": f"max_pool(x, {SAME})",
    "minfilter": f"min_pool(x, {SAME})",
    "greydilation": f"max_pool(x, {SAME})",
    "greyerosion": f"min_pool(x, {SAME})",
    "greyopening": f"max_pool(cn.min_pool(x, {SAME}), {SAME})",
    "greyclosing": f"min_pool(cn.max_pool(x, {SAME}), {SAME})",
    "binarydilation": f"max_pool(x, {SAME})",
    "binaryerosion": "min_pool(np.pad(x, 3 // 2), {odd}, stride=1)",
    # scipy.signal
    "fftconvolve": "convolve(x, k)",
    "oaconvolve": "convolve(x, k)",
    "medfilt": "median_pool(np.pad(x, 3 // 2), {odd}, stride=1)",
    "medfilt2": "median_pool(np.pad(x, 3 // 2), {odd}, stride=1)",  # of MATLAB
    "lfilter": "convolve(np.pad(x, (k.size - 1, 0)), k, mode='valid')",
    "filter": "convolve(np.pad(x, (k.size - 1, 0)), k, mode='valid')",
    # scikit-image
    "dilation": f"max_pool(x, {SAME})",
    "erosion": f"min_pool(x, {SAME})",
    "opening": f"max_pool(cn.min_pool(x, {SAME}), {SAME})",
    "closing": f"min_pool(cn.max_pool(x, {SAME}), {SAME})",
    "blockreduce": "sum_pool(x, {window}, ceil_mode=True)",
    "downscalelocalmean": "avg_pool(x, {window}, ceil_mode=True, divisor={count})",
    # OpenCV
    "filter2d": FILTERED,
    "sepfilter2d": FILTERED,
    "gaussianblur": FILTERED,
    "blur": f"avg_pool({PADDED_PICTURE}'reflect'), (3, 3), stride=1, axes=(0, 1), dtype=x.dtype)",
    "boxfilter": f"avg_pool({PADDED_PICTURE}'reflect'), (3, 3), stride=1, axes=(0, 1), dtype=x.dtype)",
    "medianblur": f"median_pool({PADDED_PICTURE}'edge'), (3, 3), stride=1, axes=(0, 1), dtype=x.dtype)",
    "dilate": "max_pool(x, (3, 3), stride=1, padding='same', axes=(0, 1))",
    "erode": "min_pool(x, (3, 3), stride=1, padding='same', axes=(0, 1))",
    "pyrdown": (
        f"correlate(np.pad(x, [(2, 2)] * 2 + {OF_PICTURE}, 'reflect'), np.outer(k, k), "
        "mode='valid', axes=(0, 1), stride=2)"
    ),
    # MATLAB
    "conv2": "convolve(x, k)",
    "convn": "convolve(x, k)",
    "filter2": f"correlate(np.pad(x, {OF_MATLAB}), k, mode='valid')",
    "imfilter": f"correlate(np.pad(x, {OF_MATLAB} + {OF_PICTURE}), k, mode='valid', axes=(0, 1))",
    "imdilate": f"max_pool(x, {SAME})",
    "imerode": f"min_pool(x, {SAME})",
    "movmean": "avg_pool(x, (3,), stride=1, padding='same', count_include_pad=False)",
    "movmax": "max_pool(x, (3,), stride=1, padding='same')",
    "movmin": "min_pool(x, (3,), stride=1, padding='same')",
    "movsum": "sum_pool(x, (3,), stride=1, padding='same')",
    "movmedian": "median_pool(x, (3,), stride=1, padding='same')",
}

SQUARE = " for a {rank}-D x and footprint=np.ones({odd}), where scikit-image has a cross by default"
# What follows the call.
NOTES = {
    "genericfilter": (
        " for a {rank}-D x and np.sum; pool folds a function of two arrays over each window, and takes none of a whole "
        "window"
    ),
    "gaussianfilter": " with its weights as k, which has as many axes as x",
    "gaussianfilter1d": " with its weights as k",
    "gaussianblur": " with its weights as k, such as np.outer(g, g) with g = cv2.getGaussianKernel(5, 1.0)",
    "filter2d": "; OpenCV rounds to the dtype of x",
    "sepfilter2d": " with k = np.outer(kernelY, kernelX); OpenCV rounds to the dtype of x",
    "pyrdown": " with k = np.array([1, 4, 6, 4, 1]) / 16; OpenCV rounds to the dtype of x",
    # MATLAB has the element without a counterpart at the other end.
    **dict.fromkeys(("filter2", "imfilter"), " for filters of odd size"),
    "lfilter": " for a 1-D x and a filter without feedback, with its b as k",
    "filter": " for a 1-D x and a filter without feedback, with its b as k",
    **dict.fromkeys(("dilation", "erosion", "opening", "closing"), SQUARE),
    **dict.fromkeys(("movmean", "movmax", "movmin", "movsum", "movmedian"), " for a 1-D x"),
    **dict.fromkeys(("binarydilation", "binaryerosion"), " for a {rank}-D x and scipy's structure=np.ones({odd})"),
}

INTERPOLATES = "nothing here interpolates; adaptive_avg_pool averages an array down to a given size"
WINDOWS = "nothing here returns the windows themselves, np.lib.stride_tricks.sliding_window_view(x, {odd}) does"
RANKS = "of the elements of a window in order, min_pool, median_pool and max_pool are the only ones here"
WEIGHTS = "nothing here has these weights, correlate filters with an array of them"
PEAKS = "nothing here finds peaks; x == max_pool(x, {odd}, stride=1, padding='same') is True at each local maximum"
RATE = "nothing here designs a low-pass filter; avg_pool averages elements, and x[::2] leaves out every other one"
WHOLE_WINDOW = "pool folds a function of two arrays over each window, nothing here takes a function of a whole window"
# Where one call cannot be equal.
NO_CALL = {
    **dict.fromkeys(
        ("resize", "imresize", "rescale", "zoom", "interpolate", "upsample", "pyrup", "pyramidreduce"),
        INTERPOLATES,
    ),
    **dict.fromkeys(("slidingwindowview", "slidingwindow", "viewaswindows", "asstrided", "unfold", "im2col"), WINDOWS),
    **dict.fromkeys(("extractpatches", "extractimagepatches", "convgeneraldilatedpatches", "rollingwindow"), WINDOWS),
    **dict.fromkeys(("rankfilter", "percentilefilter", "orderfilter", "percentilepool", "quantilepool"), RANKS),
    **dict.fromkeys(("gaussian", "laplace", "laplacian", "sobel", "scharr", "prewitt", "sepfir"), WEIGHTS),
    **dict.fromkeys(("findpeaks", "peaklocalmax", "argrelmax", "argrelextrema", "localmaxima"), PEAKS),
    **dict.fromkeys(("decimate", "resample", "resamplepoly", "upfirdn"), RATE),
    "morphologyex": (
        "min_pool erodes and max_pool dilates: max_pool of min_pool is an opening, min_pool of max_pool a closing"
    ),
    "whitetophat": "min_pool erodes and max_pool dilates: subtract max_pool of min_pool, the opening, from x",
    "blacktophat": "min_pool erodes and max_pool dilates: subtract x from min_pool of max_pool, the closing",
    "tophat": "min_pool erodes and max_pool dilates: subtract max_pool of min_pool, the opening, from x",
    "viewasblocks": f"{WINDOWS.partition(' does')[0]}[::3, ::3] does",
    "genericfilter1d": WHOLE_WINDOW,
}
