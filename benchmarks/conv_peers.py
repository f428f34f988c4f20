"""How each library convolves, in the fastest way that it offers for data as they lie.

Getting the data into the library's own arrays is not timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import cenote as cn
from candidates import Candidate, Work, library, middle, onnx_session, plainly
from conv_work import Conv
from rows import THREADS
from work import Array


def channels_last(array: Array) -> Array:
    """Axes as they lie in memory: of data, (batch, *space, channels)."""
    return np.moveaxis(array, 1, -1)


def filters_last(array: Array) -> Array:
    """Axes as they lie in memory: of filters, (*window, inputs, outputs)."""
    return np.moveaxis(array, (0, 1), (-1, -2))


def read_last(result: Any) -> list[Array]:
    """Of a value, and of the cotangents of data and filters where there are any."""
    arrays = [np.asarray(part) for part in plainly(result)]
    filters = [np.moveaxis(array, (-1, -2), (0, 1)) for array in arrays[2:]]
    return [np.moveaxis(array, -1, 1) for array in arrays[:2]] + filters


def cenote(case: Conv, x: Array, g: Array | None = None) -> Candidate:
    function, options, w = getattr(cn, case.op), case.options(), case.weights()
    last = case.layout == "last"
    if last:
        x, w, g = channels_last(x), filters_last(w), None if g is None else channels_last(g)

    def value() -> Any:
        return function(x, w, **options)

    def value_and_pull() -> Any:
        y, pull = cn.vjp(lambda x, w: function(x, w, **options), x, w)
        return y, *pull(g)

    run: Work = value_and_pull if case.mode == "vjp" else value
    return Candidate(run, read_last) if last else Candidate(run)


def torch(case: Conv, x: Array, g: Array | None = None) -> Candidate:
    """Channels-last arrays are torch's own memory format, of the filters too. One axis has no such format, and goes as
    a plane of one row."""
    lib = library("torch")
    lib.set_num_threads(1 if case.input_bytes < 4096 else THREADS)
    rank, last = len(case.window), case.layout == "last"
    flat = rank == 1 and last
    arguments: dict[str, Any] = {
        name: (0 if name == "padding" else 1, value) if flat else value
        for name, value in (("stride", case.stride), ("padding", case.padding), ("dilation", case.dilation))
    }
    rank += flat
    convolve = getattr(lib.nn.functional, f"{case.op}{rank}d")
    formats = {2: lib.channels_last, 3: lib.channels_last_3d}
    order = formats[rank] if last else lib.contiguous_format

    def given(array: Array) -> Any:
        return lib.from_numpy(array[:, :, None] if flat else array).contiguous(memory_format=order)

    def read(result: Any) -> list[Array]:
        arrays = [part.detach().numpy() for part in plainly(result)]
        shapes = (case.output_shape, case.shape, case.filter_shape)
        return [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=False)]

    t, w = given(x), given(case.weights())
    if case.mode == "forward":
        return Candidate(lambda: convolve(t, w, groups=case.groups, **arguments), read)
    assert g is not None
    cotangent = given(g)

    def value_and_pull() -> Any:
        leaves = [part.detach().requires_grad_() for part in (t, w)]
        y = convolve(*leaves, groups=case.groups, **arguments)
        return y, *lib.autograd.grad(y, leaves, cotangent)

    return Candidate(value_and_pull, read)


def jax(case: Conv, x: Array, g: Array | None = None) -> Candidate:
    """Jitted, on arrays whose axes stand as they lie in memory."""
    lib, lax, jnp = library("jax"), library("jax.lax"), library("jax.numpy")
    last, rank = case.layout == "last", len(case.window)
    space = "DHW"[-rank:]
    data, filters = (f"N{space}C", f"{space}IO") if last else (f"NC{space}", f"OI{space}")
    names = (data, filters, data)
    dilation = (case.dilation,) * rank

    def apply(t: Any, w: Any) -> Any:
        if case.op == "conv":
            pads = [(case.padding, case.padding)] * rank
            return lax.conv_general_dilated(
                t, w, case.steps, pads, (1,) * rank, dilation, names, feature_group_count=case.groups
            )
        ends = [case.dilation * (k - 1) - case.padding for k in case.window]
        pads = [(end, end) for end in ends]
        return lax.conv_transpose(t, w, case.steps, pads, dilation, names, transpose_kernel=True)

    w = case.weights()
    if last:
        x, w = channels_last(x), filters_last(w)
    operands = [jnp.asarray(np.ascontiguousarray(array)) for array in (x, w)]
    compiled = lib.jit(apply)
    return Candidate(lambda: compiled(*operands).block_until_ready(), read_last if last else plainly)


def onnxruntime(case: Conv, x: Array, g: Array | None = None) -> Candidate:
    rank = len(case.window)
    return onnx_session(
        {"conv": "Conv", "conv_transpose": "ConvTranspose"}[case.op],
        case.output_shape,
        x,
        {"w": case.weights()},
        kernel_shape=case.window,
        strides=case.steps,
        pads=[case.padding] * 2 * rank,
        dilations=[case.dilation] * rank,
        group=case.groups,
    )


# -------------------------------------------------------------------------------- one filter on one channel: pictures


def opencv(case: Conv, x: Array, g: Array | None = None) -> Candidate:
    """filter2D, picture by picture, which is a correlation, by DFT where the filter is large. The middle is kept."""
    lib = library("cv2")
    ((kernel,),) = case.weights()

    def run() -> list[Array]:
        return [middle(case.window, lib.filter2D(picture, -1, kernel)) for (picture,) in x]

    return Candidate(run, lambda ys: [np.stack(ys)[:, None]])


def scipy(case: Conv, x: Array, g: Array | None = None) -> Candidate:
    return by_spectra("oaconvolve", case, x, g)


def fftconvolve(case: Conv, x: Array, g: Array | None = None) -> Candidate:
    return by_spectra("fftconvolve", case, x, g)


def by_spectra(name: str, case: Conv, x: Array, g: Array | None) -> Candidate:
    """SciPy's convolutions turn the filter around: they are given one that was turned before. Padding is none, or as
    much as makes it a full convolution."""
    convolve, workers = getattr(library("scipy.signal"), name), library("scipy.fft").set_workers
    axes = case.spatial
    w = case.weights()
    turned = np.ascontiguousarray(np.flip(w, axes))
    assert case.padding in (0, case.window[0] - 1)
    mode, back = ("full", "valid") if case.padding else ("valid", "full")

    def value() -> Array:
        y: Array = convolve(x, turned, mode=mode, axes=axes)
        return y

    def value_and_pull() -> tuple[Array, Array, Array]:
        assert g is not None
        by_data = convolve(g, w, mode=back, axes=axes)
        if case.padding:
            return value(), by_data, np.flip(convolve(g, np.flip(x, axes), mode="valid", axes=axes), axes)
        return value(), by_data, convolve(x, np.flip(g, axes), mode="valid", axes=axes)

    def run() -> Any:
        with workers(THREADS):
            return value() if case.mode == "forward" else value_and_pull()

    return Candidate(run)


PEERS: dict[str, Callable[[Conv, Array, Array | None], Candidate]] = {
    "torch": torch,
    "jax": jax,
    "onnxruntime": onnxruntime,
    "opencv": opencv,
    "scipy": scipy,
    "fftconvolve": fftconvolve,
}


def typical(array: Array) -> float:
    """The size of its numbers: what the rounding of a long sum is measured by."""
    return math.sqrt(float(np.mean(np.square(array.astype(np.float64)))))
