"""Writes the bundled sample corpus as a dataset, once, below the user's cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

from dovetail.ports import Json
from dovetail_bench.corpora import write_corpus
from dovetail_bench.corpora.questions import foreign_keys, questions
from dovetail_bench.corpus_folder import ABOUT, FOREIGN_KEYS, QUESTIONS
from dovetail_bench.errors import DatasetError


def sample_folder() -> Path:
    """The folder of the sample dataset; it is written when it is not there yet.

    Its name is a digest of all that it is made from, so it cannot be stale.
    """
    folder = _cache() / f"sample-{_digest()}"
    if not folder.is_dir():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(dir=folder.parent))
        except OSError as error:
            raise DatasetError(
                f"the sample corpus cannot be written to {folder.parent}: {error.strerror}; "
                "name another cache folder with XDG_CACHE_HOME"
            ) from None
        _write(beside)
        try:
            beside.rename(folder)
        except OSError:  # another process was faster, and wrote the same
            shutil.rmtree(beside)
    return folder


def _write(folder: Path) -> None:
    sources = {path.name: path.name for path in write_corpus(folder)}
    documents: dict[str, Json | list[Json]] = {
        ABOUT: {"sources": sources, "dialects": ["duckdb"]},
        QUESTIONS: questions(),
        FOREIGN_KEYS: foreign_keys(),
    }
    for name, document in documents.items():
        text = json.dumps(document, ensure_ascii=False, indent=1)
        (folder / name).write_text(text + "\n", encoding="utf-8")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dovetail"


def _digest() -> str:
    digest = hashlib.sha256()
    for package in ("dovetail_bench.corpora", "dovetail_bench.corpora.questions"):
        for file in sorted(files(package).iterdir(), key=lambda file: file.name):
            if file.is_file() and file.name.endswith((".py", ".toml", ".zip")):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
