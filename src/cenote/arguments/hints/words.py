"""What other libraries call the things that are named here: argument names, reductions, padding modes, layouts.

Tables only. :mod:`hints` reads them when a call has gone wrong; nothing else does.
"""

from __future__ import annotations

# Argument names that mean the same, by our name. The arguments of the dialects are among them, so that a word of one
# library given to another's function is answered, too. A word may stand in several rows: the function decides.
SYNONYMS: dict[str, frozenset[str]] = {
    ours: frozenset(words.split())
    for ours, words in {
        "x": "input inputs X a arr arr_like array data image img src source tensor operand lhs in1 values "
        "volume signal",
        "window": "kernel_size kernel_shape kernel pool_size pool pool_shape pool_window window_shape window_size "
        "window_dimensions window_dims windows win size sizes ksize k block_size block_shape block filter_size "
        "filter_shape patch_size shape",
        "stride": "strides step steps step_size window_strides window_stride subsample hop hop_length hop_size",
        "padding": "pad pads paddings pad_width pad_size border border_mode auto_pad",
        "dilation": "dilations dilation_rate window_dilation rhs_dilation rate rates kernel_dilation",
        "ceil_mode": "ceil round_up use_ceil",
        "axes": "axis dim dims dimension dimensions spatial_axes spatial_dims",
        "nan": "skipna skip_nan skip_nans nan_policy ignore_nan ignore_nans omit_nan",
        "ties": "tie tie_break",
        "return_indices": "return_index return_indexes return_argmax return_mask with_indices with_argmax get_indices "
        "argmax include_indices",
        "count_include_pad": "count_include_pads count_include_padding include_pad include_padding count_pad",
        "divisor": "divisor_override divide_by denominator",
        "p": "norm_type norm ord order power exponent",
        "beta": "sharpness inverse_temperature temperature alpha",
        "pad_value": "padding_value fill_value fillvalue cval constant_values",
        "output_size": "output_shape output_sizes out_size out_shape target_size target_shape size shape bins",
        "output_shape": "output_size output_sizes out_size out_shape target_size target_shape size shape",
        "init": "init_value initial initial_value identity start",
        "reduce_fn": "computation reducer reduce_function reduce_func function func fn f op operation",
        "w": "weight weights W filter filters kernel kernels rhs in2 k v",
        "k": "weight weights kernel filter filters w v in2 h taps",
        "bias": "b B biases",
        "groups": "group feature_group_count num_groups num_group n_groups",
        "layout": "data_format data_layout input_layout format image_data_format dimension_numbers",
        "output_padding": "output_paddings out_padding output_pad adj",
        "dtype": "out_dtype output_dtype result_dtype preferred_element_type result_type",
        "out": "output dst result",
        "y": "x input inputs pooled values",
        "g": "gradient grad cotangent",
        "indices": "index idx argmax",
        "f": "fn func fun function",
        "argnums": "argnum wrt",
        "args": "primals inputs",
        "n": "num_threads threads nthreads",
        "data": "x input arr_like array object value values",
    }.items()
}

# Arguments that say nothing here, and why they can be left out.
LEFT_OUT = {
    "name": "results have no names",
    "inplace": "x is never changed",
    "training": "pooling is the same in training",
    "deterministic": "results always have the same bits",
    "precision": "the precision follows from the dtype",
    "method": "the fastest method is chosen",
    "workers": "set_num_threads says how many threads are used",
    "n_jobs": "set_num_threads says how many threads are used",
    "num_threads": "set_num_threads says how many threads are used",
    "device": "arrays are computed where they are, on the CPU",
    "preserve_range": "values keep their range",
    "keep_attrs": "attributes stay, where there are any",
    "coord_func": "an array has no coordinates, as a DataArray has",
    "holomorphic": "complex functions need no flag",
    "retain_graph": "compute again before the next backward()",
    "create_graph": "grad(grad(f)) gives second derivatives",
}

# What reduces a window, as a NumPy function, a Python function or a word: our function and its arguments.
REDUCTIONS: dict[str, tuple[str, dict[str, object]]] = {
    **dict.fromkeys(("max", "amax", "maximum"), ("max_pool", {})),
    **dict.fromkeys(("min", "amin", "minimum"), ("min_pool", {})),
    **dict.fromkeys(("mean", "average", "avg"), ("avg_pool", {})),
    **dict.fromkeys(("sum", "add", "fsum", "total"), ("sum_pool", {})),
    **dict.fromkeys(("argmax",), ("max_pool", {"return_indices": True})),
    **dict.fromkeys(("argmin",), ("min_pool", {"return_indices": True})),
    "nanmax": ("max_pool", {"nan": "omit"}),
    "nanmin": ("min_pool", {"nan": "omit"}),
    "nanmean": ("avg_pool", {"nan": "omit"}),
    "nansum": ("sum_pool", {"nan": "omit"}),
    "median": ("median_pool", {}),
    "nanmedian": ("median_pool", {"nan": "omit"}),
    **dict.fromkeys(("mode", "majority", "most_frequent"), ("mode_pool", {})),
    "norm": ("lp_pool", {}),
    "l2": ("lp_pool", {}),
    "l1": ("lp_pool", {"p": 1}),
    "logsumexp": ("smooth_max_pool", {}),
}
# Those that are a fold of a ufunc: what to give to pool for them.
FOLDS: dict[str, tuple[object, str]] = {
    **dict.fromkeys(("prod", "product", "nanprod"), (1, "multiply")),
    "any": (False, "logical_or"),
    "all": (True, "logical_and"),
}
# Reductions of one array that no function here stands for.
OTHER_REDUCTIONS = (
    "std", "var", "nanstd", "nanvar", "ptp", "percentile", "quantile", "nanpercentile", "nanquantile", "stdev",
    "variance", "pstdev", "pvariance", "count_nonzero", "cumsum", "cumprod", "len",
)  # fmt: skip

