"""Evidence brought up to date is evidence worked out anew, whatever became of the tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.domain import TableId
from dovetail.joins import cache
from dovetail.joins.cache import edges_among, join_edges, work_out
from dovetail.joins.column_arrays import Ints, Lake
from dovetail.joins.inclusion import candidates
from dovetail.joins.scoring import foreign_key
from dovetail.joins.scoring.registry import SCORINGS
from dovetail.offline.build import update
from dovetail.offline.progress import Progress

# Columns of every sort: keys and references by one name, sparse ids, words, measures, nothing.
NAMES = ("id", "customer_id", "customer", "order_no", "city", "amount")
VALUES = {
    "id": st.integers(1, 12),
    "customer_id": st.integers(1, 12),
    "customer": st.integers(10_000, 10_008),
    "order_no": st.sampled_from([f"N{n}" for n in range(9)]),
    "city": st.sampled_from(["Bath", "York", "Ely", ""]),
    "amount": st.integers(0, 99),
}
TABLES = ("customer", "orders", "city", "customers_old", "visit")


@st.composite
def contents(draw: st.DrawFn) -> str:
    columns = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(0, 12))
    cells = []
    for name in columns:
        unique = draw(st.booleans()) and name != "city" and rows <= 9
        values = st.lists(VALUES[name], min_size=rows, max_size=rows, unique=unique)
        cells.append([str(value) for value in draw(values)])
    lines = [",".join(columns), *(",".join(row) for row in zip(*cells, strict=True))]
    return "\n".join(lines) + "\n"


STEP = st.dictionaries(st.sampled_from(TABLES), st.none() | contents(), min_size=1, max_size=2)


@settings(deadline=None, max_examples=25)
@given(
    st.dictionaries(st.sampled_from(TABLES), contents(), min_size=2),
    st.lists(STEP, min_size=1, max_size=4),
)
def test_an_update_is_a_rebuild(first: dict[str, str], steps: list[dict[str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_MOST_FRESH", 1)
        patch.setattr(foreign_key, "_MOST_FRESH", 1)
        folder = Path(name) / "lake"
        folder.mkdir()
        (folder / "always.csv").write_text("always_id,customer_id\n1,2\n2,3\n3,3\n")
        for number, step in enumerate((dict[str, str | None](first), *steps)):
            for table, text in step.items():
                file = folder / f"{table}.csv"
                file.unlink(missing_ok=True)
                if text is not None:
                    file.write_text(text)
            updated = dovetail.build(str(folder), into=Path(name) / "updated")
            rebuilt = dovetail.build(str(folder), into=Path(name) / f"rebuilt{number}")
            for known in SCORINGS:
                assert join_edges(updated, known.name) == work_out(rebuilt, known.name)


class Initials:
    """An embedder whose vectors count first letters: enough to tell what was asked of it."""

    model_id, dimension = "initials", 26

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked.append(list(texts))
        found = np.zeros((len(texts), 26), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            for word in text.split():
                row[ord(word[0]) - ord("a")] += 1
        unit: npt.NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self.embed_documents(texts)


def test_headers_are_embedded_in_one_call_and_weigh_half_of_the_name(tmp_path: Path) -> None:
    (tmp_path / "City.csv").write_text("cityId\n1\n2\n3\n4\n")
    (tmp_path / "shop.csv").write_text("town_no,size\n1,9\n1,8\n2,7\n")
    catalog = update([str(tmp_path)], into=tmp_path / ".catalog", joins=False, search=False).catalog
    (plain,) = join_edges(catalog, "paper")
    assert plain.score == 0.5 * (2 / 4)
    assert plain.evidence["lexical_only"] == 1.0
    embedder = Initials()
    (edge,) = join_edges(catalog, "paper", embedder=embedder)
    assert embedder.asked == [["city city id", "shop town no", "shop size"]]
    # "city city id" and "shop town no" share no initial, so nothing is added.
    assert (edge.evidence["semantic"], edge.score) == (0.0, 0.25)
    assert "lexical_only" not in edge.evidence
    (tmp_path / "shop.csv").write_text("cost_idx,size\n1,9\n1,8\n2,7\n")
    catalog = update([str(tmp_path)], into=tmp_path / ".catalog", joins=False, search=False).catalog
    (edge,) = join_edges(catalog, "paper", embedder=embedder)
    # (2, 0, 1) and (1, 1, 1) of the letters c, s and i.
    cosine = 3 / np.sqrt(5 * 3)
    assert edge.evidence["semantic"] == pytest.approx(cosine, abs=1e-6)
    assert edge.score == pytest.approx(0.5 * (2 / 4) + 0.5 * (0 + cosine) / 2, abs=1e-6)
    assert join_edges(catalog, "jar", embedder=embedder)[0].evidence["semantic"] > 0.7


def test_what_an_update_keeps_is_not_counted_again(
    corpus: tuple[Path, ...], tmp_path: Path
) -> None:
    sources = [f"{path.name}={path}" for path in corpus]
    catalog = dovetail.build(*sources, into=tmp_path / "catalog")
    before = join_edges(catalog)
    (tmp_path / "visits.csv").write_text("visit_id,school_id\n1,S1\n2,S2\n")
    counted: list[int] = []
    common = candidates.common

    def counting(lake: Lake, child: Ints, *rest: Any) -> tuple[Ints, Ints]:
        counted.append(len(child))
        return common(lake, child, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "common", counting)
        grown = dovetail.build(str(tmp_path / "visits.csv"), into=tmp_path / "catalog")
    assert sum(counted) < 20
    assert len(before) > 60
    again = dovetail.build(*sources, str(tmp_path / "visits.csv"), into=tmp_path / "again")
    assert join_edges(grown) == join_edges(again)


def test_evidence_is_there_after_an_update_as_if_it_had_been_asked_for(
    corpus: tuple[Path, ...], tmp_path: Path
) -> None:
    seen: list[Progress] = []
    source = [f"{path.name}={path}" for path in corpus if path.name == "shop.sqlite"]
    eager = update(source, into=tmp_path / "eager", on_progress=seen.append).catalog
    assert [(news.done, news.total) for news in seen if news.phase == "join"] == [(0, 2), (1, 2)]
    (file,) = (eager.path / cache.FOLDER).glob("*-keylike-*.parquet")
    written = file.stat().st_mtime_ns
    lazy = update(source, into=tmp_path / "lazy", joins=False, search=False).catalog
    assert not (lazy.path / cache.FOLDER).exists()
    assert join_edges(eager) == join_edges(lazy)
    assert file.stat().st_mtime_ns == written
    (same,) = (lazy.path / cache.FOLDER).glob("*-keylike-*.parquet")
    assert same.name == file.name


@pytest.mark.parametrize("name", ["keylike", "paper", "jar"])
def test_edges_among_a_few_tables_are_those_of_the_whole(
    name: str, corpus: tuple[Path, ...], tmp_path: Path
) -> None:
    sources = [f"{path.name}={path}" for path in corpus]
    catalog = update(sources, into=tmp_path / "catalog", joins=False, search=False).catalog
    few = [table for table in catalog.ids if table.source == "civic.sqlite"]
    alone = edges_among(catalog, few, name)
    pairwise = name != "keylike"
    assert (catalog.path / cache.FOLDER).exists() is not pairwise
    whole = join_edges(catalog, name)
    inside = [edge for edge in whole if edge.left in few and edge.right in few]
    assert alone == inside == edges_among(catalog, few, name)
    assert alone
    assert edges_among(catalog, [TableId("no", "where")], name) == []
