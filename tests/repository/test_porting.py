"""docs/porting.md says what is true: both sides of every row are evaluated, with the library that it is about.
The table of defaults is tested in test_porting_defaults.py.

A table with two columns has calls that give equal results. One with three has a difference: each call, an arrow and its
result, or the error that it raises.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote as cn

PAGE = (Path(__file__).parents[2] / "docs" / "porting.md").read_text(encoding="utf-8")


def random(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape)


def complex_random(*shape: int) -> Any:
    return random(2, *shape)[0] + 1j * random(2, *shape)[1]


def numpy_names() -> dict[str, Any]:
    from numpy.lib.stride_tricks import sliding_window_view

    names = {"x": random(8, 12), "k": random(3, 3), "z": complex_random(12), "c": complex_random(3)}
    return {**names, "sliding_window_view": sliding_window_view}


def torch_names() -> dict[str, Any]:
    import torch
    import torch.nn.functional as F  # noqa: N812

    x, w, v = (torch.from_numpy(random(*shape)) for shape in ((2, 3, 8, 8), (6, 3, 3, 3), (3, 6, 3, 3)))
    y, i = F.max_pool2d(x, 2, return_indices=True)
    return {"F": F, "t": torch.tensor, "x": x, "w": w, "v": v, "y": y, "i": i}


def jax_names() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp
    from flax import nnx
    from jax import lax

    x, w, y = (jnp.asarray(random(*shape), "f") for shape in ((2, 8, 8, 3), (3, 3, 3, 6), (2, 4, 4, 6)))
    return {"jax": jax, "jnp": jnp, "lax": lax, "nnx": nnx, "x": x, "w": w, "y": y}


def mygrad_names() -> dict[str, Any]:
    from mygrad.nnet.layers import conv_nd, max_pool

    return {"max_pool": max_pool, "conv_nd": conv_nd, "x": random(2, 3, 8, 8), "w": random(6, 3, 3, 3)}


def nabla_names() -> dict[str, Any]:
    import cenote.dialects.nabla as nb

    return {"nb": nb, "x": random(2, 8, 8, 3), "w": random(3, 3, 3, 6), "v": random(3, 3, 5, 3)}


def scipy_names() -> dict[str, Any]:
    from scipy import ndimage, signal

    names = {"x": random(9, 11), "k": random(3, 3), "z": complex_random(9, 11), "c": complex_random(3, 3)}
    return {**names, "ndimage": ndimage, "signal": signal}


def skimage_names() -> dict[str, Any]:
    from skimage.measure import block_reduce
    from skimage.transform import downscale_local_mean
    from skimage.util import view_as_windows

    names = {"block_reduce": block_reduce, "downscale_local_mean": downscale_local_mean}
    return {**names, "view_as_windows": view_as_windows, "x": random(4, 6)}


def opencv_names() -> dict[str, Any]:
    import cv2

    image = np.random.default_rng(1).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    gray = np.ascontiguousarray(image[:, :, 0])
    return {"cv2": cv2, "image": image, "gray": gray, "f": gray.astype("f"), "k": random(3, 3).astype("f")}


def xarray_names() -> dict[str, Any]:
    import xarray as xr

    sizes = {"time": 6, "y": 8, "x": 9}
    coords = {name: np.arange(float(n)) for name, n in sizes.items()}
    return {"da": xr.DataArray(random(*sizes.values()), coords, tuple(sizes))}


NAMES: dict[str, Callable[[], dict[str, Any]]] = {
    "NumPy": numpy_names, "torch": torch_names, "flax": jax_names, "JAX": jax_names, "mygrad": mygrad_names,
    "nabla": nabla_names, "SciPy": scipy_names, "scikit-image": skimage_names, "OpenCV": opencv_names,
    "xarray": xarray_names,
}  # fmt: skip


def rows_of(library: str) -> list[tuple[str, ...]]:
    section = PAGE.partition(f"\n## {library}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and not re.match(r"\|[-|]*$", line)]
    cells = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]
    return [row for row in cells if row[-1] != "cenote"]


ROWS = [(library, row) for library in NAMES for row in rows_of(library)]


def test_every_section_has_rows() -> None:
    sections = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert sections == ["Defaults", *NAMES, "Common mistakes"]
    assert {library for library, _ in ROWS} == set(NAMES)
    assert len(ROWS) > 80


def value_of(code: str, library: str) -> Any:
    result = eval(code, {"np": np, "cn": cn, "nan": np.nan, "inf": np.inf, **NAMES[library]()})
    return getattr(result, "data", result) if library == "mygrad" else result


def check_equal(theirs: Any, ours: Any, library: str) -> None:
    assert np.shape(ours) == np.shape(theirs)
    rtol = 2e-5 if library in ("flax", "JAX", "OpenCV") else 1e-12  # single precision there
    # Complex on both sides: a conversion to double would drop what a conjugation changes.
    np.testing.assert_allclose(np.asarray(ours, "D"), np.asarray(theirs, "D"), rtol=rtol, atol=rtol)
    if hasattr(theirs, "coords"):
        for name in theirs.coords:
            np.testing.assert_array_equal(ours[name], theirs[name])


@pytest.mark.parametrize(("library", "row"), ROWS, ids=lambda value: value if isinstance(value, str) else value[-2])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_both_sides_of_a_row(library: str, row: tuple[str, ...]) -> None:
    if len(row) == 2:
        theirs, ours = (re.fullmatch(r"`(.*)`", cell) for cell in row)
        assert theirs
        assert ours
        check_equal(value_of(theirs[1], library), value_of(ours[1], library), library)
        return
    for cell in row[1:]:
        found = re.fullmatch(r"`(.*)` → `([^`]*)`(,.*)?", cell)
        assert found, cell
        code, result = found[1], found[2]
        error = getattr(builtins, result, None)
        if isinstance(error, type) and issubclass(error, Exception):
            with pytest.raises(error):
                value_of(code, library)
        else:
            literal = eval(result, {"nan": np.nan, "inf": np.inf})
            np.testing.assert_array_equal(np.asarray(value_of(code, library), "D").round(4), np.asarray(literal, "D"))
