"""all-MiniLM-L6-v2 as a graph for onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dovetail.arrays import Vectors
from dovetail.models.embed_onnx import FUSED, Graph

TOKENS = 256
_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12


def bert(graph: Graph, weights: Mapping[str, Vectors]) -> str:
    """The model: tokens in, mean of the last layer at length one out."""

    def weight(name: str) -> str:
        return graph.weight(weights[name])

    def product(state: str, name: str) -> str:
        return graph.apply("MatMul", state, graph.weight(weights[f"{name}.weight"].T))

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
    places = weights[name.format("position")][:TOKENS] + weights[name.format("token_type")][0]
    zero, one = graph.number(0), graph.number(1)
    count = graph.apply("Gather", graph.apply("Shape", "tokens"), one)
    known = graph.apply("Slice", graph.weight(places), zero, count, zero)
    total = graph.apply("Add", graph.apply("Gather", words, "tokens"), known)
    norm = [graph.weight(weights[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    return graph.apply("LayerNormalization", total, *norm, epsilon=_EPSILON)
