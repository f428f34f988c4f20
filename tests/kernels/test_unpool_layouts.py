"""Unpooling and its adjoint in every memory order, with indices that are skipped and indices that occur twice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cenote import core

SHAPE = (2, 3, 4, 3)
AXES = [(2, 3), (1, 2), (3, 2), (0, 3), (1,), (3,), (0, 1, 2), (2, 0, 3)]


def in_order(x: np.ndarray[Any, Any], order: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The same array, its axes in memory in another order."""
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def slow(
    y: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], axes: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The result, and which element of ``y`` each of its elements comes from, counted from 1."""
    full = list(y.shape)
    for axis, size in zip(axes, sizes, strict=True):
        full[axis] = size
    out, source = np.zeros(full, y.dtype), np.zeros(full, int)
    last = tuple(range(-len(axes), 0))
    names = np.arange(1, y.size + 1).reshape(y.shape)
    moved = [np.moveaxis(a, axes, last) for a in (y, indices, names)]
    to, of = np.moveaxis(out, axes, last), np.moveaxis(source, axes, last)
    for at in np.ndindex(moved[0].shape):  # row-major over the pooled axes
        value, index, name = (a[at] for a in moved)
        if index >= 0:
            place = (*at[: y.ndim - len(axes)], *np.unravel_index(index, sizes))
            to[place], of[place] = value, name
    return out, source


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("kind", ["all different", "some skipped", "some twice"])
def test_every_memory_order(axes: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    sizes = tuple(SHAPE[axis] + 2 for axis in axes)
    rows = int(np.prod([SHAPE[axis] for axis in axes]))
    batch = [n for i, n in enumerate(SHAPE) if i not in axes]
    number = int(np.prod(sizes))
    drawn = np.array([rng.permutation(number)[:rows] for _ in range(int(np.prod(batch)))])
    if kind == "some skipped":
        drawn[rng.random(drawn.shape) < 0.3] = -1
    if kind == "some twice":
        drawn //= 3
    shape = (*batch, *(SHAPE[axis] for axis in axes))
    indices = np.moveaxis(drawn.reshape(shape), tuple(range(-len(axes), 0)), axes)
    y = rng.standard_normal(SHAPE).astype(np.float32)
    expected, source = slow(y, indices, axes, sizes)
    g = rng.standard_normal(expected.shape).astype(np.float32)
    named = np.zeros(y.size + 1, np.float32)
    named[source] = g  # those that stay
    gradient = named[1:].reshape(y.shape)
    for order, other in itertools.product(itertools.permutations(range(4)), [(0, 1, 2, 3), (0, 2, 3, 1)]):
        out = core.unpool(in_order(y, order), in_order(indices, other), axes, sizes)
        np.testing.assert_array_equal(out, expected)
        back = core.unpool_gather(in_order(g, other), in_order(indices, order), axes, sizes)
        np.testing.assert_array_equal(back, gradient)


def test_channels_last_stays() -> None:
    y = np.zeros((2, 4, 4, 8), np.float32).transpose(0, 3, 1, 2)
    out = core.unpool(y, np.zeros(y.shape, np.int64), (2, 3), (8, 8))
    assert out.transpose(0, 2, 3, 1).flags.c_contiguous


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 2, 0)])
def test_nothing_to_unpool(shape: tuple[int, ...]) -> None:
    y, indices = np.zeros(shape), np.zeros(shape, np.int64)
    out = core.unpool(y, indices, (1, 2), (4, 5))
    assert out.shape == (shape[0], 4, 5)
    assert not out.any()
    assert core.unpool_gather(out, indices, (1, 2), (4, 5)).shape == shape
