"""The flax dialect vs. flax and, where flax is wrong, vs. the rules."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cenote as cn
from cenote.dialects import flax
from flax_oracle import FUNCTIONS, Answer, Question, ask, cotangent

SIZES = (7, 6, 5)
BATCHES = ((), (2,), (2, 3))
WINDOWS = ((2,), (3,), (9,), (2, 3), (3, 1), (2, 2, 2))
STRIDES = (None, 2, 3, 1)
# As many as the window has axes are taken.
PADDINGS: tuple[Any, ...] = (
    "VALID",
    "SAME",
    "same_lower",
    ((1, 2), (0, 1), (2, 0)),
    ((4, 0), (3, 5), (0, 2)),
    ((-1, 3), (2, -2), (0, -1)),
    ((-2, -1), (0, 0), (-1, 1)),
)


def normal(*shape: int) -> Any:
    return np.random.default_rng(list(shape)).normal(size=shape)


def grid() -> Iterator[Question]:
    """Every window with every padding in every function; batch axes, strides and divisors take turns."""
    batches, strides, flags = itertools.cycle(BATCHES), itertools.cycle(STRIDES), itertools.cycle((True, False))
    for window, padding in itertools.product(WINDOWS, PADDINGS):
        rank, step = len(window), next(strides)
        stride = None if step is None else (step,) * rank
        pads = padding if isinstance(padding, str) else padding[:rank]
        for function, flag in (("max_pool", None), ("min_pool", None), ("avg_pool", next(flags))):
            x = normal(*next(batches), *SIZES[:rank], 2)
            yield Question(function, x, window, stride, pads, flag, seed=rank, dx=normal(*x.shape[::-1]).T)
    for function, strides_given, padding in (("max_pool", (), "SAME"), ("avg_pool", None, ()), ("min_pool", (), ())):
        yield Question(function, normal(5), (), strides_given, padding, seed=0, dx=normal(5) + 1)


def ties() -> Iterator[Question]:
    """Few values, many ties: the vjp of flax follows the first element, its jvp does not."""
    x = np.random.default_rng(3).integers(0, 3, (2, 9, 8, 2)).astype(float)
    paddings: tuple[Any, ...] = ("VALID", "SAME", ((2, 1), (0, 3)))
    for function, padding in itertools.product(("max_pool", "min_pool"), paddings):
        yield Question(function, x, (3, 2), (2, 1), padding, seed=5)


def dtypes() -> Iterator[Question]:
    kinds = (bool, "i1", "u1", "i2", "u4", "i8", "u8", "f2", ml_dtypes.bfloat16, "f4", "f8", "c8", "c16")
    for kind in kinds:
        x = (10 * normal(1, 6, 5, 2)).astype(int).astype(kind)
        if x.dtype.kind == "c":
            x = (x + 1j * normal(1, 6, 5, 2).round()).astype(kind)
        yield Question("max_pool", x, (2, 3), None, ((3, 0), (0, 2)))
        yield Question("min_pool", x, (2, 3), None, ((0, 0), (1, 4)))
        if x.dtype != bool:  # which flax refuses
            yield Question("avg_pool", (x % 5 if x.dtype.kind in "iu" else x), (2, 3), None, "SAME", True)


def special() -> Iterator[Question]:
    x = normal(1, 9, 2)
    x[0, 2, 0], x[0, 5, 1], x[0, 7:, 0] = np.nan, np.inf, -np.inf
    empty = (np.zeros((0, 4, 2)), np.zeros((2, 4, 0)), np.zeros((2, 0, 3)))
    for function in ("max_pool", "min_pool", "avg_pool"):
        for padding in ("VALID", "SAME", ((1, 3),)):
            yield Question(function, x, (3,), (2,), padding)
        for cropped in (((-9, 12),), ((12, -10),), ((-12, 3),), ((-3, -6),)):  # all of it, and more
            yield Question(function, x, (2,), None, cropped)
    around: tuple[Any, ...] = ("SAME", ((1, 3),))
    for y, pads in itertools.product(empty, around):
        yield Question("max_pool", y, (2,), None, pads, seed=1, dx=y)
        yield Question("avg_pool", y, (2,), None, pads, False, seed=1, dx=y)


def reducers() -> Iterator[Question]:
    x = normal(2, 6, 5, 2)
    every = ("VALID", "SAME", ((2, 1), (0, 3)), ((-1, 1), (0, -2)))
    for padding in every:
        for init, name in ((0.0, "add"), (-np.inf, "maximum"), (np.inf, "minimum")):
            directions = {} if "-" in str(padding) and init else {"seed": 7, "dx": normal(2, 5, 6, 2).swapaxes(1, 2)}
            yield Question("pool", x, (2, 3), (2, 1), padding, reducer=(init, name), **directions)
            yield Question("pool", np.arange(24).reshape(1, 4, 3, 2), (2, 3), None, padding, reducer=(init, name))
        yield Question("pool", x, (2, 3), (1, 2), padding, reducer=(3.0, "add"))
        yield Question("pool", x, (2, 3), (1, 2), padding, reducer=(0.5, "maximum"))
        yield Question("pool", x, (2, 3), None, padding, reducer=(1.0, "multiply"), dx=x + 1)
    yield Question("pool", x, (2, 2), None, "VALID", reducer=(0.0, "subtract"))
    yield Question("pool", x, (), (), "VALID", reducer=(1.0, "multiply"))


QUESTIONS = [*grid(), *ties(), *dtypes(), *special(), *reducers()]


@pytest.fixture(scope="module")
def oracle() -> tuple[list[Answer], dict[str, str]]:
    return ask(QUESTIONS)


def call_of(question: Question) -> Any:
    arguments = question.arguments(np, str)
    return lambda x: getattr(flax, question.function)(x, *arguments)


def close(got: Any, expected: Any) -> None:
    """The same dtype and shape, and the same values up to rounding, or exactly where nothing is rounded."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    exact = got.dtype.kind in "biu"
    tolerance = 0.0 if exact else 50 * float(ml_dtypes.finfo(got.dtype).eps)  # type: ignore[no-untyped-call]
    wide = np.complex128 if got.dtype.kind == "c" else got.dtype if exact else np.float64
    np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("number", range(len(QUESTIONS)), ids=[str(question) for question in QUESTIONS])
