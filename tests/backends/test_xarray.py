"""DataArrays and Datasets: the functions by name are the functions by axes, and what is not pooled stays."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import cenote as cn
import cenote.xarray
from cases import same_bits
from cenote.arguments.operations import OPERATIONS
from chunked import chunked, computed

rng = np.random.default_rng(0)
DIMS = ("t", "y", "x")
CUBE = rng.integers(-9, 9, (5, 7, 8)).astype(float)
CUBE[1, 2:4, 3] = np.nan


def array(values: Any = CUBE, dims: tuple[str, ...] = DIMS) -> xr.DataArray:
    """With coordinates of every kind."""
    sizes = dict(zip(dims, values.shape, strict=True))
    out = xr.DataArray(values, dims=dims, name="v", attrs={"units": "K"})
    out = out.assign_coords({d: (d, np.arange(n) ** 2, {"axis": d}) for d, n in sizes.items()})
    return out.assign_coords(run=7, lat=(dims[-2:], rng.standard_normal([sizes[d] for d in dims[-2:]])))


def never(shape: tuple[int, ...] = CUBE.shape) -> Any:
    """A dask array that must not be computed."""

    def compute(block: Any) -> Any:
        raise AssertionError("it was computed")

    return da.map_blocks(compute, da.zeros(shape, chunks=3), meta=np.zeros((0,) * len(shape)))


def by_name(values: tuple[Any, ...] | Any, names: tuple[str, ...]) -> Any:
    return dict(zip(names, values, strict=True)) if isinstance(values, tuple) else values


# ------------------------------------------------------------------------------------------ the same as by axes

WINDOWS: list[dict[str, Any]] = [
    {},
    {"stride": 1},
    {"stride": (1, 2)},
    {"stride": 2, "padding": 1},
    {"padding": ((1, 0), (2, 1)), "ceil_mode": True},
    {"padding": "same", "stride": 1},
    {"padding": "same_lower", "stride": (2, 1), "ceil_mode": True},
    {"dilation": (1, 2), "stride": (1, 1), "padding": "VALID"},
]
POOLS: list[tuple[str, dict[str, Any]]] = [
    ("max_pool", {"return_indices": True}),
    ("min_pool", {"nan": "omit"}),
    ("avg_pool", {"count_include_pad": False, "nan": "omit"}),
    ("sum_pool", {"dtype": np.float32}),
    ("lp_pool", {"p": 3}),
    ("smooth_max_pool", {"beta": 2.0, "pad_value": None}),
    ("median_pool", {"nan": "omit"}),
    ("pool", {"init": 0.0, "reduce_fn": np.add}),
]


@pytest.mark.parametrize("names", [("y", "x"), ("x", "t"), ("x", "y")])
@pytest.mark.parametrize(("name", "options"), POOLS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_window_by_name_is_a_window_by_axes(name: str, options: dict[str, Any], names: tuple[str, ...]) -> None:
    x = array()
    function = getattr(cn, name)
    axes = tuple(DIMS.index(d) for d in names)
    for how in WINDOWS:
        expected = function(CUBE, (2, 3), axes=axes, **options, **how)
        named = {key: by_name(value, names) for key, value in how.items()}
        for data in (CUBE, chunked(CUBE, rng)):
            got = function(x.copy(data=data), by_name((2, 3), names), **options, **named)
            for result, real in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, expected)), strict=True):
                assert isinstance(result, xr.DataArray)
                assert isinstance(result.data, type(data)), "lazy in, lazy out"
                assert (result.dims, result.name) == (DIMS, "v")
                assert same_bits(np.asarray(result.data), real)
    assert cn.output_shape(x, by_name((2, 3), names), **named) == expected_shape(expected)


def expected_shape(result: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = (result[0] if isinstance(result, tuple) else result).shape
    return shape


def test_other_functions_by_name() -> None:
    x, ints = array(), array(rng.integers(0, 3, CUBE.shape))
    k = rng.standard_normal((2, 3))
    filters = xr.DataArray(k, dims=("x", "y"))
    w = rng.standard_normal((3, 8, 2))
    by_y: Any = {"padding": {"y": (1, 0)}}
    more: Any = {"stride": {"y": 2}, "output_shape": {"y": 16}}
    values, indices = cn.max_pool(x, {"x": 2, "y": 3}, return_indices=True)
    v, i = cn.max_pool(CUBE, (2, 3), axes=(2, 1), return_indices=True)
    cases: list[tuple[xr.DataArray, Any]] = [
        (cn.mode_pool(ints, {"y": 3}), cn.mode_pool(ints.values, 3, axes=1)),
        (cn.max_pool(x, 2, axes=("x", "t")), cn.max_pool(CUBE, 2, axes=(2, 0))),
        (cn.max_pool(x, 2, axes="x"), cn.max_pool(CUBE, 2, axes=2)),
        (cn.adaptive_max_pool(x, {"y": 4, "t": None}), cn.adaptive_max_pool(CUBE, (4,), axes=1)),
        (cn.adaptive_avg_pool(x, 3, axes=("y", "x")), cn.adaptive_avg_pool(CUBE, 3, axes=(1, 2))),
        (cn.global_max_pool(x, axes=("y", "x")), cn.global_max_pool(CUBE, axes=(1, 2))),
        (cn.global_avg_pool(x, axes="t"), cn.global_avg_pool(CUBE, axes=0)),
        (cn.correlate(x, k, axes=("x", "y")), cn.correlate(CUBE, k, axes=(2, 1))),
        (cn.correlate(x, filters, mode="same"), cn.correlate(CUBE, k, axes=(2, 1), mode="same")),
        (
            cn.convolve(x, k, axes=("x", "y"), mode="valid", stride={"y": 2}, dilation={"x": 2}),
            cn.convolve(CUBE, k, axes=(2, 1), mode="valid", stride=(1, 2), dilation=(2, 1)),
        ),
        (cn.conv(x, w, **by_y), cn.conv(CUBE, w, padding=((1, 0),))),
        (cn.conv(x, w, stride=2, padding="same"), cn.conv(CUBE, w, stride=2, padding="same")),
        (
            cn.conv_transpose(x, rng.standard_normal((3, 2, 8)), **more),
            np.zeros((5, 16, 2)),
        ),
        (
            cn.max_unpool(values, indices.transpose("x", "t", "y"), {"x": 2, "y": 3}, output_shape={"x": 8, "y": 7}),
            cn.max_unpool(v, i, (2, 3), axes=(2, 1), output_shape=(8, 7)),
        ),
        (
            cn.max_unpool(values, indices, {"x": 2, "y": 3}, padding={"y": 1}, stride={"x": 4, "y": 5}),
            cn.max_unpool(v, i, (2, 3), axes=(2, 1), padding=((0, 0), (1, 1)), stride=(4, 5)),
        ),
    ]  # fmt: skip
    for got, expected in cases:
        assert got.dims == DIMS
        assert got.shape == expected.shape
        assert np.allclose(got.values, expected, equal_nan=True) or not expected.any()


def test_the_order_of_the_dict_is_that_of_the_window() -> None:
    x = xr.DataArray(np.ones((2, 2)), dims=("y", "x"), name="v")
    x[0, 0] = 0  # the first of the ones depends on the order
    assert cn.max_pool(x, {"y": 2, "x": 2}, return_indices=True)[1].item() == 1
    assert cn.max_pool(x, {"x": 2, "y": 2}, return_indices=True)[1].item() == 1
    x[1, 0] = 0
    assert cn.max_pool(x, {"y": 2, "x": 2}, return_indices=True)[1].item() == 1
    assert cn.max_pool(x, {"x": 2, "y": 2}, return_indices=True)[1].item() == 2
    got = cn.pool(xr.DataArray([[1, 2], [3, 4]], dims=("y", "x")), {"x": 2, "y": 2}, 0, lambda a, b: 10 * a + b)
    assert got.item() == 1324


def test_what_a_dict_leaves_out_has_the_default() -> None:
    x = array()
    whole = {"y": 2, "x": 3}
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"stride": {"x": 1}}, {"stride": {"y": 2, "x": 1}}),
        ({"stride": {}}, {"stride": whole}),
        ({"padding": {"y": 1}}, {"padding": {"x": 0, "y": (1, 1)}}),
        ({"dilation": {"x": 2}}, {"dilation": {"y": 1, "x": 2}}),
        ({"padding": {"x": "same"}, "stride": 1}, {"padding": {"x": (1, 1)}, "stride": {"x": 1, "y": 1}}),
    ]
    for given, meant in cases:
        xr.testing.assert_identical(cn.max_pool(x, whole, **given), cn.max_pool(x, whole, **meant))


@pytest.mark.parametrize("stride", [1, 2, 3, 5])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("word", ["same", "same_lower"])
def test_same_for_one_dimension_is_same_for_all(stride: int, ceil_mode: bool, word: str) -> None:
    for n, window in itertools.product(range(1, 9), (1, 2, 3, 5)):
        x = xr.DataArray(np.arange(n), dims="x")
        options: dict[str, Any] = {"stride": stride, "ceil_mode": ceil_mode}
        one = cn.max_pool(x, {"x": window}, padding={"x": word}, **options)
        assert one.values.tolist() == cn.max_pool(x.values, (window,), padding=word, **options).tolist()


# ------------------------------------------------------------------------------------------------ what stays


def test_names_attributes_and_other_coordinates_stay() -> None:
    x = array()
    x.encoding["scale_factor"] = 0.1
    x.x.encoding["dtype"] = "i2"
    index = pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a")], names=["p", "q"])
    x = x.drop_vars("t").assign_coords(xr.Coordinates.from_pandas_multiindex(index, "t"))
    got = cn.avg_pool(x, {"x": 2})
    like = x.coarsen(x=2).mean()
    assert (got.name, got.attrs, got.x.attrs) == ("v", {"units": "K"}, {"axis": "x"})
    assert got.encoding == like.encoding == {}
    assert got.x.encoding == like.x.encoding == {"dtype": "i2"}
    assert got.indexes["t"].equals(index)
    assert set(got.coords) == set(x.coords)
    assert got.run == 7
    np.testing.assert_array_equal(got.y, x.y)
    indices = cn.max_pool(x, {"x": 2}, return_indices=True)[1]
    assert indices.attrs == {}
    assert indices.dtype == np.int64
    assert set(indices.coords) == set(x.coords)
    with xr.set_options(keep_attrs=False):  # type: ignore[no-untyped-call]
        assert cn.avg_pool(x, {"x": 2}).attrs == x.coarsen(x=2).mean().attrs == {}


def test_a_coordinate_is_pooled_as_data_too() -> None:
    x = array().x
    xr.testing.assert_identical(cn.max_pool(x, {"x": 2}), x.coarsen(x=2).max())
    values, indices = cn.max_pool(x, {"x": 2}, return_indices=True)
    assert (values.values.tolist(), indices.values.tolist()) == ([1, 9, 25, 49], [1, 3, 5, 7])
    assert indices.x.values.tolist() == [1, 9, 25, 49]


def test_a_dataset() -> None:
    x = array()
    ds = xr.Dataset(
        {"v": x, "n": ("x", np.arange(8)), "z": 3, "s": ("t", list("abcde")), "w": ("y", np.arange(7.0))},
        attrs={"title": "a"},
    )
    got = cn.avg_pool(ds, {"x": 2, "y": 3}, nan="omit")
    xr.testing.assert_allclose(got, ds.coarsen(x=2, y=3, boundary="trim").mean())
    assert list(got) == list(ds)
    assert got.attrs == ds.attrs
    assert got.v.attrs == {"units": "K"}
    xr.testing.assert_identical(got.s, ds.s)
    xr.testing.assert_identical(got.v, cn.avg_pool(ds.v, {"x": 2, "y": 3}, nan="omit"))
    xr.testing.assert_identical(got.n, cn.avg_pool(ds.n, {"x": 2}).drop_vars(()))
    values, indices = cn.max_pool(ds, {"y": 3, "x": 2}, return_indices=True)
    assert list(values) == list(ds)
    assert list(indices) == ["v", "n", "w"]
    xr.testing.assert_identical(indices.v, cn.max_pool(ds.v, {"y": 3, "x": 2}, return_indices=True)[1])
    both = ["v", "n", "w"]
    back = cn.max_unpool(values[both], indices, {"y": 3, "x": 2}, output_shape={"y": 7, "x": 8})
    assert back.v.dims == DIMS
    assert back.n.values.tolist() == [0, 1, 0, 3, 0, 5, 0, 7]
    assert cn.output_shape(ds, {"x": 3}) == {**ds.sizes, "x": 2}
    xr.testing.assert_identical(cn.max_pool(ds[["s", "z"]].assign_coords(x=[1, 2]), {"x": 2}).s, ds.s)
    values, indices = cn.max_pool(ds[["s"]].assign_coords(x=[1, 2]), {"x": 2}, return_indices=True)
    assert (list(values), list(indices)) == (["s"], [])
    called = xr.Dataset({"variable": ("x", [1, 2]), "data": ("x", [3, 4])})
    assert cn.max_pool(called, {"x": 2}).data.values.tolist() == [4]
    filtered = cn.correlate(ds[["v", "s"]], [1.0, 2.0], axes="x", mode="valid")
    np.testing.assert_array_equal(filtered.v, cn.correlate(CUBE, [1.0, 2.0], mode="valid"))


# ---------------------------------------------------------------------------------------------------- laziness


def test_nothing_is_computed_while_a_graph_is_built() -> None:
    x = array(never()).assign_coords(h=(("y", "x"), never((7, 8))), a=("x", never((8,))))
    ds = xr.Dataset({"v": x, "b": ("x", never((8,)))})
    k = np.ones(2)
    for word in ("mean", "first", "last", "min", "max", "center"):
        coord_func = {"h": word, "x": word, "a": word}
        for got in (
            *cn.max_pool(x, {"x": 2, "y": 3}, return_indices=True, coord_func=coord_func),
            cn.avg_pool(ds, {"x": 2}, padding=1, coord_func=coord_func).v,
            cn.adaptive_avg_pool(x, {"x": 3}, coord_func=coord_func),
            cn.correlate(x, k, axes="x", mode="valid", coord_func=coord_func),
            cn.global_max_pool(x, axes="x"),
            cn.conv(x, np.ones((2, 8, 1))),
        ):
            assert isinstance(got.data, da.Array)
            assert "h" not in got.coords or isinstance(got.h.data, da.Array)


def test_lazy_coordinates_are_those_of_arrays() -> None:
    real = array().assign_coords(
        h=(("y", "x"), np.arange(56.0).reshape(7, 8)), when=("x", pd.date_range("2001-02-03", periods=8, unit="s"))
    )
    lazy = real.chunk({"x": 3, "y": 2})
    lazy = lazy.assign_coords(h=real.h.chunk(2), when=real.when.chunk(3))
    for word in ("mean", "first", "last", "min", "max", "center"):
        options: dict[str, Any] = {
            "padding": {"x": 3},
            "ceil_mode": True,
            "coord_func": dict.fromkeys(("h", "when"), word),
        }
        expected, got = (cn.min_pool(x, {"x": 3, "y": 2}, **options) for x in (real, lazy))
        (got,) = computed(got)
        xr.testing.assert_allclose(got, expected)
        np.testing.assert_array_equal(got.when, expected.when)


# ---------------------------------------------------------------------------------------------------- accessor


def test_the_accessor() -> None:
    x = array()
    ds = x.to_dataset()
    xr.testing.assert_identical(
        x.cenote.max_pool({"y": 2}, stride=1, coord_func="last"),
        cn.max_pool(x, {"y": 2}, stride=1, coord_func="last"),
    )
    xr.testing.assert_identical(ds.cenote.avg_pool({"y": 2}), cn.avg_pool(ds, {"y": 2}))
    assert x.cenote.output_shape({"y": 2}) == (5, 3, 8)
    values, indices = x.cenote.max_pool({"y": 2}, return_indices=True)
    assert values.cenote.max_unpool(indices, {"y": 2}).shape == (5, 6, 8)
    assert "DataArray: max_pool, " in repr(x.cenote)
    with pytest.raises(TypeError, match=r"^max_pool: strides=1 is called stride here"):
        x.cenote.max_pool({"y": 2}, strides=1)


def test_the_accessor_has_every_function_of_arrays() -> None:
    of_arrays = {
        name
        for name in cn.__all__
        if name.endswith("pool") or name.startswith(("conv", "corr")) or name == "output_shape"
    }
    assert set(OPERATIONS) == of_arrays
    for name in OPERATIONS:
        method = getattr(cenote.xarray.Accessor, name)
        own = list(inspect.signature(getattr(cn, name)).parameters)[1:]
        shown = [p for p in inspect.signature(method).parameters if p not in ("self", "coord_func")]
        assert shown == [p for p in own if p != "out"]
        assert name in (method.__doc__ or "")


def test_xarray_is_not_there() -> None:
    code = (
        "import sys; sys.modules['xarray'] = None; import numpy as np, cenote as cn\n"
        "try: cn.max_pool(np.zeros(4), {'y': 2})\n"
        "except TypeError as error: print('names' in str(error))\n"
        "try: import cenote.xarray\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    advice = "cenote.xarray needs xarray, which is not installed: pip install 'cenote[xarray]'"
    assert done.stdout.splitlines() == ["True", advice]


def test_xarray_is_imported_by_its_users_only() -> None:
    code = (
        "import sys, numpy as np, cenote as cn; cn.max_pool(np.zeros((4, 4)), (2, 2))\n"
        "try: cn.max_pool(np.zeros((4, 4)), {'y': 2})\n"
        "except TypeError: pass\n"
        "print('xarray' in sys.modules); import xarray\n"
        "a = xarray.DataArray(np.zeros((4, 4)), dims=('y', 'x'))\n"
        "print(cn.max_pool(a, {'y': 2}).shape, hasattr(a, 'cenote')); import cenote.xarray; print(hasattr(a, 'cenote'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["False", "(2, 4) False", "True"]
