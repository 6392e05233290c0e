"""Embedding on the workers of an engine: the same vectors in the same files, whoever fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail import plugins
from dovetail.engines.passes import Workers
from dovetail.errors import ModelError
from dovetail.models.vectors import VectorStore
from dovetail.ports import Embedder
from dovetail.search.distributed_embedder import DistributedEmbedder
from tests.models.test_vectors import Counting, numbered
from tests.support.engines import LosingEngine, counting

TEXTS = [*numbered(2_500), "\ud800", ""]


def open_counting(argument: str) -> Embedder:
    if argument == "missing":
        raise ModelError("no such weights here")
    return Counting(argument or "hash")


@pytest.fixture(autouse=True)
def known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = plugins._BUILT_IN[plugins.EMBEDDERS]
    monkeypatch.setitem(built_in, "counting", f"{__name__}:open_counting")


def stored(folder: Path, embedder: Embedder) -> tuple[bytes, dict[str, bytes]]:
    vectors = VectorStore(folder, embedder).documents(TEXTS)
    return vectors.tobytes(), {path.name: path.read_bytes() for path in folder.rglob("*.npy")}


def test_workers_make_the_same_vectors_and_files(tmp_path: Path) -> None:
    engine, workers = counting()
    here = Counting()
    spread = DistributedEmbedder(here, "counting", workers)
    expected = stored(tmp_path / "one", Counting())
    assert stored(tmp_path / "many", spread) == expected
    assert len(expected[1]) == 3
    assert engine.done == {"embed_part": 3}
    assert here.seen == []


@pytest.mark.parametrize("unable", [False, True], ids=["lost", "unable"])
def test_what_workers_leave_undone_is_done_here(unable: bool, tmp_path: Path) -> None:
    engine = LosingEngine(unable=unable)
    spread = DistributedEmbedder(Counting(), "counting", Workers(engine))
    assert stored(tmp_path / "many", spread) == stored(tmp_path / "one", Counting())
    assert engine.jobs == 3


@pytest.mark.parametrize("name", ["counting:missing", "counting:another"])
def test_a_worker_without_the_model_leaves_its_part(name: str, tmp_path: Path) -> None:
    _, workers = counting()
    here = Counting()
    spread = DistributedEmbedder(here, name, workers)
    assert stored(tmp_path / "many", spread) == stored(tmp_path / "one", Counting())
    assert len(here.seen) == len(TEXTS)