def test_it_is_what_flax_gives(number: int, oracle: tuple[list[Answer], dict[str, str]]) -> None:
    question, answer = QUESTIONS[number], oracle[0][number]
    call, x = call_of(question), question.x
    y = call(x)
    assert type(y) is np.ndarray
    close(y, answer.y)
    if answer.vjp is not None and question.seed is not None:
        close(cn.vjp(call, x)[1](cotangent(question.seed, y.shape))[0], answer.vjp)
    if answer.jvp is not None:
        # flax divides 0 by 0 for windows without a real element, in the tangent too; they have no derivative.
        expected = np.where(np.isnan(answer.y), 0, answer.jvp) if question.count_include_pad is False else answer.jvp
        close(cn.jvp(call, (x,), (question.dx,))[1], expected)


def test_the_grid_is_a_grid(oracle: tuple[list[Answer], dict[str, str]]) -> None:
    """Derivatives were compared, empty axes and windows without an element were met."""
    answers = oracle[0]
    assert len(answers) == len(QUESTIONS) > 200
    assert sum(a.vjp is not None for a in answers) > 130
    assert sum(a.jvp is not None for a in answers) > 130
    assert sum(a.y.size == 0 for a in answers) > 20
    assert sum(bool(np.isneginf(a.y.astype(complex).real).any()) for a in answers) > 20


def test_signatures(oracle: tuple[list[Answer], dict[str, str]]) -> None:
    for name in FUNCTIONS:
        signature = inspect.signature(getattr(flax, name))
        bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
        text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
        assert text == oracle[1][name]
    assert flax.__all__ == sorted(FUNCTIONS)


