"""dask arrays: the bits of NumPy whatever the chunks, one task for each block, and nothing computed too early."""

from __future__ import annotations

import math
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import COMPLEX, REALS, Case, cases, examples
from cenote.backends.dask.blocks import output_chunks
from chunked import check_chunked, chunked, close, computed, convolutions
from vocabulary import POOLS, WITH_INDICES

SEEDS = st.integers(0, 2**32)
COMPLEX_POOLS = ["sum", "sum omit", "avg", "avg valid", "global avg", "adaptive avg", "pool function"]


@examples(400)
@given(cases(REALS), st.sampled_from(sorted(POOLS)), SEEDS)
def test_any_chunks_have_the_bits_of_numpy(case: Case, name: str, seed: int) -> None:
    check_chunked(lambda x: POOLS[name](x, **case.arguments), seed, case.x)


@examples(200)
@given(cases(REALS), st.sampled_from(sorted(WITH_INDICES)), SEEDS)
def test_indices_are_those_of_the_whole_array(case: Case, name: str, seed: int) -> None:
    check_chunked(lambda x: WITH_INDICES[name](x, **case.arguments), seed, case.x)


@examples(60)
@given(cases(COMPLEX), st.sampled_from(COMPLEX_POOLS), SEEDS)
def test_complex_numbers(case: Case, name: str, seed: int) -> None:
    check_chunked(lambda x: POOLS[name](x, **case.arguments), seed, case.x)


def test_blocks_of_padding_have_the_dtype_of_the_whole() -> None:
    """In the first block no element is folded, and the initial value is not complex."""
    x = np.array([1 + 2j, 3 - 1j], np.complex64)
    lazy = cn.pool(da.from_array(x, 1), (1,), np.float64(1), lambda a, b: a + 2 * b, stride=2, padding=1)
    assert [lazy[i : i + 1].compute(scheduler="synchronous").dtype for i in range(2)] == [lazy.dtype] * 2
    check_chunked(lambda x: cn.pool(x, (1,), np.float64(1), lambda a, b: a + 2 * b, stride=2, padding=1), 1, x)


@examples(150)
@given(convolutions(), SEEDS)
def test_convolution(case: tuple[Any, Any, Any, dict[str, Any], bool], seed: int) -> None:
    x, w, bias, how, transposed = case
    function: Any = cn.conv_transpose if transposed else cn.conv
    check_chunked(lambda x, w, bias: function(x, w, bias=bias, **how), seed, x, w, bias, same=close)
    check_chunked(lambda x: function(x, w, **how), seed, x, same=close)


@examples(80)
@given(SEEDS, st.sampled_from(["full", "same", "valid"]), st.booleans())
def test_filtering(seed: int, mode: Any, flip: bool) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 3))
    x = rng.standard_normal(tuple(rng.integers(4, 12, 3)))
    k = rng.standard_normal(tuple(rng.integers(1, 5, rank)))
    axes = tuple(int(i) for i in rng.permutation(3)[:rank])
    function = cn.convolve if flip else cn.correlate
    how = {"mode": mode, "axes": axes, "stride": int(rng.integers(1, 3)), "dilation": int(rng.integers(1, 3))}
    check_chunked(lambda x, k: function(x, k, **how), seed, x, k, same=close)