LAYOUTS = {
    **dict.fromkeys(("nchw", "ncw", "ncl", "nct", "ncdhw", "nchwd", "chw", "channel_first"), "channels_first"),
    **dict.fromkeys(("nhwc", "nwc", "nlc", "ntc", "ndhwc", "nhwdc", "hwc", "channel_last"), "channels_last"),
    **dict.fromkeys(("first", "torch", "channels first", "channels-first", "channelsfirst"), "channels_first"),
    **dict.fromkeys(("last", "tf", "channels last", "channels-last", "channelslast"), "channels_last"),
}

# Ways to extend an array, as np.pad calls them. scipy.ndimage, whose argument is ``mode``, says reflect for what NumPy
# and torch call symmetric.
PAD_MODES = {
    "reflect": "reflect",
    "symmetric": "symmetric",
    "symm": "symmetric",
    "mirror": "reflect",
    "edge": "edge",
    "nearest": "edge",
    "replicate": "edge",
    "replication": "edge",
    "border": "edge",
    "wrap": "wrap",
    "circular": "wrap",
    "periodic": "wrap",
    "grid-wrap": "wrap",
    "grid-mirror": "symmetric",
}
SCIPY_MODES = {**PAD_MODES, "reflect": "symmetric"}
ZEROS = ("zeros", "zero", "constant", "grid-constant", "fill")
NORMS = {"l1": 1, "manhattan": 1, "l2": 2, "euclidean": 2, "fro": 2, "linf": float("inf"), "inf": float("inf")}
PADDINGS = {
    "same_upper": "same",
    "same-upper": "same",
    "half": "same",
    "same-lower": "same_lower",
    "notset": "valid",
    "none": "valid",
    "no": "valid",
    "explicit": "valid",
}

# Values of our own arguments, in the words of others.
CHOICES: dict[str, dict[str, str]] = {
    "nan": {
        **dict.fromkeys(("ignore", "skip", "drop", "omitnan", "skipna", "exclude"), "omit"),
        **dict.fromkeys(("include", "includenan", "keep", "pass"), "propagate"),
    },
    "ties": {
        **dict.fromkeys(("all", "even", "evenly", "average", "mean", "share", "both"), "split"),
        **dict.fromkeys(("one", "lowest", "argmax"), "first"),
    },
    "mode": dict.fromkeys(ZEROS, "same"),
}

# What may follow the last argument that is taken by position, in the order of the libraries that take it so.
POSITIONS: dict[str, tuple[str, ...]] = {
    "max_pool": ("stride", "padding", "dilation", "ceil_mode", "return_indices"),
    "min_pool": ("stride", "padding", "dilation", "ceil_mode", "return_indices"),
    "avg_pool": ("stride", "padding", "ceil_mode", "count_include_pad", "divisor"),
    "lp_pool": ("stride", "ceil_mode"),
    "smooth_max_pool": ("stride", "padding", "beta"),  # of cenote.torch
    "conv": ("bias", "stride", "padding", "dilation", "groups"),
    "conv_transpose": ("bias", "stride", "padding", "output_padding", "groups", "dilation"),
    "correlate": ("mode",),
    "convolve": ("mode",),
    "adaptive_max_pool": ("return_indices",),
    "global_max_pool": ("axes",),
    "global_avg_pool": ("axes",),
    "max_unpool": ("stride", "padding", "output_shape"),
}
WINDOWED = ("stride", "padding", "dilation", "ceil_mode")

# What a Tensor is asked for by those who know another library's.
TENSOR_ATTRIBUTES = {
    "numpy": "data",
    "detach": "data",
    "cpu": "data",
    "clone": "copy",
    "to": "astype",
    "float": "astype",
    "double": "astype",
    "unsqueeze": "reshape",
    "t": "T",
    "value": "data",
    "requires_grad": "constant, which is False where there is a derivative",
    "requires_grad_": "constant, which is False where there is a derivative",
    "zero_grad": "null_grad",
    "clear_grad": "null_grad",
    "dim": "ndim",
    "numel": "size",
    "view": "reshape",
    "permute": "transpose",
    "type": "dtype",
}
