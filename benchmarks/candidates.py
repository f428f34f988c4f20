"""One library's way to do the work of a row: what is called, and how its result is read."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rows import THREADS
from work import Array, Ints

Work = Callable[[], Any]


def plainly(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


@dataclass(frozen=True)
class Candidate:
    run: Work
    read: Callable[[Any], list[Array]] = plainly  # the result as arrays of the case's shapes, not timed
    rounds: bool = False  # it gives whole numbers where the case asks for averages


@functools.cache
def library(name: str) -> Any:
    """A module limited to the threads that all get; the row sets those of torch. XLA takes what the machine has."""
    module: Any = importlib.import_module(name)
    if name == "cv2":
        module.setNumThreads(THREADS)
    return module


def onnx_session(node: str, shape: Ints, x: Array, constants: dict[str, Array], **attributes: Any) -> Candidate:
    """A graph of one node from x and constants to y, of that shape. Constants are packed once, before the first call;
    the values are onnxruntime's own, so that nothing is copied."""
    ort, onnx = library("onnxruntime"), library("onnx")
    helper, numpy_helper = library("onnx.helper"), library("onnx.numpy_helper")
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sizes)
        for name, sizes in (("x", x.shape), ("y", shape))
    ]
    kept = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    nodes = [helper.make_node(node, ["x", *constants], ["y"], **attributes)]
    graph = helper.make_graph(nodes, node, ends[:1], ends[1:], kept)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = THREADS
    session = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    feed = {"x": ort.OrtValue.ortvalue_from_numpy(x)}
    return Candidate(lambda: session.run_with_ort_values(["y"], feed), lambda result: [result[0].numpy()])


def middle(window: Ints, y: Array) -> Array:
    """The windows that lie inside, of an array with one window around each element, on its first two axes."""
    starts = [k // 2 for k in window]
    return y[tuple(slice(a, a + n - k + 1) for a, k, n in zip(starts, window, y.shape, strict=False))]