# -------------------------------------------------------------------------------- where flax is wrong, or stops


def test_explicit_padding_with_many_batch_axes() -> None:
    x = normal(2, 3, 4, 7, 2)
    y = flax.max_pool(x, (3,), (2,), ((1, 2),))
    assert y.shape == (2, 3, 4, 4, 2)
    np.testing.assert_array_equal(y[1, 2], flax.max_pool(x[1, 2], (3,), (2,), ((1, 2),)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_averages_keep_the_dtype_of_floats(dtype: Any) -> None:
    x = np.full((1, 64, 64, 1), 40000, dtype)  # summed in float16, they would be infinite
    for include in (True, False):
        y = flax.avg_pool(x, (64, 64), count_include_pad=include)
        assert y.dtype == dtype
        assert y.item() == float(x[0, 0, 0, 0])


def test_averages_of_integers_do_not_wrap() -> None:
    y = flax.avg_pool(np.full((1, 2, 1), 100, np.int8), (2,))
    assert (y.item(), y.dtype) == (100.0, np.float64)
    assert flax.avg_pool(np.array([[[True], [False]]]), (2,)).item() == 0.5


def test_a_window_of_one_element_crops_too() -> None:
    """For which XLA aborts the process."""
    x = np.arange(5.0).reshape(1, 5, 1)
    assert flax.max_pool(x, (1,), None, ((-1, -2),)).ravel().tolist() == [1, 2]
    assert flax.avg_pool(x, (1,), (2,), ((-1, 1),)).ravel().tolist() == [1, 3, 0]


@pytest.mark.parametrize(
    ("elements", "selected"),
    [([1, np.nan, 5, np.nan, 2], 1), ([-np.inf, -np.inf], 0), ([3, 7, 7], 1), ([-0.0, 0.0], 0)],
)
def test_both_modes_follow_the_first_of_tied_elements(elements: list[float], selected: int) -> None:
    x, units = np.array(elements, float).reshape(1, -1, 1), np.eye(len(elements))

    def call(x: Any) -> Any:
        return flax.max_pool(x, (9,), (9,), ((9 - len(elements), 0),))  # padding first, which must not win

    (cotangent_of_x,) = cn.vjp(call, x)[1](np.ones((1, 1, 1)))
    assert cotangent_of_x.ravel().tolist() == units[selected].tolist()
    pushed = [cn.jvp(call, (x,), (unit.reshape(x.shape),))[1].item() for unit in units]
    assert pushed == units[selected].tolist()


def test_lists_are_sequences_too() -> None:
    x = normal(1, 5, 1)
    expected = flax.max_pool(x, (2,), (2,), ((1, 0),))
    np.testing.assert_array_equal(flax.max_pool(x, [2], [2], [[1, 0]]), expected)  # type: ignore[list-item]
    np.testing.assert_array_equal(flax.max_pool(x.tolist(), np.array([2]), range(2, 3), [(1, 0)]), expected)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- by the numbers


def test_the_book_s_examples() -> None:
    """d2l calls flax on arange(16), with zeros around it for padding."""
    x = np.arange(16.0, dtype=np.float32).reshape(1, 4, 4, 1)
    assert flax.max_pool(x, (3, 3), strides=(3, 3)).tolist() == [[[[10.0]]]]
    low = np.pad(x, ((0, 0), (1, 0), (1, 0), (0, 0)))
    assert flax.max_pool(low, (3, 3), (2, 2), "VALID").squeeze().tolist() == [[5, 7], [13, 15]]
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    assert flax.max_pool(wide, (2, 3), (2, 3), "VALID").squeeze().tolist() == [[5, 7], [13, 15]]
    two = np.concatenate([low, np.pad(x + 1, ((0, 0), (1, 0), (1, 0), (0, 0)))], 3)
    assert flax.max_pool(two, (3, 3), (2, 2)).reshape(4, 2).tolist() == [[5, 6], [7, 8], [13, 14], [15, 16]]


@pytest.mark.parametrize(
    ("n", "k", "s", "low", "high"),
    [
        (5, 2, 2, 0, 1),
        (5, 3, 2, 1, 1),
        (4, 3, 2, 0, 1),
        (5, 2, 1, 0, 1),
        (6, 2, 3, 0, 0),
        (7, 1, 3, 0, 0),
        (4, 2, 3, 0, 1),
    ],
)
def test_how_same_splits_its_padding(n: int, k: int, s: int, low: int, high: int) -> None:
    x = normal(1, n, 1)
    for name, pair in (("SAME", (low, high)), ("SAME_LOWER", (high, low))):
        np.testing.assert_array_equal(flax.avg_pool(x, (k,), (s,), name), flax.avg_pool(x, (k,), (s,), (pair,)))


def test_folds() -> None:
    x = np.array([[1.0, 2.0], [4.0, 5.0]]).reshape(1, 2, 2, 1)
    assert flax.pool(x, 0.0, np.subtract, (2, 2), None, "VALID").item() == -12
    line = np.array([3.0, 6.0]).reshape(1, 2, 1)
    assert flax.pool(line, 5.0, np.add, (3,), None, "SAME").ravel().tolist() == [14, 14]  # init once, pads skipped
    assert flax.pool(line, 5.0, np.add, (1,), (2,), ((2, 0),)).ravel().tolist() == [5, 8]  # a window without an element
    assert flax.pool(line, 2.0, lambda a, b: a * b, (), None, "VALID").ravel().tolist() == [6, 12]


@pytest.mark.parametrize("kind", [float, np.float32, np.array])
def test_an_init_that_changes_nothing_fits_every_dtype(kind: Any) -> None:
    x = np.array([3, 1, 2], np.uint8).reshape(1, 3, 1)
    inits = {np.maximum: (-np.inf, [0, 3, 3, 2]), np.minimum: (np.inf, [255, 3, 1, 1]), np.add: (0.0, [0, 3, 4, 3])}
    for ufunc, (init, expected) in inits.items():
        y = flax.pool(x, kind(init), ufunc, (2,), None, ((2, 0),))
        assert (y.ravel().tolist(), y.dtype) == (expected, np.uint8)


# ------------------------------------------------------------------------------------------------------- Tensors


def test_tensors_in_tensors_out() -> None:
    x = cn.Tensor(np.arange(16.0).reshape(1, 4, 4, 1))
    y = flax.max_pool(x, (2, 2), (2, 2))
    assert isinstance(y, cn.Tensor)
    assert not y.constant
    y.sum().backward()
    assert x.grad is not None
    assert np.flatnonzero(x.grad).tolist() == [5, 7, 13, 15]
    assert isinstance(flax.avg_pool(cn.Tensor(np.arange(3).reshape(3, 1)), (2,)), cn.Tensor)


@pytest.mark.parametrize("padding", ["VALID", ((-3, 0),), ((0, -1),)])
def test_an_empty_axis_has_an_empty_derivative(padding: Any) -> None:
    x = cn.Tensor(normal(2, 3, 1))
    y = flax.min_pool(x, (4,), None, padding)
    assert (type(y), y.shape) == (cn.Tensor, (2, 0, 1))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, np.zeros((2, 3, 1)))


def test_second_derivatives() -> None:
    x = np.arange(9.0).reshape(1, 3, 3, 1)

    def f(x: Any) -> Any:
        return (flax.max_pool(x, (2, 2)) ** 2).sum()

    def slope(x: Any) -> Any:
        return cn.grad(f)(x).sum()

    assert cn.grad(slope)(x).sum() == 8


def test_a_function_without_a_derivative_says_so() -> None:
    x = cn.Tensor(normal(1, 3, 1))
    y = flax.pool(x, 0.0, lambda a, b: a + b, (2,), None, "VALID")
    assert isinstance(y, cn.Tensor)
    with pytest.raises(TypeError, match=r"cn\.reducer"):
        y.sum().backward()
