"""Fast paths of derivatives vs. plain NumPy: scattering of cotangents, averages with one divisor; and calls that the
call cache serves vs. those that it does not."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cenote as cn
from cases import Array, make_data, same_bits
from cenote import _core, core
from cenote.api import pooling, sums
from cenote.geometry.window import adaptive_geometry, parse_window
from cenote.ops.sums import AvgPool, SumPool
from cenote.reference import pooling as reference
from path_checks import check_scatter, scattered, ways

# --------------------------------------------------------------------------- cotangents to selected elements


def few_values(shape: tuple[int, ...], nans: float = 0.0) -> Array:
    rng = np.random.default_rng(sum(shape))
    x = rng.integers(-2, 5, shape).astype("f")
    x[rng.random(shape) < nans] = np.nan
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("size", "lanes"), [(31, 1), (32, 1), (33, 1), (31, 5), (32, 5), (33, 5), (32, 40)])
def test_windows_of_about_32_elements_are_scattered(dtype: str, size: int, lanes: int) -> None:
    """Tap by tap up to 32 elements, window by window beyond; along rows and along lanes."""
    for k in {31: [(1, 31), (31, 1)], 32: [(4, 8), (2, 16)], 33: [(3, 11), (11, 3)]}[size]:
        for s, d, padding in ((1, 1, 0), (2, 1, 3), (3, 1, 1), (2, 2, 0), ((3, 2), 1, 2), (5, (1, 2), 1)):
            padded = tuple((min(padding, n - 1), 0) for n in k)
            shape = (2, 34, 66, lanes) if d == 1 else (1, 62, 64, lanes)
            geometry = parse_window(k, s, padded, d, True, (1, 2)).on(shape)
            check_scatter(few_values(shape), geometry, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_scatter_of_small_windows(dtype: str, rank: int) -> None:
    """Rows of every length around the vectors; one plane, cut into slabs, and many."""
    for n, k, s in itertools.product((1, 2, 7, 16, 17, 33, 70), (1, 2, 3, 4, 5), (1, 2, 3)):
        for padding, d in ((0, 1), (k - 1, 1), (k // 2, 2)):
            extent = (k - 1) * d + 1
            if n + 2 * padding < extent or (s == 3 and n > 17) or (n * k + rank) % 3 == 2:
                continue
            shape = ((), (n % 5 + 2,), (5, n % 5 + 2))[rank - 1] + (n,)
            lead = tuple(min(2, size) for size in shape[:-1])
            batch = (1, 4)[n % 2]
            geometry = parse_window(
                (*lead, k),
                (*((1,) * (rank - 1)), s),
                ((0, 0),) * (rank - 1) + ((padding, k - 1),),
                (1,) * (rank - 1) + (d,),
            ).on((batch, *shape))
            check_scatter(few_values((batch, *shape), 0.05), geometry, dtype, bool(k % 2), bool(n % 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [2, 3])
def test_windows_with_stride_2_along_the_row(k: int, dtype: str) -> None:
    """Two rows of elements at once where both lie in the same row of windows: any number of rows, any padding at either
    end, rows that no window covers, and one more axis."""
    for i, (lead, step, rows) in enumerate(itertools.product((1, 2, 3), (1, 2, 3), (1, 2, 5, 8, 31))):
        if lead > 2 * step or lead > rows:
            continue
        for low, high in ((0, 0), (1, 0), (lead - 1, lead - 1)):
            if max(low, high) >= lead:
                continue
            n = (16, 17, 37)[i % 3]
            window = parse_window((lead, k), (step, 2), ((low, high), (i % 2, 1)))
            check_scatter(few_values((2, rows, n), 0.05), window.on((2, rows, n)), dtype)
            outer = (2, 2, 3)[i % 3]
            solid = parse_window((outer, lead, k), (2, step, 2), ((0, 1), (low, high), (1, i % 2)))
            check_scatter(few_values((4, rows, n)), solid.on((4, rows, n)), dtype, omit=True)


@pytest.mark.parametrize("window", [(3, 3), (6, 6), (1, 4), (9, 1)])
def test_one_plane_in_slabs(window: tuple[int, int]) -> None:
    """A plane of 150 rows on 2 and 3 threads, with gaps that no window covers, and lanes."""
    for stride, padding, d in ((1, 0, 1), (2, 2, 1), ((40, 3), 0, 1), (1, 0, 3), ((70, 1), 1, 5)):
        padded = tuple(min(padding, k - 1) for k in window)
        for lanes in (1, 3):
            shape = (150, 40, lanes)
            geometry = parse_window(window, stride, padded, d, True, (0, 1)).on(shape)
            check_scatter(few_values(shape), geometry, "float32")


@pytest.mark.parametrize("window", [(2, 3), (6, 6)])
def test_axes_and_orders_of_scatter(window: tuple[int, int]) -> None:
    for axes in itertools.permutations(range(4), 2):
        shape = (9, 8, 10, 7)
        geometry = parse_window(window, (2, 1), 1, 1, False, axes).on(shape)
        x = few_values(shape)
        turned = np.ascontiguousarray(x.transpose(2, 0, 3, 1)).transpose(1, 3, 0, 2)
        for layout in (x, np.asfortranarray(x), turned):
            check_scatter(layout, geometry, "float64")


@pytest.mark.parametrize("stride", [1, 2, 5])
def test_windows_that_select_no_element(stride: int) -> None:
    """Windows of padding only, or of NaN only."""
    for k in ((3, 2), (2, 3), (6, 7)):
        x = few_values((20, 30))
        x[:9, 3:21] = np.nan
        geometry = parse_window(k, stride, tuple((3 * n, 2 * n) for n in k)).on(x.shape)
        for omit in (False, True):
            check_scatter(x, geometry, "float32", True, omit)
        where = reference.select(x, geometry, True, True)[1]
        assert (where < 0).any()
    none = parse_window((2,), stride, 2).on((0,))
    offsets = core.select_with_offsets(np.zeros(0, "f"), none, True, False)[1]
    assert core.scatter_add(np.ones(none.out_shape, "f"), offsets, none).shape == (0,)
    assert not core.gather(np.zeros(0, "f"), offsets, none).any()


@pytest.mark.parametrize("output", [(3, 4), (7, 1), (20, 13), (9, 9)])
def test_scatter_from_bins(output: tuple[int, int]) -> None:
    for shape, axes in (((13, 17), (0, 1)), ((2, 13, 17), (1, 2)), ((13, 17, 3), (0, 1))):
        check_scatter(few_values(shape), adaptive_geometry(shape, output, axes), "float32")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_the_derivative_is_the_scatter(dtype: str) -> None:
    x = few_values((2, 40, 30)).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    for pool, largest in ((cn.max_pool, True), (cn.min_pool, False)):
        for k, stride, padding in (((3, 3), 2, 1), ((2, 2), None, 0), ((6, 6), 1, 2)):
            geometry = parse_window(k, stride, padding).on(x.shape)
            where = reference.select(x, geometry, largest, False)[1]
            g = np.random.default_rng(5).integers(-9, 10, geometry.out_shape).astype(x.dtype)
            expected = scattered(g.astype("f"), where, geometry, None).astype(x.dtype)
            results = []
            for case in ways(x, geometry, 1):
                with case.setting():
                    y, pull = cn.vjp(lambda x, p=pool, k=k, s=stride, q=padding: p(x, k, stride=s, padding=q), x)
                    results.append(pull(g)[0])
                assert same_bits(y, reference.select(x, geometry, largest, False)[0])
            assert all(same_bits(dx, expected) for dx in results), (k, stride)


# --------------------------------------------------------------------------------- averages with one divisor

AVERAGES: list[dict[str, Any]] = [
    {"window": (2, 2)},
    {"window": (2, 3), "stride": 1},
    {"window": (3, 2), "stride": (2, 1), "padding": 1},  # counts differ with padding left out only
    {"window": (3, 2), "stride": (2, 1), "padding": (1, 0), "count_include_pad": False},  # along one axis only
    {"window": (2, 3), "stride": (1, 2), "padding": (0, 1), "count_include_pad": False},
    {"window": (2, 2), "ceil_mode": True},  # along the axis that the windows do not divide
    {"window": (2, 2), "ceil_mode": True, "padding": (0, 1)},
    {"window": (4, 3), "stride": (3, 2), "ceil_mode": True, "padding": 1, "divisor": -2.5},
    {"window": (2, 2), "stride": 1, "padding": 1, "divisor": 0.1, "count_include_pad": False},
    {"window": (2, 2), "dilation": 2, "stride": 1, "padding": "same"},
    {"window": (5, 6), "stride": 3, "padding": ((2, 4), (3, 3))},
    {
        "window": (1, 1),
        "stride": 2,
        "padding": ((0, 3), (0, 0)),
        "count_include_pad": False,
    },  # empty windows
    {"window": (9, 1), "axes": (2, 0)},
]


def matrix(f: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """The matrix of f, which is linear: its columns are the images of the unit vectors."""
    units = np.eye(math.prod(shape)).reshape(-1, *shape)
    return np.stack([f(unit).ravel() for unit in units], 1)


def divided(x: Array, by: Any) -> Array:
    out: Array = (x / by).astype(x.dtype)
    return out


@pytest.mark.parametrize("i", range(len(AVERAGES)))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_averages_and_their_derivatives(i: int, dtype: str) -> None:
    how = dict(AVERAGES[i])
    shape, rng = (3, 5, 9), np.random.default_rng(i)
    divisor, include_pad = how.pop("divisor", None), how.pop("count_include_pad", True)
    geometry = parse_window(**how).on(shape)
    counts = np.broadcast_to(geometry.counts(include_pad), geometry.out_shape)
    even = geometry.even_count(include_pad)
    assert even == (counts.flat[0] if (counts == counts.flat[0]).all() else None)

    x, t = (make_data(rng, shape, np.dtype(dtype), False) for _ in range(2))
    g = make_data(rng, geometry.out_shape, np.dtype(dtype), False)
    by = np.where(counts == 0, 1, counts) if divisor is None else np.array(divisor)
    slow = matrix(lambda u: divided(reference.sum_pool(u, geometry, False), by), shape)
    close = {"float16": 4e-3, "float64": 1e-14}.get(dtype, 2e-6)
    for case in ways(x, geometry, 1):
        with case.setting():
            y, dy = cn.jvp(lambda x: cn.avg_pool(x, **AVERAGES[i]), (x,), (t,))
            again, pull = cn.vjp(lambda x: cn.avg_pool(x, **AVERAGES[i]), x)
            (dx,) = pull(g)
        expected = reference.avg_pool(x, geometry, False, divisor, include_pad)
        assert same_bits(y, expected)
        assert same_bits(again, expected)
        assert dy.dtype == dx.dtype == x.dtype
        if dtype in ("float32", "float64"):  # halves are rounded once only
            assert same_bits(dy, divided(core.sum_pool(t, geometry, False), by))
        wide = np.result_type(dtype, float)
        np.testing.assert_allclose(dy.ravel(), slow @ t.astype(wide).ravel(), rtol=close, atol=close)
        pulled = slow.T @ (g.astype(wide)).ravel()
        np.testing.assert_allclose(dx.ravel(), pulled, rtol=close, atol=close * max(1, np.abs(slow).max()))


F = np.dtype("f")


@pytest.mark.parametrize("by", [4.0, 0.25, -8.0, 2.0**40])
def test_a_divisor_that_is_a_power_of_two_may_come_before_or_after_the_sum(by: float) -> None:
    for k, s, padding in ((2, 2, 0), (3, 1, 1), (4, 2, 3), (7, 3, 2)):
        geometry = parse_window((k, k), s, padding).on((2, 20, 31))
        x, g = (np.random.default_rng(k).standard_normal(n).astype("f") for n in (geometry.shape, geometry.out_shape))
        average, total = AvgPool(geometry, F, F, by, True), SumPool(geometry, F, F)
        for case in ways(x, geometry, 1):
            with case.setting():
                (mean,) = average.evaluate(x)
                assert same_bits(mean, divided(total.evaluate(x)[0], by))
                np.testing.assert_array_equal(average.T.evaluate(g)[0], total.T.evaluate(divided(g, by))[0])
                assert same_bits(average.T.T.evaluate(x)[0], mean)


# ---------------------------------------------------------------------------------------- cached calls


class Special(np.ndarray[Any, Any]):
    """A subclass that NumPy's functions return."""


