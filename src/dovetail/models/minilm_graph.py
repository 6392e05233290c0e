"""all-MiniLM-L6-v2 as a graph for onnxruntime: in single precision, or with products of int8.

In int8 a vector of weights and one of activations are cut into blocks, each with a scale of its
own; so the vector of a text still does not depend on the texts beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dovetail.arrays import Vectors
from dovetail.models.embed_onnx import FUSED, Graph

TOKENS = 256
_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12
# Numbers that share a scale. The cosine with single precision is 0.998 as a rule; with 32 it is
# 0.999, and takes a quarter longer.
_BLOCK = 128
# What onnxruntime calls products of int8.
_INT8_PRODUCTS = 4


def bert(graph: Graph, weights: Mapping[str, Vectors], *, int8: bool) -> str:
    """The model: tokens in, mean of the last layer at length one out."""

    def weight(name: str) -> str:
        return graph.weight(weights[name])

    def product(state: str, name: str) -> str:
        across = weights[f"{name}.weight"].T
        if int8:
            return _int8_product(graph, state, across)
        return graph.apply("MatMul", state, graph.weight(across))

    def normed(total: str, beside: str, name: str) -> str:
        """Layer normalisation of a sublayer's output, its bias and its input."""
        norm = (weight(f"{name}.LayerNorm.weight"), weight(f"{name}.LayerNorm.bias"))
        bias = weight(f"{name}.dense.bias")
        return graph.apply(
            "SkipLayerNormalization", total, beside, *norm, bias, domain=FUSED, epsilon=_EPSILON
        )

    state = _embeddings(graph, weights)
    for number in range(_LAYERS):
        layer = f"encoder.layer.{number}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
        if int8:
            seen = [product(state, part) for part in parts] + [graph.weight(bias)]
            operator = "MultiHeadAttention"
        else:
            mixed = np.concatenate([weights[f"{part}.weight"] for part in parts]).T
            seen = [state, graph.weight(mixed), graph.weight(bias)]
            operator = "Attention"
        attended = graph.apply(operator, *seen, domain=FUSED, num_heads=_HEADS)
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


def _int8_product(graph: Graph, state: str, across: Vectors) -> str:
    """A product with a matrix of weights, each column of which is cut into blocks of int8."""
    inner, outer = across.shape
    blocks = across.T.reshape(outer, inner // _BLOCK, _BLOCK)
    scale = np.abs(blocks).max(axis=2, keepdims=True) / np.float32(127)
    whole = np.round(blocks / scale).clip(-127, 127) + 128
    return graph.apply(
        "MatMulNBits",
        state,
        graph.weight(whole.astype(np.uint8)),
        graph.weight(scale.ravel()),
        domain=FUSED,
        K=inner,
        N=outer,
        bits=8,
        block_size=_BLOCK,
        accuracy_level=_INT8_PRODUCTS,
    )


def _embeddings(graph: Graph, weights: Mapping[str, Vectors]) -> str:
    """The sum of what a token means, where it stands, and that it is of the first sentence."""
    name = "embeddings.{}_embeddings.weight"
    words = graph.weight(weights[name.format("word")])
    places = weights[name.format("position")][:TOKENS] + weights[name.format("token_type")][0]
    zero, one = graph.number(0), graph.number(1)
    count = graph.apply("Gather", graph.apply("Shape", "tokens"), one)
    known = graph.apply("Slice", graph.weight(places), zero, count, zero)
    total = graph.apply("Add", graph.apply("Gather", words, "tokens"), known)
    norm = [graph.weight(weights[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    return graph.apply("LayerNormalization", total, *norm, epsilon=_EPSILON)
