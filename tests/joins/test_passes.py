"""Join evidence whose passes over values workers make: the same bytes as in one process."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dovetail.catalog.reader import CatalogReader
from dovetail.engines.passes import UNABLE, Workers, run_range
from dovetail.joins import candidates, rows, sketches
from dovetail.joins.candidates import (
    SourceOnly,
    group_equal_sets,
    own_source_only,
    prepare_search,
)
from dovetail.joins.columns import (
    ColumnArrays,
    catalog_passes,
    open_values,
)
from dovetail.joins.conditional import split_rows
from dovetail.joins.counting import count_shared
from dovetail.joins.features import PairFeatures, UpperBounds, value_information
from dovetail.joins.graph import JoinGraph
from dovetail.joins.rows import RowQuestions
from dovetail.offline.pipeline import update
from dovetail.ports import Engine, Json, Replies, Tick
from dovetail.settings import Settings
from tests.support.engines import CountingEngine, LosingEngine, counting
from tests.support.files import forget_derived, parts

WORDS = Settings(embedder="none")


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches, "_VALUES", 1_000)
    monkeypatch.setattr(rows, "_CELLS", 2_000)
    monkeypatch.setattr(candidates, "BLOCK", 500)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory, corpus: tuple[Path, ...]) -> Path:
    """Two databases of the sample that may be written to."""
    copy = tmp_path_factory.mktemp("hospital") / "corpus"
    copy.mkdir()
    for path in [path for path in corpus if path.suffix == ".sqlite"][:2]:
        shutil.copy(path, copy)
    return copy


@pytest.fixture(scope="module")
def written_differently(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys that join under a transform alone: by case, by zeros in front, behind a prefix."""
    folder = tmp_path_factory.mktemp("transforms") / "corpus"
    folder.mkdir()
    codes = [f"{chr(65 + n % 26)}{chr(65 + n // 26)}-{n * 7919 % 100_003}" for n in range(400)]
    with closing(sqlite3.connect(folder / "shop.sqlite")) as database:
        database.execute("CREATE TABLE product (product_code TEXT, label TEXT, account TEXT)")
        database.executemany(
            "INSERT INTO product VALUES (?, ?, ?)",
            [(code, f"thing {n}", f"{n * 7907 % 90_001:08}") for n, code in enumerate(codes)],
        )
        database.execute("CREATE TABLE sale (sale_id INTEGER, product_code TEXT, account INTEGER)")
        database.executemany(
            "INSERT INTO sale VALUES (?, ?, ?)",
            [(n, codes[n % 300].lower(), n % 350 * 7907 % 90_001) for n in range(900)],
        )
        database.execute("CREATE TABLE sale_backup AS SELECT * FROM sale WHERE sale_id % 20 > 0")
        database.commit()
    return folder


def test_transforms_are_the_same_by_workers(written_differently: Path, tmp_path: Path) -> None:
    here = indexed(written_differently, tmp_path / "here")
    assert indexed(written_differently, tmp_path / "there", CountingEngine()) == here
    edges = JoinGraph.of(CatalogReader.open(tmp_path / "there")).edges
    assert {edge.transform for edge in edges if edge.transform}


def indexed(sources: Path, into: Path, engine: Engine | None = None) -> dict[str, bytes]:
    update([str(sources)], into=into, settings=WORDS, engine=engine)
    return parts(into)


