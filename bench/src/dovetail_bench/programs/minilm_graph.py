"""Writes all-MiniLM-L6-v2 as a graph for onnxruntime, without its weights.

    dovetail bench run minilm_graph

A graph is the few protobuf messages of ONNX that onnxruntime takes. The weights stay outside of it:
dovetail hands them to the session beside it, by the names that they have here.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Vectors
from dovetail.models import embed_minilm

# Operators of onnxruntime itself: whole pieces of a transformer, fused.
FUSED = "com.microsoft"
_IR_VERSION, _OPSET = 9, 18
_ELEMENT = {np.dtype(np.float32): 1, np.dtype(np.uint8): 2, np.dtype(np.int64): 7}
_EXTERNAL = 1
_FLOAT, _INT, _INTS = 1, 2, 7
_HEADS = 12
_EPSILON = 1e-12


class Graph:
    """Operators applied one after another to an input of whole numbers."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def weight(self, name: str, values: npt.NDArray[np.float32]) -> str:
        """Add an array of the model, and return its name in the graph."""
        location = _text(1, "location") + _text(2, "memory")
        self._tensors.append(_tensor(name, values) + _bytes(13, location) + _int(14, _EXTERNAL))
        return name

    def number(self, value: int) -> str:
        """Add a whole number, from which shapes are inferred, and return its name in the graph."""
        name = f"number{len(self._tensors)}"
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

    def model(self, result: str) -> bytes:
        """The graph that computes `result`."""
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


def bert(weights: Mapping[str, Vectors]) -> bytes:
    """The model: tokens in, mean of the last layer at length one out."""
    graph = Graph("tokens")

    def weight(name: str) -> str:
        return graph.weight(name, weights[name])

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

    # The sum of what a token means, and of where it stands in the first sentence.
    zero, one = graph.number(0), graph.number(1)
    count = graph.apply("Gather", graph.apply("Shape", "tokens"), one)
    located = graph.apply("Slice", weight("positions"), zero, count, zero)
    words = graph.apply("Gather", weight("embeddings.word_embeddings.weight"), "tokens")
    norm = [weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
    total = graph.apply("Add", words, located)
    state = graph.apply("LayerNormalization", total, *norm, epsilon=_EPSILON)
    for number in range(embed_minilm.LAYERS):
        layer = f"encoder.layer.{number}"
        inputs = state, weight(f"{layer}.attention.weight"), weight(f"{layer}.attention.bias")
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
    return graph.model(graph.apply("LpNormalization", mean, axis=1, p=2))


def main() -> None:
    parser = argparse.ArgumentParser(prog="dovetail bench run minilm_graph", description=__doc__)
    parser.parse_args()
    into = Path(embed_minilm.__file__).with_name(embed_minilm.GRAPH)
    into.write_bytes(bert(embed_minilm.weights()))


if __name__ == "__main__":
    main()