POOLS: dict[str, Callable[..., Any]] = {
    "LARGEST": cn.max_pool,
    "SMALLEST": cn.min_pool,
    "TOTAL": cn.sum_pool,
    "AVERAGE": cn.avg_pool,
}


def observed(call: Callable[[], Any]) -> tuple[Any, ...]:
    """All that a caller can see of a result, or of an error."""
    try:
        y = call()
    except Exception as error:
        return type(error), str(error)
    data = y.data if isinstance(y, cn.Tensor) else y
    return type(y), data.dtype, data.shape, data.strides, np.ascontiguousarray(data).view(np.uint8).tobytes()


def check_as_if_fresh(name: str, x: Any, *args: Any, **how: Any) -> tuple[Any, ...]:
    """After other calls, twice: the same outcome as with empty caches."""
    got = observed(lambda: POOLS[name](x, *args, **how))
    again = observed(lambda: POOLS[name](x, *args, **how))
    module = pooling if hasattr(pooling, name) else sums
    saved = getattr(module, name)
    setattr(module, name, _core.CallCache(np.ndarray))
    cn.clear_cache()
    try:
        fresh = observed(lambda: POOLS[name](x, *args, **how))
    finally:
        setattr(module, name, saved)
    assert got == fresh, (name, args, how)
    assert again == fresh, (name, args, how)
    return fresh