@pytest.fixture(scope="module")
def indexed_hospital(hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its catalog, made in one process; not to be written to."""
    into = tmp_path_factory.mktemp("here") / "catalog"
    update([str(hospital)], into=into, settings=WORDS)
    return into


@pytest.fixture(scope="module")
def expected(indexed_hospital: Path) -> dict[str, bytes]:
    return parts(indexed_hospital)


def underived(indexed_hospital: Path, into: Path) -> Path:
    """A copy of the catalog that lacks all that is derived from its records."""
    shutil.copytree(indexed_hospital, into)
    forget_derived(into)
    return into


def test_workers_make_the_same_bytes(
    hospital: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    engine = CountingEngine()
    assert indexed(hospital, tmp_path / "catalog", engine) == expected
    tasks = ("set_facts", "holding", "likely_pairs", "count_pairs", "check_rows")
    assert all(engine.done[task] > 1 for task in tasks)


@pytest.mark.parametrize("unable", [False, True], ids=["lost", "unable"])
def test_what_workers_leave_undone_is_done_here(
    unable: bool,
    hospital: Path,
    indexed_hospital: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
) -> None:
    into = underived(indexed_hospital, tmp_path / "catalog")
    assert indexed(hospital, into, LosingEngine(unable=unable)) == expected


@pytest.mark.slow
def test_confined_columns_are_searched_alike_by_workers(
    hospital: Path, indexed_hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_EVERYDAY", 1)
    monkeypatch.setattr(candidates, "_FEW_ALIKE", 1)
    here = indexed(hospital, underived(indexed_hospital, tmp_path / "here"))
    arrays = ColumnArrays.of(CatalogReader.open(tmp_path / "here"))
    common = value_information(arrays).common
    assert own_source_only(arrays, common).flags.any()
    engine = CountingEngine()
    there, unable = (underived(indexed_hospital, tmp_path / name) for name in ("there", "unable"))
    assert indexed(hospital, there, engine) == here
    assert engine.done["likely_pairs"] > 1
    assert indexed(hospital, unable, LosingEngine(unable=True)) == here


def test_a_search_that_was_shared_finds_the_same_pairs_of_each_range(
    indexed_hospital: Path, tmp_path: Path
) -> None:
    """And a node that does not see what is shared says so."""
    catalog = CatalogReader.open(indexed_hospital)
    arrays = ColumnArrays.of(catalog)
    information = value_information(arrays)
    chosen = np.ones(len(arrays), dtype=np.bool_), arrays.key
    groups, everywhere = group_equal_sets(arrays.values), SourceOnly.of_none(len(arrays))
    features = PairFeatures.of_columns(arrays, information)
    bounds = UpperBounds(features, running=True)
    search = prepare_search(arrays, groups, bounds, chosen, everywhere)
    shared = {"search": search, "bounds": bounds}
    ranges = search.ranges()
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == len(search.child_groups)
    here = arrays.values.passes.run(candidates.likely_pairs, ranges, shared)
    _, workers = counting()
    with catalog_passes(catalog, workers) as passes:
        there = passes.run(candidates.likely_pairs, ranges, shared)
    for one, other in zip(here, there, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert sum(len(part["child"]) for part in here) > 10
    job = {"shared": str(tmp_path / "nowhere"), "first": 0, "last": 1}
    assert run_range(job, tmp_path, lambda _: None) == UNABLE


@pytest.mark.slow
def test_an_update_by_workers_makes_the_same_bytes(hospital: Path, tmp_path: Path) -> None:
    source = tmp_path / "corpus"
    shutil.copytree(hospital, source)
    indexed(source, tmp_path / "here")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    with closing(sqlite3.connect(next(source.glob("*.sqlite")))) as database:
        database.execute("CREATE TABLE extra (extra_id INTEGER, patient_id INTEGER)")
        database.executemany("INSERT INTO extra VALUES (?, ?)", [(i, i % 50) for i in range(90)])
        database.commit()
    here = indexed(source, tmp_path / "here")
    assert indexed(source, tmp_path / "there", CountingEngine()) == here


def test_groups_and_counts_are_those_of_one_process(indexed_hospital: Path) -> None:
    catalog = CatalogReader.open(indexed_hospital)
    _, workers = counting()
    with catalog_passes(catalog, workers) as passes:
        here, there = ColumnArrays.of(catalog), ColumnArrays.of(catalog, passes=passes)
        one, other = group_equal_sets(here.values), group_equal_sets(there.values)
        assert np.array_equal(one.group_of, other.group_of)
        assert all(map(np.array_equal, one.values, other.values))
        random = np.random.default_rng(1)
        child, parent = np.sort(random.integers(0, len(here), (2, 500)), axis=1)
        counted = count_shared(here.values, child, here.values, parent)
        assert counted[0].any()
        assert np.array_equal(count_shared(there.values, child, there.values, parent), counted)


def test_a_node_that_sees_another_catalog_says_so(indexed_hospital: Path, tmp_path: Path) -> None:
    catalog = CatalogReader.open(indexed_hospital)
    contents = catalog.records.contents
    about = {"catalog": str(catalog.folder), "manifest": "manifest.json", "contents": contents}
    assert len(open_values(about).distinct) >= len(catalog.records.columns)
    opener = "dovetail.joins.columns:open_values"
    for wrong in ({"contents": "0" * 16}, {"catalog": str(tmp_path / "nowhere")}):
        told = json.dumps({**about, **wrong})
        job = {"shared": str(tmp_path), "open": opener, "about": told, "first": 0, "last": 1}
        assert run_range(job, tmp_path, lambda _: None) == UNABLE


def test_what_a_worker_cannot_read_is_read_here(hospital: Path, tmp_path: Path) -> None:
    """The source is gone for workers, as where a node has no credentials."""
    source = tmp_path / "corpus"
    shutil.copytree(hospital, source)
    catalog = update([str(source)], into=tmp_path / "c", settings=WORDS).catalog
    tables = sorted(catalog, key=lambda each: -each.rows)[:2]
    column = {"column": 0, "splits": [1], "parents": [0]}
    asked = [{"table": [t.id.source, t.id.name], **column} for t in tables]
    with catalog_passes(catalog) as passes:
        expected = RowQuestions(passes).ask(split_rows, asked)
    away, engine = Away(source), CountingEngine()
    with catalog_passes(catalog, Workers(away)) as passes:
        questions = RowQuestions(passes)
        assert questions.ask(split_rows, asked) == expected
        assert away.jobs == 2
        assert questions.complete
    source.rename(tmp_path / "gone")
    with catalog_passes(catalog, Workers(engine)) as passes:
        questions = RowQuestions(passes)
        questions.ask(split_rows, asked)
        assert not questions.complete


class Away(CountingEngine):
    """An engine that does not see a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder, self.jobs = folder, 0

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        away = self._folder.with_name("away")
        self._folder.rename(away)
        replies = list(super().map(task, jobs, into, tick))
        away.rename(self._folder)
        self.jobs += len(replies)
        yield from replies


def test_an_empty_catalog_has_no_passes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "empty.sqlite")) as database:
        database.execute("CREATE TABLE empty (a)")
    catalog = update([str(tmp_path / "empty.sqlite")], into=tmp_path / "c", settings=WORDS).catalog
    with catalog_passes(catalog, Workers(LosingEngine())) as passes:
        groups = group_equal_sets(ColumnArrays.of(catalog, passes=passes).values)
    assert len(groups) == 0
    assert groups.group_of.tolist() == [-1]