@examples(100)
@given(SEEDS)
def test_unpool(seed: int) -> None:
    """Indices that lead anywhere, more than once too."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(tuple(rng.integers(0, 6, 3))).astype(np.float32)
    axes = tuple(int(i) for i in rng.permutation(3)[:2])
    sizes = tuple(int(n) for n in rng.integers(1, 9, 2))
    indices = rng.integers(-1, sizes[0] * sizes[1], y.shape)
    check_chunked(lambda y, i: cn.max_unpool(y, i, (2, 2), axes=axes, output_shape=sizes), seed, y, indices)


def test_unpool_undoes_a_pooling_in_chunks() -> None:
    x = np.random.default_rng(0).standard_normal((3, 30, 41))
    backs = []
    for array in (x, da.from_array(x, chunks=(2, (7, 23), (16, 16, 9)))):
        values, indices = cn.max_pool(array, (3, 3), stride=2, padding=1, return_indices=True)
        backs.append(cn.max_unpool(values, indices, (3, 3), stride=2, padding=1, output_shape=(30, 41)))
    np.testing.assert_array_equal(computed(backs[1])[0], backs[0])


def test_indices_that_lead_outside_are_an_error_when_they_are_seen() -> None:
    y, indices = da.ones((4, 4), chunks=2), da.full((4, 4), 64, chunks=3)
    lazy = cn.max_unpool(y, indices, (2, 2))
    with pytest.raises(
        ValueError, match=r"^max_unpool: indices has values from 64 to 64, the pooled axes .* 8\*8 = 64"
    ):
        lazy.compute(scheduler="synchronous")


# ------------------------------------------------------------------------------------------------- the graph


class Watched:
    """An array-like that counts what is read of it."""

    def __init__(self, x: Any) -> None:
        self.x, self.shape, self.dtype, self.ndim = x, x.shape, x.dtype, x.ndim
        self.read: list[Any] = []

    def __getitem__(self, key: Any) -> Any:
        self.read.append(key)
        return self.x[key]


def watched(shape: tuple[int, ...], chunks: Any) -> tuple[Watched, Any]:
    source = Watched(np.random.default_rng(3).standard_normal(shape))
    return source, da.from_array(source, chunks=chunks, asarray=False, meta=np.empty((0,) * len(shape)))


def test_nothing_is_read_while_the_graph_is_built() -> None:
    source, x = watched((40, 40), 10)
    w, k = da.ones((3, 40, 2), chunks=1), da.ones((2, 2), chunks=1)
    values, indices = cn.max_pool(x, (3, 3), return_indices=True)
    results = [
        cn.avg_pool(x, (3, 3), stride=1), cn.lp_pool(x, (2, 2)), cn.adaptive_avg_pool(x, (7, 3)), cn.conv(x, w),
        cn.max_unpool(values, indices, (3, 3)), cn.correlate(x, k), cn.global_max_pool(x, axes=(0, 1)),
        cn.pool(x, (2, 2), 0.0, np.add),
    ]  # fmt: skip
    for result in results:
        assert len(result.dask) > 0
        assert result[0].shape == result.shape[1:]
    assert not source.read


def test_a_part_of_a_result_needs_a_part_of_the_data() -> None:
    source, x = watched((100, 100), 10)
    y = cn.avg_pool(x, (4, 4), stride=2)
    part = y[:3, 20:24]
    with dask.config.set({"optimization.fuse.active": False}):
        part.compute(scheduler="synchronous")
    seen = {tuple((s.start, s.stop) for s in key) for key in source.read}
    assert seen == {((0, 10), (30, 40)), ((0, 10), (40, 50))}  # of windows 19 … 23


def test_values_and_indices_come_from_one_computation() -> None:
    source, x = watched((20, 20), 10)
    values, indices = cn.max_pool(x, (2, 2), return_indices=True)
    found = dask.compute(values, indices, scheduler="synchronous")
    assert len(source.read) == 4
    for got, expected in zip(found, cn.max_pool(source.x, (2, 2), return_indices=True), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_task_computes_on_one_thread() -> None:
    seen: list[int] = []

    def note(a: Any, b: Any) -> Any:
        seen.append(cn.get_num_threads())
        return np.maximum(a, b)

    with cn.num_threads(2):
        cn.pool(da.ones((8, 8), chunks=4), (2, 2), 0.0, note).compute(scheduler="threads")
        assert cn.get_num_threads() == 2
    assert len(seen) == 2 + 4 * 4  # the first two ask for the dtype
    assert set(seen[2:]) == {1}


def test_names_are_those_of_equal_calls() -> None:
    x, z = da.ones((12, 12), chunks=4), da.zeros((12, 12), chunks=4)
    assert cn.max_pool(x, (2, 2)).name == cn.max_pool(x, [2, 2], stride=2).name
    different = [
        cn.max_pool(x, (2, 2)), cn.max_pool(z, (2, 2)), cn.max_pool(x, (2, 2), stride=1), cn.min_pool(x, (2, 2)),
        cn.max_pool(x.rechunk(6), (2, 2)), cn.max_pool(x, (2, 2), ties="split"), cn.avg_pool(x, (2, 2)),
        cn.adaptive_avg_pool(x, (5, 5)), cn.adaptive_avg_pool(x, (5, 7)),
    ]  # fmt: skip
    assert len({y.name for y in different}) == len(different)
    assert different[0].name.startswith("max_pool-")


# ------------------------------------------------------------------------------------------------- the chunks


def test_chunks_follow_those_of_the_input() -> None:
    x = da.ones((64, 100), chunks=((10, 54), (32, 32, 36)))
    assert cn.max_pool(x, (2, 2)).chunks == ((5, 27), (16, 16, 18))
    assert cn.max_pool(x, (3, 3), stride=1, padding="same").chunks == x.chunks
    assert cn.max_pool(x, (2,), stride=1, padding="same_lower").chunks == x.chunks
    assert cn.max_pool(x, (3, 3), stride=2, padding=1).chunks == ((5, 27), (16, 16, 18))
    assert cn.max_pool(x, (4,), axes=1).chunks == ((10, 54), (8, 8, 9))
    assert cn.max_pool(x, (100, 1), axes=(1, 0)).chunks == ((10, 54), (1,))
    one = da.ones(12, chunks=1)
    assert cn.max_pool(one, (4,)).chunks == ((1, 1, 1),)
    assert cn.max_pool(one, (4,), stride=1).chunks == ((1,) * 9,)
    assert cn.conv_transpose(x[..., None], np.ones((2, 2, 1, 1)), stride=2).chunks == ((20, 108), (64, 64, 72), (1,))


def test_a_block_is_not_much_larger_than_those_it_comes_from() -> None:
    mib = 1 << 20
    x = da.zeros((8, 1024, 1024), chunks=(1, 1024, 1024), dtype=np.uint8)
    for y in (
        cn.avg_pool(x, (3, 3), stride=1),  # 8 bytes for each element
        cn.conv_transpose(x[..., None].astype("f4"), np.ones((8, 8, 4, 1), np.float32), stride=8),
        cn.max_pool(x, (1, 1), padding=4096),
        cn.adaptive_avg_pool(x, (4096, 8192)),
    ):
        largest = math.prod(max(of_axis) for of_axis in y.chunks) * y.dtype.itemsize
        assert mib <= largest <= 8 * mib, y.chunks
    y = cn.conv(x[..., None], np.ones((1, 1, 1, 512), np.uint8))
    assert y.chunks[-1] == (512,), "channels are computed as a whole"


def test_small_blocks_are_left_alone() -> None:
    x = da.ones((10, 10), chunks=5)
    assert cn.conv_transpose(x[..., None], np.ones((4, 4, 1, 1)), stride=4).chunks == ((20, 20), (20, 20), (1,))


def test_splits_are_even() -> None:
    from cenote.api.windows import total
    from cenote.ops.base import Spec

    spec = Spec((1000, 1000), np.dtype("u1"))
    op = total((1, 1), None, 0, 1, False, None, "propagate", None)(spec)
    assert output_chunks(op, op.infer(spec), [((1000,), (1000,))], 1 << 22) == ((500, 500), (1000,))


# --------------------------------------------------------------------------------------------------- refusals


def test_what_is_refused() -> None:
    x = da.ones((8, 8), chunks=4)
    unknown = x.map_blocks(lambda b: b, chunks=((np.nan, np.nan), (4, 4)), meta=x._meta)
    masked = x.map_blocks(np.ma.masked_array, meta=np.ma.masked_array(np.ones((0, 0))))
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: cn.max_pool(unknown, (2, 2)), ValueError, r"x is a dask array whose chunks along axis 0 have no known "
         r"size: call x.compute_chunk_sizes\(\) first"),
        (lambda: cn.max_pool(masked, (2, 2)), TypeError, "x is a dask array with blocks of type MaskedArray"),
        (lambda: cn.max_pool(x.astype("M8[s]"), (2, 2)), TypeError, r"x has dtype datetime64\[s\]"),
        (lambda: cn.max_pool(x, (9, 9)), ValueError, "does not fit on axis 0"),
        (lambda: cn.max_pool(x, 2), ValueError, "window=2 is one int"),
        (lambda: cn.max_pool(x, (2, 2), out=np.empty((4, 4))), TypeError, "out is for NumPy arrays only"),
        (lambda: cn.pool(np.ones(4), (2,), x, np.add), TypeError, "init is a dask Array, which cannot be used here"),
        (lambda: cn.max_pool(np.ones(4), (2,), out=x), TypeError, "out is an Array: a NumPy array is needed"),
        (lambda: cn.max_pool(x.astype(complex), (2, 2)), TypeError, "complex numbers have no order"),
    ]  # fmt: skip
    for call, kind, message in calls:
        with pytest.raises(kind, match=message):
            call()
    with pytest.raises(TypeError, match="Tensor: data is a dask Array, which cannot be used here"):
        cn.Tensor(x)


def test_blocks_that_are_not_what_the_array_says() -> None:
    x = da.ones((8, 8), chunks=4)
    for lie in (x.map_blocks(lambda b: b[:2], meta=x._meta, chunks=x.chunks), x.map_blocks(np.int8, meta=x._meta)):
        with pytest.raises(TypeError, match=r"a block has dtype .* which is not what the array says"):
            cn.max_pool(lie, (2, 2)).compute(scheduler="synchronous")


def test_a_numpy_array_beside_a_dask_array_becomes_a_part_of_the_graph() -> None:
    rng = np.random.default_rng(0)
    x, w, bias = rng.standard_normal((9, 9, 2)), rng.standard_normal((2, 2, 2, 3)), rng.standard_normal(3)
    expected = cn.conv(x, w, bias=bias)
    for arrays in ((chunked(x, rng), w, bias), (x, chunked(w, rng), bias), (x, w, chunked(bias, rng))):
        lazy = cn.conv(arrays[0], arrays[1], bias=arrays[2])
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(computed(lazy)[0], expected, rtol=1e-10)
