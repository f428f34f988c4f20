"""Words and names of other libraries, all of them: none breaks a hint, and what is advised works."""

from __future__ import annotations

import importlib
import inspect
import itertools
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from advice import NAMES, advised
from cenote.arguments.errors import BadType, BadValue
from cenote.arguments.hints import calls, drafts, keywords, names, refusals, words

m2 = NAMES["m"]

# ------------------------------------------------------------------------------------------------ any foreign word

FUNCTIONS = [name for name in cn.__all__ if inspect.isfunction(getattr(cn, name))]
VALUES: list[Any] = [
    2, (2, 2), [1, 2, 2, 1], (1,), 0, -1, True, None, 0.5, "same", "reflect", "NHWC", "max", np.max, max, np.add,
    object(), np.ones((2, 2)), {"a": 1}, {2}, ((1, 1), (1, 1)), np.float32, "", (), float("nan"), 2**70, b"x",
    [object()],
]  # fmt: skip
WORDS = sorted(
    set().union(*words.SYNONYMS.values()) | set(words.SYNONYMS) | set(keywords.RULES) | set(words.LEFT_OUT)
    | {"strid", "foo", "Window", "x_", "kernelsize"}
)  # fmt: skip


SHARE = 7


def arguments_for(name: str) -> tuple[Any, ...]:
    if name.startswith("conv") and name != "convolve":
        return NAMES["c"], NAMES["w"]
    if name in ("correlate", "convolve"):
        return m2, NAMES["k"]
    if name.startswith("global"):
        return (m2,)
    return {"max_unpool": (m2, NAMES["n"], (2, 2)), "pool": (m2, (2, 2), 0, np.add)}.get(name, (m2, (2, 2)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_word_with_any_value_breaks_a_hint(name: str) -> None:
    """Nothing is suppressed here: what fails in a hint fails in this test."""
    function = inspect.unwrap(getattr(cn, name))
    positional = arguments_for(name)
    parameters = inspect.signature(function).parameters
    # Every pair with some function: a share of them with each.
    for word, value in itertools.islice(itertools.product(WORDS, VALUES), FUNCTIONS.index(name) % SHARE, None, SHARE):
        if word not in parameters:
            message = calls.explain(function, positional, {word: value})
            assert message
            assert not re.search(r"unexpected keyword|\(\) takes ", message), message
    for count, value in itertools.product(range(3), VALUES):
        assert calls.explain(function, (*positional[:count], value, value, value, value, value), {})
    for word in WORDS[FUNCTIONS.index(name) % SHARE :: SHARE]:
        if word not in parameters:
            assert calls.explain(function, (), {word: m2})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_value_breaks_a_hint(name: str) -> None:
    function = inspect.unwrap(getattr(cn, name))
    positional = arguments_for(name)
    parameters = list(inspect.signature(function).parameters)
    tried = 0
    for parameter, value in itertools.product(parameters, VALUES):
        options = {parameter: value} if parameter not in parameters[: len(positional)] else {}
        given = tuple(value if name == parameter else x for name, x in zip(parameters, positional, strict=False))
        try:
            function(*given, **options)
        except (BadType, BadValue) as cause:
            try:
                draft = drafts.Draft(function, inspect.signature(function).bind(*given, **options).arguments)
            except TypeError:
                continue
            note = refusals.hint(draft, cause)
            assert note == "" or note.startswith("; ")
            tried += 1
        except Exception:  # another matter
            continue
    assert tried or not {"window", "x"} & set(parameters)


@given(st.data())
def test_advice_for_foreign_words_works_whatever_they_are_together_with(data: st.DataObject) -> None:
    """Words that are only other names for ours, with values that are right: the advised call is right."""
    shape = data.draw(st.sampled_from([(20,), (9, 10), (30, 40, 3), (2, 3, 8, 9), (2, 30, 40, 4)]))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    options: dict[str, Any] = {}
    for ours, values in {"window": (2, 3), "stride": (1, 2), "padding": (0, 1), "dilation": (1, 2)}.items():
        if ours == "window" or data.draw(st.booleans()):
            word = data.draw(st.sampled_from(sorted(words.SYNONYMS[ours] - {"shape"})))
            options[word] = data.draw(st.sampled_from(values))
    name = data.draw(st.sampled_from(["max_pool", "min_pool", "avg_pool", "sum_pool"]))
    with pytest.raises(TypeError) as failure:
        getattr(cn, name)(x, **options)
    message = str(failure.value)
    text = advised(message)
    if text is None:  # one int of skimage and of scipy is the size on every axis, and may not fit on that of a batch
        assert options.keys() & {"block_size", "size"}, message
        assert "does not fit on axis" in message
        return
    result = eval(text, {**NAMES, "x": x})
    assert result.ndim == x.ndim
    assert text.startswith((f"{name}(x, ", f"{name}(np.pad(x, "))  # as scipy.ndimage extends x for size=


# ---------------------------------------------------------------------------------------------------------- names


def example_of(text: str) -> dict[str, Any]:
    """Arrays for an advised call, by the number of its axes."""
    rank = max([1, *(t.count(",") + (not t.rstrip().endswith(",")) for t in re.findall(r"\(([-\d, ]+)\)", text))])
    shape = (8,) * rank
    arrays = {"x": np.ones(shape), "y": np.ones(shape), "indices": np.zeros(shape, int), "k": np.ones((3,) * 1)}
    if "axes=(0, 1)" in text or "for n in k.shape" in text:  # filters of pictures
        arrays |= {"x": np.ones((8, 8)), "k": np.ones(5) if "outer" in text else np.ones((3, 3))}
    if "axes=(1" in text:  # channels are last
        arrays["x"] = np.ones((8,) * 5)
    if "cn.conv(" in text or "conv_transpose" in text:
        arrays |= {"x": np.ones((8, 8, 2)), "w": np.ones((3, 3, 2, 2))}
        if "channels_first" in text:
            arrays |= {"x": np.ones((2, 8, 8)), "w": np.ones((2, 2, 3, 3))}
    if "cn.mode_pool(" in text:
        arrays["x"] = np.ones(shape, int)
    return {**NAMES, "dx": arrays["x"], **arrays, "f": lambda x: (x * x).sum()}


@pytest.mark.parametrize("stem", sorted(names.CALLS))
@pytest.mark.parametrize("dimensions", ["", "1d", "2d", "_3d"])
def test_what_to_write_for_a_name_works(stem: str, dimensions: str) -> None:
    missing = names.missing_name(stem + dimensions, cn.__all__)
    if stem + dimensions in names.NO_CALL:
        assert "write" not in missing
        return
    text = advised(missing) or missing.removeprefix(": write ")
    assert text.removeprefix("-").startswith("cn.")
    with cn.num_threads(2):
        eval(text, example_of(text))


NAMED = {
    "max_pool2d": "cn.max_pool(x, (2, 2))",
    "max_pool1d": "cn.max_pool(x, (2,))",
    "MaxPool2d": "cn.max_pool(x, (2, 2))",
    "MaxPooling2D": "cn.max_pool(x, (2, 2), axes=(1, 2))",
    "maxpool3d": "cn.max_pool(x, (2, 2, 2))",
    "mean_pool": "cn.avg_pool(x, (2, 2))",
    "average_pool": "cn.avg_pool(x, (2, 2))",
    "avg_pool2d": "cn.avg_pool(x, (2, 2))",
    "AveragePooling1D": "cn.avg_pool(x, (2,), axes=(1,))",
    "GlobalAveragePooling2D": "cn.global_avg_pool(x, axes=(1, 2)).squeeze((1, 2))",
    "max_pool4d": "cn.max_pool(x, (2, 2, 2, 2))",
    "AdaptiveAvgPool2d": "cn.adaptive_avg_pool(x, (2, 2))",
    "adaptive_average_pool": "cn.adaptive_avg_pool(x, (2, 2))",
    "conv2d": "cn.conv(x, w)",
    "Conv2DTranspose": "cn.conv_transpose(x, w)",
    "Conv2d": "cn.conv(x, w, layout='channels_first')",
    "Conv2D": "cn.conv(x, w)",
    "conv_transpose2d": "cn.conv_transpose(x, w, layout='channels_first')",
    "conv_nd": "cn.conv(x, w)",
    "convolve2d": "cn.convolve(x, k)",
    "block_reduce": "cn.sum_pool(x, (2, 2), ceil_mode=True)",
    "maximum_filter": "cn.max_pool(x, (3, 3), stride=1, padding='same')",
    "maximum_filter1d": "cn.max_pool(x, (3,), stride=1, padding='same')",
    "uniform_filter": "cn.avg_pool(np.pad(x, 3 // 2, 'symmetric'), (3, 3), stride=1)",
    "reduce_window": "cn.pool(x, (2, 2), 0, np.add)",
    "conv2": "cn.convolve(x, k)",
    "medfilt2": "cn.median_pool(np.pad(x, 3 // 2), (3, 3), stride=1)",
    "pool2d": "cn.max_pool(x, (2, 2))",
    "cache_clear": "cn.clear_cache()",
    "argmax_pool": "cn.max_pool(x, (2, 2), return_indices=True)",
    "output_size": "cn.output_shape((8, 8), (2, 2))",
    "MaxUnpool2d": "cn.max_unpool(y, indices, (2, 2))",
}


@pytest.mark.parametrize(("name", "call"), NAMED.items())
def test_names_of_other_libraries(name: str, call: str) -> None:
    with pytest.raises(AttributeError) as failure:
        getattr(cn, name)
    message = str(failure.value)
    assert message.startswith(f"module 'cenote' has no attribute '{name}': write ")
    assert advised(message.partition(", or cn.dialects")[0].partition(", or cenote.torch")[0]) == call
    assert not hasattr(cn, name)


def test_a_name_that_a_dialect_has() -> None:
    with pytest.raises(AttributeError, match=r", or cn\.dialects\.torch\.max_pool2d with the arguments of torch$"):
        cn.max_pool2d  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r", or cn\.dialects\.mygrad\.conv_nd with the arguments of mygrad$"):
        cn.conv_nd  # type: ignore[attr-defined]  # noqa: B018


def test_names_that_are_imported() -> None:
    for name in ("max_pool2d", "MaxPool2d", "mean_pool", "max_pol"):
        with pytest.raises(ImportError, match=rf"^cannot import name '{name}' from 'cenote': write cn\.\w+"):
            exec(f"from cenote import {name}")
        with pytest.raises(ImportError, match="cannot import name"):
            exec(f"from cenote import max_pool, {name} as mine")
    with pytest.raises(ImportError, match=r"^cannot import name 'nonsense' from 'cenote' \("):  # Python's own
        exec("from cenote import nonsense")
    exec("from cenote import cli, max_pool; import cenote.cli")  # modules and functions


def test_dialects_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'keras': there are d2l, flax, "):
        cn.dialects.keras  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(("fn", "name"), [(np.median, "median_pool"), ("mode", "mode_pool")])
def test_functions_of_all_elements(fn: Any, name: str) -> None:
    with pytest.raises(TypeError) as failure:
        cn.pool(NAMES["n"], (2, 2), 0, fn)
    text = advised(str(failure.value))
    assert text is not None
    assert name in text
    assert eval(text, {**NAMES, "x": NAMES["n"]}).shape == (3, 3)


@pytest.mark.parametrize("name", ["flax", "nabla", "mygrad", "d2l", "torchlean"])
def test_names_of_dialects(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}': write cn\.dialects\.{name}$") as failure:
        getattr(cn, name)
    assert eval(str(failure.value).partition("write ")[2], {"cn": cn}).__name__ == f"cenote.dialects.{name}"


def test_nn_is_a_module() -> None:
    with pytest.raises(AttributeError, match=r"'nn': write import cenote\.torch as nn, or from") as failure:
        cn.nn  # type: ignore[attr-defined]  # noqa: B018
    first, second = str(failure.value).partition("write ")[2].split(", or ")
    exec(f"{first}\nnn.MaxPool2d\n{second}\nnn.max_pool", {})


@pytest.mark.parametrize(("name", "hint"), names.IN_OTHERS.items())
def test_modules_of_other_libraries(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': ") as failure:
        getattr(cn, name)
    assert str(failure.value).endswith(hint)
    if hint.startswith("write import"):
        exec(hint.partition("write ")[2].partition(",")[0], {})
    elif hint.startswith("write "):
        assert eval(hint.removeprefix("write "), {"cn": cn}).max_pool


def test_a_misspelt_name() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'max_pol': write cn\.max_pool$"):
        cn.max_pol  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("boundary", ["symm", "wrap"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4)])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_boundaries_give_what_scipy_signal_gives(name: str, shape: tuple[int, int], boundary: str, mode: str) -> None:
    k = np.random.default_rng(4).standard_normal(shape)
    with pytest.raises(TypeError, match="boundary=") as failure:
        getattr(cn, name)(m2, k, mode=mode, boundary=boundary)
    got = eval(advised(str(failure.value)) or "", {**NAMES, "x": m2, "k": k})
    theirs = getattr(scipy.signal, f"{name}2d")(m2, k, mode=mode, boundary=boundary)
    np.testing.assert_allclose(got, theirs, rtol=1e-12, atol=1e-12)


def test_names_of_modules() -> None:
    code = """
import cenote as cn
for name in ('jax', 'xarray', 'torch'):
    try:
        getattr(cn, name)
    except AttributeError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.findall("write (.*)", run.stdout) == ["import cenote.jax", "import cenote.xarray", "import cenote.torch"]


@pytest.mark.parametrize(
    "name",
    ["relu", "softmax", "nonsense", "__wrapped__", "_x", "std_unpool", "avg_unpool", "min_unpool", "linear"],
)
def test_names_of_which_nothing_is_known(name: str) -> None:
    with pytest.raises(AttributeError, match=f"^module 'cenote' has no attribute '{name}'$"):
        getattr(cn, name)


def test_attributes_of_tensors() -> None:
    x = cn.Tensor([1.0])
    for name, ours in words.TENSOR_ATTRIBUTES.items():
        assert hasattr(x, ours.partition(",")[0])
        with pytest.raises(AttributeError, match=f"Tensor has no attribute '{name}': write .{ours}$"):
            getattr(x, name)
    for name, call in {"exp": "np.exp(x)", "relu": "np.maximum(x, 0)", "max_pool": "cn.max_pool(x, …)"}.items():
        with pytest.raises(AttributeError, match=f"^Tensor has no attribute '{name}': write {re.escape(call)}$"):
            getattr(x, name)
    with pytest.raises(AttributeError, match=r"^Tensor has no attribute 'nonsense'$"):
        x.nonsense  # noqa: B018


IN_MODULES = {
    "cenote.dialects.flax.nnx.max_pooling": ": write cn.dialects.flax.nnx.max_pool",
    "cenote.dialects.flax.linen.MaxPool": ": write cn.dialects.flax.linen.max_pool",
    "cenote.dialects.flax.avg_pol": ": write cn.dialects.flax.avg_pool",
    "cenote.dialects.flax.sum_pool": ": write cn.sum_pool",
    "cenote.dialects.flax.Conv": ": write cn.conv(x, w)",
    "cenote.dialects.flax.relu": ": there are avg_pool, max_pool, min_pool and pool",
    "cenote.dialects.torch.max_pool4d": (
        ": there are max_pool1d, max_pool2d and max_pool3d; write cn.max_pool(x, (2, 2, 2, 2))"
    ),
    "cenote.dialects.torch.max_pool": ": there are max_pool1d, max_pool2d and max_pool3d; write cn.max_pool",
    "cenote.dialects.torch.MaxPool2d": (
        ": there is no such layer here, only the function: write cn.dialects.torch.max_pool2d"
    ),
    "cenote.dialects.torch.min_pool2d": ": write cn.min_pool(x, (2, 2))",
    "cenote.dialects.torch.relu": "",
    "cenote.dialects.nabla.max_pool": ": write cn.dialects.nabla.max_pool2d",
    "cenote.dialects.nabla.conv2d_t": ": write cn.dialects.nabla.conv2d_transpose",
    "cenote.dialects.nabla.Tensors": ": write cn.dialects.nabla.Tensor",
    "cenote.dialects.nabla.conv1d": (
        ": there is conv2d; write cn.conv(x, w) where channels are last, or cn.dialects.torch.conv1d with the "
        "arguments of torch"
    ),
    "cenote.dialects.torchlean.maxpool": ": write cn.dialects.torchlean.max_pool",
    "cenote.dialects.torchlean.max_pool_2d_spec": ": write cn.dialects.torchlean.max_pool_spec",
    "cenote.dialects.torchlean.global_avg_pool": ": write cn.dialects.torchlean.global_avg_pool_spec",
    "cenote.dialects.d2l.pool": ": write cn.dialects.d2l.pool2d",
    "cenote.dialects.d2l.jax.pool": ": write cn.dialects.d2l.jax.pool2d",
    "cenote.dialects.d2l.corr2d": ": there is pool2d",
    "cenote.dialects.mygrad.conv2d": ": write cn.dialects.mygrad.conv_nd",
    "cenote.dialects.mygrad.nnet.avg_pool": ": write cn.avg_pool",
    "cenote.dialects.mygrad.nnet.layers.conv": ": write cn.dialects.mygrad.nnet.layers.conv_nd",
    "cenote.torch.MaxPol2d": ": write cenote.torch.MaxPool2d",
    "cenote.torch.Conv2d": ": there is no such layer here, only the function: write cenote.torch.conv2d",
    "cenote.torch.MaxPool4d": ": there are MaxPool1d, MaxPool2d and MaxPool3d; write cn.max_pool(x, (2, 2, 2, 2))",
}


@pytest.mark.parametrize(("path", "hint"), IN_MODULES.items())
def test_names_that_a_dialect_does_not_have(path: str, hint: str) -> None:
    module, _, name = path.rpartition(".")
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as failure:
        getattr(importlib.import_module(module), name)
    assert str(failure.value) == f"module '{module}' has no attribute '{name}'{hint}"
    kind = "cannot import name" if hint else "cannot import name .* \\("  # Python's own
    with pytest.raises(ImportError, match=kind) as failed:
        exec(f"from {module} import {name}")
    assert str(failed.value).endswith(hint or ")")
    if "write " in hint:
        text = advised(hint) or hint.partition("write ")[2]
        arrays = {"x": np.ones((2, 3, 8, 9)), "w": np.ones((1, 1, 9, 2))}
        assert eval(text, {**NAMES, **arrays, "cenote": cn}) is not None


@pytest.mark.parametrize("name", sorted({path.rpartition(".")[0] for path in IN_MODULES}))
def test_names_that_tools_ask_modules_for(name: str) -> None:
    module = importlib.import_module(name)
    assert not hasattr(module, "__wrapped__")
    with pytest.raises(AttributeError, match=r"has no attribute '_x'$"):
        module._x  # noqa: B018
