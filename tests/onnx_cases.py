"""The conformance cases that the onnx package carries: built in memory per operator, or stored as files.

Nothing is loaded on import. The package computes most expected outputs of a node module with plain Python
loops while that module is imported, which takes seconds that a run of other tests should not pay for.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper

Array = NDArray[Any]
Attributes = dict[str, Any]
Operator = Callable[[Sequence[Array], Attributes, int], tuple[Array, ...]]

STORED_KINDS = ("pytorch-converted", "pytorch-operator")


@dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    rtol: float
    atol: float

    @property
    def operators(self) -> set[str]:
        return operators_of(self.model)


def operators_of(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node}


def listed(suite: Mapping[str, tuple[str, tuple[str, ...]]]) -> list[Any]:
    """The module, operator and name of every case of a suite, as parameters of a test."""
    return [
        pytest.param(module, operator, f"test_{name}", id=f"test_{name}")
        for module, (operator, names) in suite.items()
        for name in names
    ]


@functools.cache
def node_cases(module: str, operator: str) -> dict[str, Case]:
    """The in-memory cases for ``operator``, which ``onnx.backend.test.case.node.<module>`` registers."""
    from onnx.backend.test.case import node as registry

    # The metaclass behind these modules seeds NumPy's global generator: no other test may depend on whether
    # this one ran before it.
    random_state = np.random.get_state()
    try:
        importlib.import_module(f"{registry.__name__}.{module}")
    finally:
        np.random.set_state(random_state)
    cases = {}
    # The list is shared by all modules, and somebody else may have imported this one first: what it grew by
    # says nothing, the operator does.
    for found in registry._NodeTestCases:
        if operator in operators_of(found.model):
            [(inputs, outputs)] = found.data_sets
            cases[found.name] = Case(found.name, found.model, tuple(inputs), tuple(outputs), found.rtol, found.atol)
    return cases


def names_of_inputs(model: onnx.ModelProto) -> list[str]:
    """What is fed to a graph: older models name their weights among the inputs, and hold them too."""
    held = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in held]


def run_graph(model: onnx.ModelProto, inputs: Sequence[Array], operators: Mapping[str, Operator]) -> tuple[Array, ...]:
    """Node by node: what ``operators`` does not know is a failure, and so is what they leave of the attributes."""
    graph = model.graph
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    values.update(zip(names_of_inputs(model), inputs, strict=True))
    for node in graph.node:
        assert node.domain == "", f"unknown domain {node.domain}"
        assert node.op_type in operators, f"unknown operator {node.op_type}"
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        results = operators[node.op_type]([values[name] for name in node.input], attributes, len(node.output))
        assert not attributes, f"unknown attributes of {node.op_type}: {attributes}"
        values.update(zip(node.output, results, strict=True))
    return tuple(values[value.name] for value in graph.output)


def read_tensors(paths: Sequence[Path]) -> tuple[Array, ...]:
    return tuple(onnx.numpy_helper.to_array(onnx.load_tensor(path)) for path in paths)


@functools.cache
def stored_cases(operators: frozenset[str]) -> dict[str, Case]:
    """The cases on disk, inside the wheel, whose graph uses one of ``operators``."""
    from onnx.backend.test.loader import load_model_tests

    cases = {}
    for kind in STORED_KINDS:
        for found in load_model_tests(kind=kind):
            assert found.model_dir is not None, f"{found.name} is not in the wheel"
            folder = Path(found.model_dir)
            model = onnx.load(folder / "model.onnx")
            if operators.isdisjoint(operators_of(model)):
                continue
            assert found.name not in cases, f"{found.name} is in two of {STORED_KINDS}"
            [data] = folder.glob("test_data_set_*")
            inputs = [data / f"input_{i}.pb" for i in range(len(names_of_inputs(model)))]
            outputs = [data / f"output_{i}.pb" for i in range(len(model.graph.output))]
            assert sorted(data.iterdir()) == sorted(inputs + outputs), f"{data} has tensors the graph does not name"
            cases[found.name] = Case(
                found.name, model, read_tensors(inputs), read_tensors(outputs), found.rtol, found.atol
            )
    return cases