def variants(x: Array) -> Iterator[Any]:
    raw = np.zeros(x.nbytes + 1, np.uint8)
    misaligned = raw[1:].view(x.dtype).reshape(x.shape)
    misaligned[...] = x
    yield from (x.copy(), np.asfortranarray(x), x[::-1], np.repeat(x, 2, 1)[:, ::2], misaligned, x.T)
    yield from (x.astype(x.dtype.newbyteorder(">")), x.view(Special), np.ma.masked_greater(x, 2), cn.Tensor(x))
    yield from (x.view(t) for t in ("i4", "u4", ml_dtypes.bfloat16, "e", "M8[s]", "V4", "S4") if x.nbytes % 8 == 0)
    yield from (x.astype(object), x.astype("F"), x.astype("g"), x.astype("d"), x > 1, x[:0], x[:, :0], x[:3], x[None])
    yield from (np.broadcast_to(x[:1], x.shape), x.tolist(), None, "text", x[0, 0], np.lib.stride_tricks.as_strided(x))
    frozen = x.copy()
    frozen.flags.writeable = False
    yield frozen


@pytest.mark.parametrize("name", POOLS)
def test_a_cached_call_serves_similar_arrays_only(name: str) -> None:
    x = np.random.default_rng(1).standard_normal((6, 8)).astype("f")
    for how in ({}, {"padding": 1}, {"axes": (1, 0), "stride": 1}, {"nan": "omit"}, {"ceil_mode": True}):
        results = set()
        for other in variants(x):
            POOLS[name](x, (2, 2), **how)  # the most recent call, whatever came before
            results.add(check_as_if_fresh(name, other, (2, 2), **how)[0])
        assert {np.ndarray, TypeError, ValueError} <= results


