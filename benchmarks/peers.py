"""How each library pools, in the fastest way that it offers for data as they lie.

Getting the data into the library's own arrays is not timed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import cenote as cn
import conv_peers
from candidates import Candidate, Work, library, middle, onnx_session, plainly
from conv_work import Conv
from rows import THREADS
from work import Array, Case

# ------------------------------------------------------------------------------------------------------- cenote


def cenote(case: Case | Conv, x: Array, g: Array | None = None) -> Candidate:
    if isinstance(case, Conv):
        return conv_peers.cenote(case, x, g)
    function, options, window = getattr(cn, f"{case.op}_pool"), case.options(), case.window

    def value_and_pull() -> Any:
        y, pull = cn.vjp(lambda x: function(x, window, **options), x)
        return y, *pull(g)

    def backward() -> Any:
        t = cn.Tensor(x)
        function(t, window, **options).sum().backward()
        return t.grad

    modes: dict[str, Work] = {"vjp": value_and_pull, "backward": backward}
    return Candidate(modes.get(case.mode, functools.partial(function, x, window, **options)))


# -------------------------------------------------------------------------------------------------------- torch


def torch(case: Case, x: Array, g: Array | None = None) -> Candidate:
    """Channels-last arrays are torch's own memory format. One axis has no such format, and goes as a plane of one row.

    A few bytes stay on one thread, as they do in cenote: torch would wake another one for an average, and wait for it.
    A p-norm and a smooth maximum are pooled sums of powers and exponentials. The latter overflows where exp does:
    the stable way, over unfolded windows, is many times slower.
    """
    lib = library("torch")
    lib.set_num_threads(1 if case.input_bytes < 4096 else THREADS)
    rank = len(case.window)
    flat = rank == 1 and case.layout == "last"
    arguments: dict[str, Any] = {"stride": case.steps, "padding": (case.padding,) * rank}
    window = case.window
    if flat:
        rank, window = 2, (1, *window)
        arguments = {"stride": (1, *case.steps), "padding": (0, case.padding)}
    maxima, average = (getattr(lib.nn.functional, f"{name}_pool{rank}d") for name in ("max", "avg"))
    if case.op not in ("max", "avg"):
        arguments["divisor_override"] = 1  # a sum
    pool = functools.partial(maxima if case.op == "max" else average, kernel_size=window, **arguments)

    def apply(t: Any) -> Any:
        if case.op == "lp":
            if case.p == 2:
                return pool(t * t).sqrt_()
            return pool(t.abs().pow_(case.p)).pow_(1 / case.p)
        if case.op == "smooth_max":
            powers = lib.exp(t) if case.beta == 1 else lib.exp(t * case.beta)
            return pool(powers).log_().div_(case.beta)
        return pool(t)

    def given(array: Array) -> Any:
        if array.ndim == 2:
            array = array[None, None]
        return lib.from_numpy(array[:, :, None] if flat else array)

    def read(result: Any) -> list[Array]:
        arrays = [part.detach().numpy() for part in plainly(result)]
        if case.mode == "backward":
            return arrays
        shapes = (case.output_shape, case.shape)
        return [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=False)]

    t = given(x)
    if case.mode == "forward":
        return Candidate(lambda: apply(t), read)
    cotangent = None if g is None else given(g)

    def value_and_pull() -> Any:
        leaf = t.detach().requires_grad_()
        y = apply(leaf)
        return y, *lib.autograd.grad(y, leaf, cotangent)

    def backward() -> Any:
        leaf = t.detach().requires_grad_()
        apply(leaf).sum().backward()
        return leaf.grad

    return Candidate(value_and_pull if case.mode == "vjp" else backward, read)


# ---------------------------------------------------------------------------------------------------------- JAX


def jax(case: Case, x: Array, g: Array | None = None) -> Candidate:
    """Jitted windowed reductions, as flax pools, on arrays whose axes stand as they lie in memory."""
    lib, lax, jnp = library("jax"), library("jax.lax"), library("jax.numpy")
    last = case.layout == "last"
    rank = len(case.window)
    lead = x.ndim - rank

    def around(inner: Any, outer: Any) -> tuple[Any, ...]:
        return (outer, *inner, outer) if last else (*[outer] * lead, *inner)

    sizes, steps = around(case.window, 1), around(case.steps, 1)
    pads = around([(case.padding, case.padding)] * rank, (0, 0))

    def reduced(t: Any, start: Any, combine: Any) -> Any:
        return lax.reduce_window(t, start, combine, sizes, steps, pads)

    def apply(t: Any) -> Any:
        match case.op:
            case "max":
                return reduced(t, -jnp.inf, lax.max)
            case "avg":
                return reduced(t, 0.0, lax.add) / case.elements
            case "lp" if case.p == 2:
                return jnp.sqrt(reduced(t * t, 0.0, lax.add))
            case "lp":
                return reduced(jnp.abs(t) ** case.p, 0.0, lax.add) ** (1 / case.p)
            case _:
                return jnp.log(reduced(jnp.exp(t * case.beta), 0.0, lax.add)) / case.beta

    def given(array: Array) -> Any:
        return jnp.asarray(np.ascontiguousarray(np.moveaxis(array, 1, -1) if last else array))

    def read(result: Any) -> list[Array]:
        return [np.moveaxis(a, -1, 1) if last else a for a in map(np.asarray, plainly(result))]

    t = given(x)
    if case.mode == "forward":
        compiled = lib.jit(apply)
        return Candidate(lambda: compiled(t).block_until_ready(), read)

    def value_and_pull(t: Any, g: Any) -> Any:
        y, pull = lib.vjp(apply, t)
        return y, *pull(g)

    both, cotangent = lib.jit(value_and_pull), None if g is None else given(g)
    return Candidate(lambda: lib.block_until_ready(both(t, cotangent)), read)


# -------------------------------------------------------------------------------------------------- onnxruntime


def onnxruntime(case: Case, x: Array, g: Array | None = None) -> Candidate:
    more = {"count_include_pad": 1} if case.op == "avg" else {}
    return onnx_session(
        {"max": "MaxPool", "avg": "AveragePool"}[case.op],
        case.output_shape,
        x,
        {},
        kernel_shape=case.window,
        strides=case.steps,
        pads=[case.padding] * 2 * len(case.window),
        **more,
    )


# ------------------------------------------------------------------------------------------- arrays and pictures


def opencv(case: Case, x: Array, g: Array | None = None) -> Candidate:
    """Averages of tiles are INTER_AREA. Windows around every element are dilate, blur and medianBlur,
    of which the middle is kept.

    Planes go one by one, channels that lie innermost all at once.
    """
    lib = library("cv2")
    if case.steps == case.window and case.op == "avg":
        size = case.output_shape[1::-1]  # width, height; channels come along
        whole = x.dtype.kind in "iu"
        return Candidate(lambda: lib.resize(x, size, interpolation=lib.INTER_AREA), rounds=whole)
    kernel = np.ones(case.window, np.uint8)

    def filtered(picture: Array) -> Array:
        result: Array
        if case.op == "median":
            result = lib.medianBlur(picture, case.window[0])
        else:
            result = lib.dilate(picture, kernel) if case.op == "max" else lib.blur(picture, case.window[::-1])
        return result

    def one(picture: Array) -> Array:
        around = filtered(picture)
        return middle(case.window, around)

    if x.ndim == 2:
        return Candidate(lambda: one(x))
    if case.layout == "last":
        (picture,) = np.moveaxis(x, 1, -1)
        return Candidate(lambda: one(picture), lambda y: [np.moveaxis(y, -1, 0)[None]])
    planes = list(x.reshape(-1, *x.shape[2:]))
    return Candidate(lambda: [one(plane) for plane in planes], lambda ys: [np.stack(ys).reshape(case.output_shape)])


def tinybrain(case: Case, x: Array, g: Array | None = None) -> Candidate:
    """What is made for pyramids of volumes, in Fortran order; it rounds down."""
    lib = library("tinybrain")
    if case.op == "mode":
        volume = x.T
        return Candidate(
            lambda: lib.downsample_segmentation(volume, factor=case.window[::-1], num_mips=1),
            lambda levels: [levels[0].T],
        )
    turned = x.T[..., None]
    return Candidate(
        lambda: lib.downsample_with_averaging(turned, factor=case.window[::-1], num_mips=1),
        lambda levels: [levels[0][..., 0].T],
        rounds=True,
    )


def tensorstore(case: Case, x: Array, g: Array | None = None) -> Candidate:
    lib = library("tensorstore")
    context = lib.Context({"data_copy_concurrency": {"limit": THREADS}})
    halved = lib.downsample(lib.array(x, context=context), list(case.window), case.op)
    return Candidate(lambda: halved.read().result())


def scipy(case: Case, x: Array, g: Array | None = None) -> Candidate:
    """The filters of ndimage, of which the middle is kept."""
    lib = library("scipy.ndimage")
    work = {"max": lib.maximum_filter, "median": lib.median_filter}.get(case.op, lib.uniform_filter)
    return Candidate(lambda: middle(case.window, work(x, case.window[0])))


def numpy(case: Case, x: Array, g: Array | None = None) -> Candidate:
    """One slice per element of the window, combined one after the other; integers are added in the next wider dtype."""
    wider = {"uint8": np.uint16, "uint16": np.uint32}.get(case.dtype)
    places = [
        tuple(slice(at, None, step) for at, step in zip(corner, case.steps, strict=True))
        for corner in np.ndindex(*case.window)
    ]

    def run() -> Array:
        slices = [x[place] for place in places]
        if case.op == "max":
            return functools.reduce(np.maximum, slices)
        total = np.add(slices[0], slices[1], dtype=wider)
        for part in slices[2:]:
            total += part
        return total / math.prod(case.window)

    return Candidate(run)


def skimage(case: Case, x: Array, g: Array | None = None) -> Candidate:
    reduce = library("skimage.measure").block_reduce
    how = np.max if case.op == "max" else np.mean
    block = (*case.window, *(1,) * (x.ndim - len(case.window)))
    return Candidate(lambda: reduce(x, block, how))


def mygrad(case: Case, x: Array, g: Array | None = None) -> Candidate:
    lib, layers = library("mygrad"), library("mygrad.nnet.layers")

    def backward() -> Any:
        t = lib.tensor(x)
        layers.max_pool(t, case.window, case.steps).sum().backward()
        return t.grad

    return Candidate(backward)


PEERS: dict[str, Callable[[Case, Array, Array | None], Candidate]] = {
    "torch": torch,
    "jax": jax,
    "onnxruntime": onnxruntime,
    "opencv": opencv,
    "tinybrain": tinybrain,
    "tensorstore": tensorstore,
    "scipy": scipy,
    "numpy": numpy,
    "skimage": skimage,
    "mygrad": mygrad,
}


def peer(name: str, case: Case | Conv, x: Array, g: Array | None = None) -> Candidate:
    return conv_peers.PEERS[name](case, x, g) if isinstance(case, Conv) else PEERS[name](case, x, g)


# ---------------------------------------------------------------------------------------------------- agreement


def disagreement(case: Case | Conv, ours: list[Array], theirs: list[Array], rounds: bool) -> str | None:
    """Why two results are not of the same work; None if they are."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} results, not {len(ours)}"
    # A sum of floats is as exact as the order of its additions allows: relative to its terms, if there are many.
    slack = (
        (1 if isinstance(case, Case) and case.result else 0.5) if rounds else 1e-4 if case.dtype == "float32" else 1e-9
    )
    for mine, other in zip(ours, theirs, strict=True):
        if mine.shape != other.shape:
            return f"shape {other.shape}, not {mine.shape}"
        near = slack * (conv_peers.typical(mine) if isinstance(case, Conv) else 1)
        if not np.array_equal(mine, other) and not np.allclose(mine, other, rtol=0 if rounds else slack, atol=near):
            with np.errstate(all="ignore"):
                worst = np.abs(mine.astype(np.float64) - other.astype(np.float64)).max()
            return f"other numbers: as far as {worst:.3g} away"
    return None


def checked(row_case: Case | Conv, name: str) -> str | None:
    """Whether a peer does the work of a case, seen on little data: None, or why not."""
    case = row_case.small()
    x, g = case.data(), case.cotangent() if case.mode == "vjp" else None
    ours = cenote(case, x, g)
    theirs = peer(name, case, x, g)
    return disagreement(case, ours.read(ours.run()), theirs.read(theirs.run()), theirs.rounds)
