"""Embeddings of a catalog: which texts, embedded once, kept while they are in force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dovetail import plugins
from dovetail.engines.passes import Workers
from dovetail.errors import ModelError
from dovetail.models.vectors import VectorStore
from dovetail.offline.pipeline import update
from dovetail.ports import Embedder
from dovetail.search.dense import HeaderVectors
from dovetail.search.embeddings import FOLDER, DistributedEmbedder, embed_catalog, like_tables
from dovetail.settings import Settings
from tests.models.test_vectors import Counting, expected, numbered
from tests.search.test_lexical import table
from tests.support.engines import LosingEngine, counting
from tests.support.searchers import part_of

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
    here_alone = stored(tmp_path / "one", Counting())
    assert stored(tmp_path / "many", spread) == here_alone
    assert len(here_alone[1]) == 3
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


def write(folder: Path, name: str, header: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text(f"{header}\n1,2\n")


def embedded(folder: Path, into: Path, embedder: Counting) -> list[str]:
    """The texts that an update has embedded anew."""
    catalog = update([str(folder)], into=into, settings=Settings(embedder="none")).catalog
    before = len(embedder.seen)
    embeddings = embed_catalog(catalog, embedder)
    assert embeddings is not None
    assert len(embeddings.tables) == len(catalog)
    assert len(embeddings.headers) == len(catalog.records.columns)
    return embedder.seen[before:]


def kept(into: Path) -> int:
    return sum(len(np.load(path)) for path in (into / FOLDER).rglob("*.npy"))


def test_each_text_is_embedded_once_and_kept_while_it_is_in_force(tmp_path: Path) -> None:
    folder, into, embedder = tmp_path / "files", tmp_path / "catalog", Counting()
    write(folder, "orders", "id,customer_id")
    write(folder, "towns", "id,name")
    texts = embedded(folder, into, embedder)
    assert sorted(texts) == [
        *("orders customer id", "orders id", "orders: id, customer id"),
        *("towns id", "towns name", "towns: id, name"),
    ]
    assert kept(into) == 6
    (folder / "towns.csv").unlink()
    write(folder, "rivers", "id,length")
    assert sorted(embedded(folder, into, embedder)) == [
        *("rivers id", "rivers length", "rivers: id, length")
    ]
    assert kept(into) == 6
    assert embedded(folder, into, embedder) == []
    write(folder, "towns", "id,name")
    assert sorted(embedded(folder, into, embedder)) == ["towns id", "towns name", "towns: id, name"]


def test_a_column_has_the_vector_of_its_header_after_its_table_or_one_like_it(
    tmp_path: Path,
) -> None:
    folder, embedder = tmp_path / "files", Counting()
    write(folder, "sales_2019", "id,Amount")
    write(folder, "sales_2020", "Amount,id")
    catalog = update(
        [str(folder)], into=tmp_path / "catalog", settings=Settings(embedder="none")
    ).catalog
    embeddings = embed_catalog(catalog, embedder)
    assert embeddings is not None
    line, headers = "sales 2020: amount, id", ["sales 2020 id", "sales 2020 amount"]
    assert embeddings.tables.tobytes() == expected([line, line]).tobytes()
    own = expected([*headers, *headers[::-1]])
    assert (embeddings.headers.of(slice(None)) == own.astype(np.float16)).all()


def test_tables_are_alike_by_names_without_digits_columns_in_any_order_and_comment() -> None:
    tables = [
        table(0, "gsod1929", "stn", "temp"),
        table(1, "gsod1930", "temp", "stn"),
        table(2, "gsod1931", "stn", "temp", "wban"),
        table(3, "gsod", "stn", "temp"),
        table(4, "gsod7", "stn", "temp"),
    ]
    assert like_tables(tables) == [4, 4, 2, 3, 4]
    tables[4] = replace(tables[4], comment="another")
    assert like_tables(tables) == [1, 1, 2, 3, 4]


def test_columns_of_one_header_share_its_vector(tmp_path: Path) -> None:
    vectors = np.eye(3, dtype=np.float16)
    headers = HeaderVectors(vectors, np.array([2, 0, 2, 1], dtype=np.int32))
    headers.save(tmp_path)
    loaded = HeaderVectors.load(part_of(tmp_path))
    assert len(loaded) == 4
    assert loaded.of(slice(1, 3)).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (loaded.of(np.array([3, 0])) == headers.of(np.array([3, 0]))).all()
    np.save(tmp_path / "header_of.npy", np.array([3], dtype=np.int32))
    with pytest.raises(ValueError, match=str(tmp_path)):
        HeaderVectors.load(part_of(tmp_path))
