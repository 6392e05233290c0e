"""Join evidence whose passes over values workers make: the same bytes as in one process."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dovetail.catalog.reader import CatalogReader
from dovetail.engines.workers import UNABLE, Workers
from dovetail.families import pair_counts
from dovetail.families.stored import families_of
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.distributed import distributed_columns, distributed_rows, segments
from dovetail.joins.distributed.column_values import about, opened_here, values_of
from dovetail.joins.distributed.distributed_columns import DistributedColumns, ValuePasses
from dovetail.joins.distributed.shared_arrays import read_shared, write_shared
from dovetail.joins.distributed.tasks import check_rows, likely_pairs
from dovetail.joins.graph import JoinGraph
from dovetail.joins.inclusion import candidate_search, confinement
from dovetail.joins.inclusion.candidate_search import CandidateSearch
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.inclusion.equal_sets import group_equal_sets
from dovetail.joins.inclusion.prepare_search import prepare_search
from dovetail.joins.scoring.features import PairFeatures
from dovetail.joins.scoring.upper_bounds import UpperBounds
from dovetail.joins.scoring.value_information import value_information
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS
from dovetail.offline.pipeline import update
from dovetail.ports import Engine
from dovetail.search import values
from dovetail.settings import Settings
from tests.support.engines import CountingEngine, LosingEngine, counting
from tests.support.files import tree


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_columns, "_VALUES", 5_000)
    monkeypatch.setattr(distributed_columns, "_FEW", 1)
    monkeypatch.setattr(segments, "_FEW", 1)
    monkeypatch.setattr(distributed_rows, "_CELLS", 2_000)
    monkeypatch.setattr(candidate_search, "BLOCK", 500)


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
    engine = CountingEngine()
    assert indexed(written_differently, tmp_path / "there", engine) == here
    assert engine.done["sharing"] > 1
    edges = JoinGraph.of(CatalogReader.open(tmp_path / "there")).edges
    assert {edge.transform for edge in edges if edge.transform}


def test_families_and_phrases_are_the_same_by_workers(
    written_differently: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_counts, "_LARGE", 1)
    monkeypatch.setattr(values, "_FEW", 1)
    trees = []
    engine = CountingEngine()
    for number, by in enumerate((None, engine, LosingEngine(unable=True))):
        into, settings = tmp_path / str(number), Settings(embedder="none")
        update([str(written_differently)], into=into, joins=False, search=False)
        update(into=into, engine=by, settings=settings)
        trees.append(tree(into))
    assert trees[0] == trees[1] == trees[2]
    assert engine.done["sort_phrases"] == 1
    catalog = CatalogReader.open(tmp_path / "1")
    assert [len(family.members) for family in families_of(catalog)] == [2]
    counted = engine.done["count_pairs"]
    (tmp_path / "1" / "families").rename(tmp_path / "before")
    update(into=tmp_path / "1", engine=engine, settings=Settings(embedder="none"))
    assert engine.done["count_pairs"] > counted
    assert tree(tmp_path / "1") == trees[0]


def indexed(sources: Path, into: Path, engine: Engine | None = None) -> dict[str, bytes]:
    update([str(sources)], into=into, search=False, engine=engine)
    return tree(into)


@pytest.fixture(scope="module")
def expected(hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return indexed(hospital, tmp_path_factory.mktemp("here") / "catalog")


def test_workers_make_the_same_bytes(
    hospital: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    engine = CountingEngine()
    assert indexed(hospital, tmp_path / "catalog", engine) == expected
    tasks = ("set_facts", "index_range", "holding", "likely_pairs", "count_pairs", "check_rows")
    assert all(engine.done[task] > 1 for task in tasks)


@pytest.mark.parametrize("unable", [False, True], ids=["lost", "unable"])
def test_what_workers_leave_undone_is_done_here(
    unable: bool, hospital: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    into = tmp_path / "catalog"
    update([str(hospital)], into=into, joins=False, search=False)
    assert indexed(hospital, into, LosingEngine(unable=unable)) == expected


def test_confined_columns_are_searched_alike_by_workers(
    hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement, "_EVERYDAY", 1)
    monkeypatch.setattr(confinement, "_FEW_KEYS", 1)
    here = indexed(hospital, tmp_path / "here")
    arrays = ColumnArrays.of(CatalogReader.open(tmp_path / "here"))
    common = value_information(arrays, DEFAULT_WEIGHTS).common
    assert confinement.confinement(arrays, common).confined.any()
    engine = CountingEngine()
    assert indexed(hospital, tmp_path / "there", engine) == here
    assert engine.done["likely_pairs"] > 1
    into = tmp_path / "unable"
    update([str(hospital)], into=into, joins=False, search=False)
    assert indexed(hospital, into, LosingEngine(unable=True)) == here


def searched(catalog: CatalogReader) -> tuple[CandidateSearch, UpperBounds]:
    """The search for foreign keys of a catalog, and the bounds of their scores."""
    arrays = ColumnArrays.of(catalog)
    information = value_information(arrays, DEFAULT_WEIGHTS)
    search = prepare_search(arrays, group_equal_sets(arrays), information.distinctive)
    features = PairFeatures.of_columns(arrays, information)
    return search, UpperBounds(features, DEFAULT_WEIGHTS).of_groups(search.mine, search.theirs)


def test_a_search_that_was_shared_finds_the_same_pairs_of_each_range(
    hospital: Path, tmp_path: Path
) -> None:
    """And a node that does not see what is shared says so."""
    catalog = update([str(hospital)], into=tmp_path / "c", joins=False, search=False).catalog
    search, bounds = searched(catalog)
    write_shared(search, tmp_path / "search")
    write_shared(bounds, tmp_path / "bounds")
    same = read_shared(CandidateSearch, tmp_path / "search")
    mapped = read_shared(UpperBounds, tmp_path / "bounds")
    ranges = list(search.ranges())
    assert list(same.ranges()) == ranges
    assert [ranges[0][0], *(last for _, last in ranges)] == [
        *(first for first, _ in ranges),
        len(search.mine),
    ]
    found = 0
    with opened_here():
        for first, last in ranges:
            expected = [np.stack(pair) for pair in search.pairs(first, last, bounds)]
            again = [np.stack(pair) for pair in same.pairs(first, last, mapped)]
            assert all(map(np.array_equal, expected, again))
            job = {"given": str(tmp_path), "first": first, "last": last}
            pairs = sum(pair.shape[1] for pair in expected)
            assert likely_pairs(job, tmp_path, lambda _: None) == {"pairs": pairs}
            found += pairs
        job = {"given": str(tmp_path / "nowhere"), "first": 0, "last": 1}
        assert likely_pairs(job, tmp_path, lambda _: None) == UNABLE
    assert found > 10


def test_an_update_by_workers_makes_the_same_bytes(hospital: Path, tmp_path: Path) -> None:
    source = tmp_path / "corpus"
    shutil.copytree(hospital, source)
    for name in ("here", "there"):
        indexed(source, tmp_path / name)
    with closing(sqlite3.connect(next(source.glob("*.sqlite")))) as database:
        database.execute("CREATE TABLE extra (extra_id INTEGER, patient_id INTEGER)")
        database.executemany("INSERT INTO extra VALUES (?, ?)", [(i, i % 50) for i in range(90)])
        database.commit()
    here = indexed(source, tmp_path / "here")
    assert indexed(source, tmp_path / "there", CountingEngine()) == here


def test_groups_and_counts_are_those_of_one_process(
    hospital: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    del expected
    catalog = update([str(hospital)], into=tmp_path / "c", joins=False, search=False).catalog
    _, workers = counting()
    passes = ValuePasses(catalog, workers, tmp_path)
    here = ColumnArrays.of(catalog)
    there = ColumnArrays.of(catalog, value_hashes=DistributedColumns(passes))
    one, other = group_equal_sets(here), group_equal_sets(there)
    assert np.array_equal(one.group_of, other.group_of)
    assert all(map(np.array_equal, one.value_hashes, other.value_hashes))
    random = np.random.default_rng(1)
    child, parent = np.sort(random.integers(0, len(here), (2, 3_000)), axis=1)
    counted = count_shared(here, child, here.value_hashes, parent)
    assert counted[0].any()
    assert np.array_equal(count_shared(there, child, there.value_hashes, parent), counted)


def test_a_node_that_sees_another_catalog_says_so(hospital: Path, tmp_path: Path) -> None:
    catalog = update([str(hospital)], into=tmp_path / "c", joins=False, search=False).catalog
    job = about(catalog)
    found = values_of(job)
    assert found is not None
    assert len(found) == len(catalog.records.columns)
    assert values_of({**job, "contents": "0" * 16}) is None
    assert values_of({**job, "catalog": str(tmp_path / "nowhere")}) is None


def test_what_a_worker_cannot_read_is_read_here(hospital: Path, tmp_path: Path) -> None:
    """The source is gone for workers, as where a node has no credentials; then it is back."""
    source = tmp_path / "corpus"
    shutil.copytree(hospital, source)
    catalog = update([str(source)], into=tmp_path / "c", joins=False, search=False).catalog
    table = max(catalog, key=lambda each: each.rows)
    question = {"table": [table.id.source, table.id.name], "columns": [0, 1]}
    job = {**about(catalog), "check": "first_key", "questions": [question]}
    with opened_here():
        source.rename(tmp_path / "away")
        assert check_rows(job, tmp_path, lambda _: None) == UNABLE
        assert check_rows({**job, "contents": "0" * 16}, tmp_path, lambda _: None) == UNABLE
    (tmp_path / "away").rename(source)
    with opened_here():
        assert "answers" in check_rows(job, tmp_path, lambda _: None)


def test_an_empty_catalog_has_no_passes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "empty.sqlite")) as database:
        database.execute("CREATE TABLE empty (a)")
    catalog = update([str(tmp_path / "empty.sqlite")], into=tmp_path / "c", search=False).catalog
    passes = ValuePasses(catalog, Workers(LosingEngine()), tmp_path)
    groups = group_equal_sets(ColumnArrays.of(catalog, value_hashes=DistributedColumns(passes)))
    assert len(groups) == 0
    assert groups.group_of.tolist() == [-1]
