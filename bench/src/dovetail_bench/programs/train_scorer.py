"""Trains the set scorer of `graph` on examples that `training_examples.py` wrote.

    dovetail bench run train_scorer src/dovetail/retrieve/set_scorer.json EXAMPLES.npz ...

It needs PyTorch (the dependency group `compare`), a few minutes and no accelerator; what it writes
is plain JSON that numpy reads. Examples that are marked as apart are left out. With `--start`
the networks of a file are trained on, at a lower rate that stays: the shipped ones saw made
companies so, in six rounds, with every third question of MMQA and every sixth of spider_train.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

NETWORKS = 4
HIDDEN, HEADS, WIDTH, LAYERS = 24, 2, 8, 1
EPOCHS, BATCH, RATE, DECAY, DROPOUT = 30, 256, 3e-3, 1e-2, 0.1
# The rate at which networks that were trained are trained on.
RATE_ON = 1e-3
DIGITS = 4
PARTS = ("query", "key", "value", "pair", "mix")
Arrays = Mapping[str, np.ndarray]


class Layer(nn.Module):  # type: ignore[misc]
    """Attention between candidates, biased by what is between each two of them."""

    def __init__(self, pair_features: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HEADS * WIDTH) for _ in range(3))
        self.pair = nn.Linear(pair_features, HEADS)
        self.mix = nn.Linear(HIDDEN + HEADS * WIDTH, HIDDEN)

    def forward(self, hidden: Tensor, pairs: Tensor, there: Tensor) -> Tensor:
        count, size, _ = hidden.shape

        def heads(values: Tensor) -> Tensor:
            return values.view(count, size, HEADS, WIDTH).transpose(1, 2)

        query, key, value = (heads(part(hidden)) for part in (self.query, self.key, self.value))
        scores = query @ key.transpose(2, 3) / WIDTH**0.5 + self.pair(pairs).permute(0, 3, 1, 2)
        weights = scores.masked_fill(~there[:, None, None, :], -1e9).softmax(-1)
        heard = (weights @ value).transpose(1, 2).reshape(count, size, -1)
        heard = functional.dropout(heard, DROPOUT, self.training)
        return torch.relu(self.mix(torch.cat([hidden, heard], -1))) + hidden


class Net(nn.Module):  # type: ignore[misc]
    """The network that `retrieve/graph/set_scorer.py` runs."""

    def __init__(self, features: int, pair_features: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, HIDDEN)
        self.layers = nn.ModuleList(Layer(pair_features) for _ in range(LAYERS))
        self.last = nn.Linear(HIDDEN, 1)
        self.direct = nn.Linear(features, 1, bias=False)

    def forward(self, rows: Tensor, pairs: Tensor, there: Tensor) -> Tensor:
        hidden = torch.relu(self.first(rows))
        for layer in self.layers:
            hidden = layer(hidden, pairs, there)
        hidden = functional.dropout(hidden, DROPOUT, self.training)
        return (self.last(hidden) + self.direct(rows)).squeeze(-1)


@dataclass(frozen=True, slots=True)
class Training:
    """How long and where the networks are trained, and how many."""

    networks: int = NETWORKS
    epochs: int = EPOCHS
    device: str = "cpu"
    start: Mapping[str, Any] | None = None  # a document whose networks are trained on


def trained(
    given: Arrays, mean: np.ndarray, spread: np.ndarray, seed: int, training: Training
) -> Net:
    """One network, by AdamW with a rate that rises and falls; the loss is the cross entropy."""
    device = training.device
    torch.manual_seed(seed)
    there = torch.tensor(given["there"], device=device)
    rows = torch.tensor((given["rows"] - mean) / spread, device=device) * there[..., None]
    pairs = torch.tensor(given["pairs"].astype(np.float32), device=device)
    needed = torch.tensor(given["needed"].astype(np.float32), device=device)
    net = Net(rows.shape[2], pairs.shape[3])
    if training.start is not None:
        _resume(net, training.start["networks"][seed])
    net.to(device)
    steps = training.epochs * -(-len(rows) // BATCH)
    first = RATE if training.start is None else RATE_ON
    adam = torch.optim.AdamW(net.parameters(), lr=first, weight_decay=DECAY)
    rate: Any = torch.optim.lr_scheduler.ConstantLR(adam, 1.0)
    if training.start is None:
        rate = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, total_steps=steps)
    for _ in range(training.epochs):
        for some in torch.randperm(len(rows)).to(device).split(BATCH):
            logits = net(rows[some], pairs[some], there[some])
            each = functional.binary_cross_entropy_with_logits(
                logits, needed[some], reduction="none"
            )
            loss = (each * there[some]).sum() / len(some)
            adam.zero_grad()
            loss.backward()
            adam.step()
            rate.step()
    net.eval().cpu()
    return net


def document(given: Arrays, provenance: str, training: Training) -> dict[str, object]:
    """Networks trained on some examples, as `set_scorer.json` has them."""
    seen = given["rows"][given["there"]]
    mean, spread = seen.mean(axis=0), seen.std(axis=0) + 1e-6
    if training.start is not None:
        mean, spread = (np.array(training.start[name], np.float32) for name in ("mean", "spread"))
    networks = [
        _written(trained(given, mean, spread, seed, training)) for seed in range(training.networks)
    ]
    return {
        "provenance": provenance,
        "features": given["features"].tolist(),
        "pair_features": given["pair_features"].tolist(),
        "mean": _rounded(mean),
        "spread": _rounded(spread),
        "networks": networks,
    }


def _resume(net: Net, weights: Mapping[str, Any]) -> None:
    """Give a network the weights of one that was written."""
    written = {name: weights[name] for name in ("first", "last", "direct")}
    for at, layer in enumerate(weights["layers"]):
        written |= {f"layers.{at}.{part}": layer[part] for part in PARTS}
    for name, part in written.items():
        linear = net.get_submodule(name)
        linear.weight.data = torch.tensor(np.array(part["weights"], np.float32).T.copy())
        if linear.bias is not None:
            linear.bias.data = torch.tensor(np.array(part["bias"], np.float32))


def _written(net: Net) -> dict[str, object]:
    return {
        "first": _linear(net.first),
        "layers": [
            {"heads": HEADS, **{part: _linear(getattr(layer, part)) for part in PARTS}}
            for layer in net.layers
        ],
        "last": _linear(net.last),
        "direct": _linear(net.direct),
    }


def _linear(part: nn.Linear) -> dict[str, object]:
    bias = [0.0] if part.bias is None else _rounded(part.bias.detach().numpy())
    return {"weights": _rounded(part.weight.detach().numpy().T), "bias": bias}


def _rounded(values: np.ndarray) -> list[object]:
    listed: list[object] = np.round(values.astype(np.float64), DIGITS).tolist()
    return listed


def read(files: Sequence[Path]) -> dict[str, np.ndarray]:
    """The examples of several files, one after the other."""
    parts = [dict(np.load(file)) for file in files]
    names = ("features", "pair_features")
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return joined | {name: parts[0][name] for name in names}


def some(given: Arrays, wanted: np.ndarray) -> dict[str, np.ndarray]:
    """The examples that are wanted."""
    return {
        name: each[wanted] if len(each) == len(wanted) else each for name, each in given.items()
    }


def write(file: Path, found: Mapping[str, object]) -> None:
    """Write a document, a network to a line."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}"
        for name, value in found.items()
        if name != "networks"
    ]
    nets = ",\n".join(json.dumps(net, separators=(",", ":")) for net in found["networks"])  # type: ignore[attr-defined]
    file.write_text("{\n" + ",\n".join([*lines, f'"networks": [\n{nets}\n]']) + "\n}\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("into", type=Path, help="the file to write")
    parser.add_argument("examples", type=Path, nargs="+")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="how many vote")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--start", type=Path, help="a file whose networks are trained on")
    options = parser.parse_args(arguments)
    given = read(options.examples)
    kept = some(given, ~given["apart"])
    names = ", ".join(file.stem for file in options.examples)
    about = f"programs/train_scorer.py on {len(kept['rows']):,} examples of {names}"
    start = json.loads(options.start.read_text("utf-8")) if options.start else None
    training = Training(options.networks, options.epochs, options.device, start)
    write(options.into, document(kept, about, training))


if __name__ == "__main__":
    main()
