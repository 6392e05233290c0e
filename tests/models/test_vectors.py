"""The store of vectors: every text embedded once, through interruptions, damage, company."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dovetail.arrays import Vectors
from dovetail.errors import CatalogError, ModelError
from dovetail.models import vectors
from dovetail.models.vectors import VectorStore, digest, unit_vectors

DIMENSION = 16


class Counting:
    """An embedder that makes a vector out of a text's hash and remembers what it was asked."""

    dimension = DIMENSION

    def __init__(self, model_id: str = "hash") -> None:
        self.model_id = model_id
        self.seen: list[str] = []
        self.fail_at: str | None = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.fail_at in texts:
            raise ModelError("the endpoint went away")
        self.seen += texts
        return expected(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)


def expected(texts: Sequence[str]) -> Vectors:
    hashes = [hashlib.sha512(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    raw = np.array([list(one[:DIMENSION]) for one in hashes], dtype=np.float32)
    return unit_vectors(raw, rows=len(texts), dimension=DIMENSION, model_id="hash")


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def numbered(count: int, start: int = 0) -> list[str]:
    return [f"text {number}" for number in range(start, start + count)]


def test_only_texts_never_seen_are_embedded(tmp_path: Path) -> None:
    embedder = Counting()
    texts = ["b", "a", "b", "", "\ud800", "a"]
    store = VectorStore(tmp_path, embedder)
    assert store.documents(texts).tobytes() == expected(texts).tobytes()
    assert embedder.seen == ["b", "a", "", "\ud800"]
    later = VectorStore(tmp_path, embedder)
    more = ["c", "a", "c", "b"]
    assert later.documents(more).tobytes() == expected(more).tobytes()
    assert store.documents(more).tobytes() == expected(more).tobytes()
    assert embedder.seen == ["b", "a", "", "\ud800", "c"]
    assert later.documents([]).shape == (0, DIMENSION)


def test_the_same_texts_leave_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        VectorStore(tmp_path / name, Counting()).documents(numbered(2_500))
    one, two = ({p.name: p.read_bytes() for p in files(tmp_path / n)} for n in ("one", "two"))
    assert one == two
    assert len(one) == 3


def test_models_do_not_mix(tmp_path: Path) -> None:
    first, second = Counting("a/b"), Counting("a:b")
    VectorStore(tmp_path, first).documents(["x"])
    VectorStore(tmp_path, second).documents(["x"])
    assert first.seen == second.seen == ["x"]
    assert len(list(tmp_path.iterdir())) == 2


def test_progress(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    store = VectorStore(tmp_path, Counting())
    store.documents(numbered(100))
    store.documents(numbered(2_100), lambda done, total: heard.append((done, total)))
    assert heard[0] == (32, 2_000)
    assert heard[-1] == (2_000, 2_000)
    assert heard == sorted(heard)


def test_an_interruption_keeps_what_was_done(tmp_path: Path) -> None:
    embedder = Counting()
    embedder.fail_at = "text 1500"
    with pytest.raises(ModelError, match="went away"):
        VectorStore(tmp_path, embedder).documents(numbered(2_000))
    kept = len(embedder.seen)
    assert 1_024 <= kept <= 1_500
    embedder.fail_at = None
    found = VectorStore(tmp_path, embedder).documents(numbered(2_000))
    assert found.tobytes() == expected(numbered(2_000)).tobytes()
    assert embedder.seen == numbered(2_000)


@pytest.mark.parametrize(
    "harm",
    [
        lambda content: content[:-7],
        lambda content: content[:0],
        lambda content: b"x" * len(content),
        lambda content: content[:500] + bytes([content[500] ^ 1]) + content[501:],
        lambda content: content + b"\0",
    ],
)
def test_a_damaged_segment_is_made_again(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    texts = numbered(2_000)
    VectorStore(tmp_path, Counting()).documents(texts)
    sound = {path: path.read_bytes() for path in files(tmp_path)}
    damaged = files(tmp_path)[0]
    damaged.write_bytes(harm(damaged.read_bytes()))
    embedder = Counting()
    assert VectorStore(tmp_path, embedder).documents(texts).tobytes() == expected(texts).tobytes()
    assert len(embedder.seen) in (1_024, 976)
    assert {path: path.read_bytes() for path in files(tmp_path)} == sound


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    store = VectorStore(tmp_path, Counting())
    store.documents(["x"])
    (segment,) = files(tmp_path)
    content = b"\x93NUMPY\x01\x00\x76\x00" + (
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
    )
    content += b"cos\nsystem\n(S'exit 1'\ntR."
    name = hashlib.sha256(content).hexdigest()[:32]
    segment.with_name(f"{name}.npy").write_bytes(content)
    assert store.documents(["x"]).tobytes() == expected(["x"]).tobytes()


def test_prune(tmp_path: Path) -> None:
    texts = numbered(3_000)
    store = VectorStore(tmp_path, Counting())
    store.documents(texts)
    folder = files(tmp_path)[0].parent
    (folder / ("0" * 32 + ".npy")).write_bytes(b"damaged")
    fresh, old = (f".{name}.npy.{'0' * 32}" for name in ("fresh", "old"))
    (folder / fresh).write_bytes(b"someone is writing this")
    (folder / old).write_bytes(b"left by a crash")
    os.utime(folder / old, (time.time() - 7_200,) * 2)
    untouched = {path.name for path in files(tmp_path) if path.stat().st_size > 90_000}
    keep = texts[:2_048] + texts[2_500:2_600]
    store.prune([digest(text) for text in keep])
    names = {path.name for path in files(tmp_path)}
    assert len(names) == 4
    assert fresh in names
    assert len(untouched & names) == 2, "whole segments are not written again"
    embedder = Counting()
    again = VectorStore(tmp_path, embedder)
    assert again.documents(keep).tobytes() == expected(keep).tobytes()
    assert embedder.seen == []
    again.documents(texts[2_600:2_610])
    assert embedder.seen == texts[2_600:2_610]


def test_prune_joins_small_segments_and_is_idempotent(tmp_path: Path) -> None:
    store = VectorStore(tmp_path, Counting())
    for number in range(50):
        store.documents([f"text {number}"])
    keep = {digest(text) for text in numbered(50)}
    store.prune(keep)
    (only,) = files(tmp_path)
    store.prune(keep)
    assert files(tmp_path) == [only]
    embedder = Counting()
    VectorStore(tmp_path, embedder).documents(numbered(50))
    assert embedder.seen == []
    store.prune(())
    assert files(tmp_path) == []
    VectorStore(tmp_path / "never", embedder).prune(())


@pytest.mark.slow
def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.models.test_vectors import *;"
        "start = int(sys.argv[2]); store = VectorStore(Path(sys.argv[1]), Counting());"
        "[store.documents(numbered(40, start + n * 20)) for n in range(10)]"
    )
    starts = (0, 0, 100, 300)
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(start)])
        for start in starts
    ]
    assert [process.wait() for process in running] == [0] * len(starts)
    embedder = Counting()
    texts = numbered(520)
    found = VectorStore(tmp_path, embedder).documents(texts)
    assert found.tobytes() == expected(texts).tobytes()
    assert embedder.seen == []


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_only_whole_segments(tmp_path: Path) -> None:
    code = (
        "import itertools, sys; from pathlib import Path; from tests.models.test_vectors import *;"
        "store = VectorStore(Path(sys.argv[1]), Counting()); print(flush=True);"
        "[store.documents([f'text {n}']) for n in itertools.count()]"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while len(files(tmp_path)) < 20:
            time.sleep(0.01)
        process.kill()
    written = len(list(tmp_path.rglob("*.npy")))
    embedder = Counting()
    texts = numbered(written)
    found = VectorStore(tmp_path, embedder).documents(texts)
    assert found.tobytes() == expected(texts).tobytes()
    assert embedder.seen == []


def test_a_segment_is_read_once_however_many_texts_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = numbered(5_000)
    VectorStore(tmp_path, Counting()).documents(texts)
    read: list[Path] = []
    load = np.load

    def counted(path: Path, **more: Any) -> Any:
        read.append(path)
        return load(path, **more)

    monkeypatch.setattr(np, "load", counted)
    embedder = Counting()
    found = VectorStore(tmp_path, embedder).documents(texts)
    assert sorted(read) == sorted(tmp_path.rglob("*.npy"))
    assert found.tobytes() == expected(texts).tobytes()
    assert embedder.seen == []


def test_an_embedder_that_breaks_its_word(tmp_path: Path) -> None:
    class Short(Counting):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            return expected(texts)[:, :8]

    with pytest.raises(
        ModelError, match=r"'hash' answered with an array of \(1, 8\), not \(1, 16\)"
    ):
        VectorStore(tmp_path, Short()).documents(["x"])
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CatalogError, match=r"vectors cannot be kept in .*file"):
        VectorStore(tmp_path / "file", Counting()).documents(["x"])


def test_another_process_prunes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = (VectorStore(tmp_path, Counting()) for _ in range(2))
    store.documents(numbered(10))
    listed = store._listed()
    other.prune({digest("text 1")})
    monkeypatch.setattr(vectors.VectorStore, "_listed", lambda _: listed)
    assert store.documents(numbered(10)).tobytes() == expected(numbered(10)).tobytes()
