"""all-MiniLM-L6-v2 as a graph for onnxruntime, put together in memory.

A graph is the few protobuf messages of ONNX that onnxruntime takes. The weights stay outside of it,
as arrays handed to the session beside it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# Operators of onnxruntime itself: whole pieces of a transformer, fused.
FUSED = "com.microsoft"
_IR_VERSION, _OPSET = 9, 18
_ELEMENT = {np.dtype(np.float32): 1, np.dtype(np.uint8): 2, np.dtype(np.int64): 7}
_EXTERNAL = 1
_FLOAT, _INT, _INTS = 1, 2, 7
TOKENS = 256
_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12


class Graph:
    """Operators applied one after another to an input of whole numbers."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._weights: dict[str, npt.NDArray[Any]] = {}

    def weight(self, values: npt.NDArray[np.float32] | npt.NDArray[np.uint8]) -> str:
        """Add an array of the model, and return its name in the graph."""
        name = f"w{len(self._tensors)}"
        self._weights[name] = np.ascontiguousarray(values)
        location = _text(1, "location") + _text(2, "memory")
        self._tensors.append(_tensor(name, values) + _bytes(13, location) + _int(14, _EXTERNAL))
        return name

    def number(self, value: int) -> str:
        """Add a whole number, from which shapes are inferred, and return its name in the graph."""
        name = f"w{len(self._tensors)}"
        array = np.array([value], dtype="<i8")
        self._tensors.append(_tensor(name, array) + _bytes(9, array.tobytes()))
        return name

    def apply(
        self, operator: str, *inputs: str, domain: str = "", **attributes: float | int | list[int]
    ) -> str:
        """Apply an operator, and return the name of its result in the graph."""
        name = f"n{len(self._nodes)}"
        node = [_text(1, one) for one in inputs]
        node += [_text(2, name), _text(4, operator), _text(7, domain)]
        node += [_bytes(5, _attribute(key, value)) for key, value in attributes.items()]
        self._nodes.append(b"".join(node))
        return name

    def session(self, result: str) -> InferenceSession:
        """A session that computes `result`, on one thread per call: callers bring their own."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # The graph is fused already: looking for more to do only costs time at the start.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(w) for w in self._weights.values()]
        options.add_external_initializers(list(self._weights), values)
        return onnxruntime.InferenceSession(
            self._model(result), options, providers=["CPUExecutionProvider"]
        )

    def _model(self, result: str) -> bytes:
        graph = [_bytes(1, node) for node in self._nodes]
        graph += [_text(2, "graph")]
        graph += [_bytes(5, tensor) for tensor in self._tensors]
        graph += [_bytes(11, _value(self._source, np.dtype(np.int64)))]
        graph += [_bytes(12, _value(result, np.dtype(np.float32)))]
        operators = [("", _OPSET), (FUSED, 1)]
        model = [_int(1, _IR_VERSION), _bytes(7, b"".join(graph))]
        model += [_bytes(8, _text(1, domain) + _int(2, version)) for domain, version in operators]
        return b"".join(model)


def _attribute(name: str, value: float | int | list[int]) -> bytes:
    if isinstance(value, list):
        return _text(1, name) + b"".join(_int(8, each) for each in value) + _int(20, _INTS)
    if isinstance(value, int):
        return _text(1, name) + _int(3, value) + _int(20, _INT)
    fixed = bytes([2 << 3 | 5]) + struct.pack("<f", value)
    return _text(1, name) + fixed + _int(20, _FLOAT)


def _tensor(name: str, array: npt.NDArray[np.generic]) -> bytes:
    shape = b"".join(_int(1, length) for length in array.shape)
    return shape + _int(2, _ELEMENT[array.dtype]) + _text(8, name)


def _value(name: str, dtype: np.dtype[np.generic]) -> bytes:
    """An input or output: of two dimensions, which may have any length."""
    shape = _bytes(1, _text(2, "rows")) + _bytes(1, _text(2, "columns"))
    kind = _int(1, _ELEMENT[dtype]) + _bytes(2, shape)
    return _text(1, name) + _bytes(2, _bytes(1, kind))


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _int(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def bert(graph: Graph, weights: Mapping[str, Vectors]) -> str:
    """The model: tokens in, mean of the last layer at length one out."""

    def weight(name: str) -> str:
        return graph.weight(weights[name])

    def product(state: str, name: str) -> str:
        # The operator transposes: a transposed copy of all weights takes a twentieth of a second.
        inputs = state, weight(f"{name}.weight")
        return graph.apply("FusedMatMul", *inputs, domain=FUSED, transB=1)

    def normed(total: str, residual: str, name: str) -> str:
        """Layer normalisation of a sublayer's output, its bias and its input."""
        norm = (weight(f"{name}.LayerNorm.weight"), weight(f"{name}.LayerNorm.bias"))
        bias = weight(f"{name}.dense.bias")
        return graph.apply(
            "SkipLayerNormalization", total, residual, *norm, bias, domain=FUSED, epsilon=_EPSILON
        )

    state = _embeddings(graph, weights)
    for number in range(_LAYERS):
        layer = f"encoder.layer.{number}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
        mixed = np.concatenate([weights[f"{part}.weight"] for part in parts]).T
        inputs = state, graph.weight(mixed), graph.weight(bias)
        attended = graph.apply("Attention", *inputs, domain=FUSED, num_heads=_HEADS)
        attended = product(attended, f"{layer}.attention.output.dense")
        state = normed(attended, state, f"{layer}.attention.output")
        wide = product(state, f"{layer}.intermediate.dense")
        wide = graph.apply(
            "BiasGelu", wide, weight(f"{layer}.intermediate.dense.bias"), domain=FUSED
        )
        state = normed(product(wide, f"{layer}.output.dense"), state, f"{layer}.output")
    # Over the last axis: over the middle one, a single text is added up in another order than many.
    across = graph.apply("Transpose", state, perm=[0, 2, 1])
    mean = graph.apply("ReduceMean", across, graph.number(2), keepdims=0)
    return graph.apply("LpNormalization", mean, axis=1, p=2)


def _embeddings(graph: Graph, weights: Mapping[str, Vectors]) -> str:
    """The sum of what a token means, where it stands, and that it is of the first sentence."""
    name = "embeddings.{}_embeddings.weight"
    words = graph.weight(weights[name.format("word")])
    positions = weights[name.format("position")][:TOKENS] + weights[name.format("token_type")][0]
    zero, one = graph.number(0), graph.number(1)
    count = graph.apply("Gather", graph.apply("Shape", "tokens"), one)
    located = graph.apply("Slice", graph.weight(positions), zero, count, zero)
    total = graph.apply("Add", graph.apply("Gather", words, "tokens"), located)
    norm = [graph.weight(weights[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    return graph.apply("LayerNormalization", total, *norm, epsilon=_EPSILON)
