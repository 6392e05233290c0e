"""all-MiniLM-L6-v2 in plain numpy, as the formulas stand: the slow twin of `minilm`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
HEADS = 12


def embed(tokens: list[int], weights: Mapping[str, Array]) -> Array:
    """The vector of one text."""

    def linear(state: Array, name: str) -> Array:
        return state @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(state: Array, name: str) -> Array:
        centred = state - state.mean(-1, keepdims=True)
        scaled: Array = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def heads(state: Array) -> Array:
        return state.reshape(len(tokens), HEADS, -1).transpose(1, 0, 2)

    table = "embeddings.{}_embeddings.weight"
    state = weights[table.format("word")][tokens] + weights[table.format("token_type")][0]
    state = norm(state + weights[table.format("position")][: len(tokens)], "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{number}" for number in range(6)):
        query, key, value = (
            heads(linear(state, f"{layer}.attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        logits = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(query.shape[-1]))
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        seen = (shares / shares.sum(-1, keepdims=True)) @ value
        seen = linear(
            seen.transpose(1, 0, 2).reshape(state.shape), f"{layer}.attention.output.dense"
        )
        state = norm(seen + state, f"{layer}.attention.output.LayerNorm")
        wide = _gelu(linear(state, f"{layer}.intermediate.dense"))
        wide = linear(wide, f"{layer}.output.dense")
        state = norm(wide + state, f"{layer}.output.LayerNorm")
    mean: Array = state.mean(0)
    return np.divide(mean, np.linalg.norm(mean), dtype=np.float32)


def _gelu(state: Array) -> Array:
    """x · Φ(x), with erf as Abramowitz and Stegun 7.1.26 have it (off by 1.5e-7 at most)."""
    scaled = np.abs(state) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * scaled)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + factor) * t
    erf = np.sign(state) * (1 - series * np.exp(-(scaled**2)))
    product: Array = (state * (1 + erf) / 2).astype(np.float32)
    return product