@pytest.mark.parametrize("name", POOLS)
def test_equal_arguments_of_other_types_are_distinguished(name: str) -> None:
    x = np.random.default_rng(2).standard_normal((6, 8)).astype("f")

    class Int(int):
        pass

    windows = [(2, 2), (2.0, 2.0), (True, True), (1, 1), (np.int64(2), np.int64(2)), [2, 2], np.array([2, 2]), "22", 2]
    windows += [(2, 2.0), (Int(2), Int(2)), ((2, 2),), (2,), (2, 2, 2), (-2, 2), (10**30, 2), None]
    kinds = {check_as_if_fresh(name, x, size)[0] for size in windows for _ in range(2)}
    assert np.ndarray in kinds
    assert TypeError in kinds
    options: list[dict[str, Any]] = [
        {"stride": s} for s in (None, 1, True, 1.0, 2, (1, 1), (True, 1), np.int8(1), [1, 1])
    ]
    options += [
        {"padding": p} for p in (0, False, 0.0, 1, True, "valid", "VALID", ((0, 1), (1, 0)), ((0, True), (1, 0)))
    ]
    options += [{"dilation": d} for d in (1, 2, True, 2.0)] + [{"axes": a} for a in ((0, 1), (0, True), (-2, -1), (0,))]
    options += [{"ceil_mode": c} for c in (False, 0, 0.0, True, 1, None)] + [{"nan": m} for m in ("omit", "Omit", None)]
    if name == "AVERAGE":
        options += [{"divisor": v} for v in (1, True, 1.0, 3, 3.0, 0, -0.0, np.float32(3), np.nan, np.inf)]
        options += [{"count_include_pad": c, "padding": 1} for c in (True, 1, False, 0)]
    for how in (*options, *options[::-1]):
        check_as_if_fresh(name, x, (2, 2), **how)


def test_a_list_may_change_between_calls() -> None:
    x = np.arange(48.0).reshape(6, 8)
    size, pads = [2, 2], [[0, 0], [0, 0]]
    for first, pad in ((2, 0), (3, 1), (2, 1), (1, 0)):
        size[0], pads[1][0] = first, pad
        got = cn.max_pool(x, size, padding=pads)
        expected = reference.select(x, parse_window((first, 2), None, ((0, 0), (pad, 0))).on(x.shape), True, False)[0]
        assert same_bits(got, expected)


def test_more_calls_than_the_cache_holds() -> None:
    x = np.random.default_rng(3).standard_normal((40, 9)).astype("f")
    for k in [*range(1, 20), *range(19, 0, -1), 3, 3, 19, 1, 3]:
        for name in POOLS:
            check_as_if_fresh(name, x, (k, 2))
            check_as_if_fresh(name, x[: 20 + k], (2, 1))


def test_results_are_fresh_arrays_and_threads_do_not_mix_them_up() -> None:
    x = np.random.default_rng(4).standard_normal((30, 40)).astype("f")
    first, second = cn.max_pool(x, (2, 2)), cn.max_pool(x, (2, 2))
    assert not np.shares_memory(first, second)
    first[...] = 0
    assert same_bits(cn.max_pool(x, (2, 2)), second)
    sizes = [(a, b) for a in range(1, 6) for b in range(1, 6)]
    expected = {k: [f(x, k) for f in POOLS.values()] for k in sizes}
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            for i in np.random.default_rng(seed).integers(0, len(sizes), 300):
                for f, y in zip(POOLS.values(), expected[sizes[i]], strict=True):
                    if not same_bits(f(x, sizes[i]), y):
                        wrong.append(sizes[i])
        except Exception as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
