"""The catalog as a whole: what it gives back, how it is laid out, how it is updated."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.catalog import writer
from dovetail.errors import LockedError, NotFoundError, UsageError
from dovetail.offline.summary import Progress
from dovetail.settings import Settings
from tests.support.contents import contents


def write(folder: Path, name: str, rows: int, start: int = 0) -> Path:
    path = folder / f"{name}.csv"
    lines = ["id,w", *(f"{number},x" for number in range(start, start + rows))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_every_table_of_the_sample_is_there(sample: dovetail.Catalog) -> None:
    assert len(sample) == 77
    assert [table.id for table in sample] == sorted(sample.ids)
    assert sample.skipped == ()
    orders = [table for table in sample if table.name == "orders"]
    assert [table.id.source for table in orders] == ["shop.sqlite", "warehouse.duckdb"]


def test_a_table_is_found_by_name_id_or_case(sample: dovetail.Catalog) -> None:
    assert sample["rollingstock"].id == dovetail.TableId("civic.sqlite", "RollingStock")
    assert sample["shop.sqlite::orders"].rows == 600
    assert sample[dovetail.TableId("lake", "students")].column("student_no").profile.unique
    with pytest.raises(UsageError, match=r"2 tables named orders; say which: shop\.sqlite::orders"):
        sample["orders"]
    with pytest.raises(NotFoundError, match="no table 'nonsense' in "):
        sample["nonsense"]
    with pytest.raises(NotFoundError, match="no column 9"):
        sample.reader.hashes(dovetail.TableId("shop.sqlite", "status"), 9)


def test_dirty_keys_come_through_as_they_are(sample: dovetail.Catalog) -> None:
    """A text key meets its integer parent, orphans stay outside, counts add up to the rows."""
    schools, meals = sample["civic.sqlite::schools"], sample["meal_programs"]
    parent, child = sample.reader.hashes(schools.id, 0), sample.reader.hashes(meals.id, 0)
    assert meals.columns[0].type == "VARCHAR"
    assert np.isin(child, parent).all()
    patients, admissions = sample["patients"], sample["admissions"]
    inside = np.isin(sample.reader.hashes(admissions.id, 1), sample.reader.hashes(patients.id, 0))
    counts = sample.reader.counts(admissions.id, 1)
    assert int(counts.sum()) == admissions.rows == 700
    assert int(counts[~inside].sum()) == 21


def test_the_files_are_readable_without_dovetail(sample: dovetail.Catalog) -> None:
    manifest = json.loads((sample.folder / "manifest.json").read_text())
    records = sample.folder / "generations/00000001/records"
    tables, columns = (
        pa.ipc.open_file(records / f"{name}.arrow").read_all() for name in ("tables", "columns")
    )
    assert (manifest["version"], manifest["generation"]) == (5, 1)
    assert tables.num_rows == 77
    assert sum(tables["columns"].to_pylist()) == columns.num_rows
    first = tables.slice(0, 1).to_pylist()[0]
    hashes = np.load(sample.folder / "segments" / first["segment"] / "hashes.npy", mmap_mode="r")
    column = columns.slice(0, 1).to_pylist()[0]
    vector = hashes[column["hashes_at"] :][: column["distinct"]]
    assert vector.tolist() == sample.reader.hashes(sample.ids[0], 0).tolist()
    assert np.all(vector[1:] > vector[:-1])


@pytest.mark.slow
def test_the_same_inputs_give_the_same_bytes(corpus: tuple[Path, ...], tmp_path: Path) -> None:
    def files(into: Path, workers: int) -> dict[str, bytes]:
        dovetail.build(*map(str, corpus), into=into, settings=Settings(workers=workers))
        found = [path for path in into.rglob("*") if path.is_file() and path.name != "lock"]
        return {str(path.relative_to(into)): path.read_bytes() for path in found}

    assert files(tmp_path / "one", 1) == files(tmp_path / "two", 2)


def test_an_update_reads_only_what_changed(tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    lake.mkdir()
    for name in ("a", "b", "c", "d"):
        write(lake, name, 10)
    first = dovetail.update([str(lake)], into=into)
    assert ([t.name for t in first.added], first.unchanged) == (["a", "b", "c", "d"], 0)

    assert reads(into) == []
    write(lake, "b", 11)
    (lake / "c.csv").unlink()
    write(lake, "e", 3)
    report = dovetail.update(into=into)
    named = [[t.name for t in ids] for ids in (report.added, report.changed, report.dropped)]
    assert named == [["e"], ["b"], ["c"]]
    assert report.unchanged == 2
    assert report.catalog["b"].rows == 11
    assert reads(into) == []

    content = (lake / "a.csv").read_bytes()
    (lake / "a.csv").write_bytes(content)  # touched, not changed
    assert reads(into) == []
    assert reads(into, check=True) == ["a", "b", "d", "e"]


def reads(into: Path, *, check: bool = False) -> list[str]:
    """The tables that an update reads, which must find nothing new in them."""
    seen: set[str] = set()

    def on_progress(progress: Progress) -> None:
        if progress.phase == "read" and progress.detail:
            seen.add(progress.detail.split("::")[1].split(",")[0])

    before = dovetail.open(into)
    report = dovetail.update(into=into, check=check, on_progress=on_progress)
    assert (report.added, report.changed, report.dropped) == ((), (), ())
    assert report.catalog.reader.manifest.profile == before.reader.manifest.profile
    assert contents(report.catalog) == contents(before)
    return sorted(seen)


def test_one_changed_table_of_a_database_is_the_only_change(tmp_path: Path) -> None:
    path, into = tmp_path / "shop.sqlite", tmp_path / "catalog"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1), (2);"
            "CREATE TABLE b (x INTEGER); INSERT INTO b VALUES (1);"
        )
        dovetail.build(str(path), into=into)
        connection.execute("UPDATE a SET x = 3 WHERE x = 2")
        connection.commit()
    report = dovetail.update(into=into)
    assert ([t.name for t in report.changed], report.unchanged) == (["a"], 1)


def test_sources_are_added_and_forgotten_by_label(tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    first, second = write(tmp_path, "first", 2), write(tmp_path, "second", 2)
    dovetail.build(f"one={first}", into=into)
    assert [str(t) for t in dovetail.build(f"two={second}", into=into).ids] == [
        "one::first",
        "two::second",
    ]
    report = dovetail.update(into=into, forget=["one"])
    assert [str(t) for t in report.dropped] == ["one::first"]
    assert [str(t) for t in dovetail.open(into).ids] == ["two::second"]
    with pytest.raises(UsageError, match="no source 'one' to forget; there are: two"):
        dovetail.update(into=into, forget=["one"])


def test_a_label_belongs_to_one_place(here: Path) -> None:
    """The same relative name in two folders is two sources; a moved one keeps its label."""
    for folder in ("x", "y"):
        (here / folder).mkdir()
        write(here / folder, "t", 2)
    into = here / "catalog"
    import os

    os.chdir(here / "x")
    dovetail.build("t.csv", into=into)
    os.chdir(here / "y")
    catalog = dovetail.build("t.csv", into=into)
    assert [t.source for t in catalog.ids] == [str(here / "y" / "t.csv"), "t.csv"]
    shutil.move(here / "x" / "t.csv", here / "moved.csv")
    os.chdir(here)
    assert dovetail.build("t.csv=moved.csv", into=into).ids == [
        dovetail.TableId(str(here / "y" / "t.csv"), "t"),
        dovetail.TableId("t.csv", "moved"),
    ]


def test_patterns_choose_tables(corpus: tuple[Path, ...], tmp_path: Path) -> None:
    lake = next(path for path in corpus if path.name == "lake")
    chosen = Settings(include=("*e*",), exclude=("*::people", "dep*"))
    catalog = dovetail.build(f"lake={lake}", into=tmp_path / "catalog", settings=chosen)
    names = [table.name for table in catalog.ids]
    assert names == ["courses", "enrolments", "meter_readings", "offerings", "students", "t_rel_2"]
    all_of_them = dovetail.build(f"lake={lake}", into=tmp_path / "catalog")
    assert len(all_of_them) == 9


def test_another_way_of_profiling_reads_everything_again(tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    sources = [str(write(tmp_path, name, 3)) for name in "ab"]
    dovetail.build(*sources, into=into)
    report = dovetail.update(sources[:1], into=into, settings=Settings(sample_rows=2))
    assert len(report.catalog) == 2
    assert report.catalog.reader.manifest.profile["sample_rows"] == 2


@pytest.mark.parametrize("at_once", [1 << 15, 3])
def test_small_segments_are_merged(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_SMALL_SEGMENTS", 4)
    monkeypatch.setattr(writer, "_AT_ONCE", at_once)
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    lake.mkdir()
    for number in range(7):
        write(lake, f"t{number:02d}", 20 + number, start=number)
        catalog = dovetail.build(str(lake), into=into)
        assert len(catalog.reader.manifest.segments) <= 5
    fresh = dovetail.build(str(lake), into=tmp_path / "fresh")
    assert contents(catalog) == contents(fresh)
    assert contents(dovetail.open(into)) == contents(fresh)


def test_small_segments_with_tables_and_columns_without_values_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_SMALL_SEGMENTS", 1)
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(4):
        (lake / f"empty_{number}.csv").write_text("id,name\n")
        (lake / f"blank_{number}.csv").write_text(f"id,note\n{number},\n{number + 1},\n")
        catalog = dovetail.build(str(lake), into=tmp_path / "catalog")
    assert len(catalog.reader.manifest.segments) == 1
    fresh = dovetail.build(str(lake), into=tmp_path / "fresh")
    assert contents(catalog) == contents(fresh)
    assert catalog.reader.records.columns["distinct"].to_pylist() == [2, 0] * 4 + [0, 0] * 4


ACTION = st.tuples(
    st.sampled_from("abcde"), st.sampled_from(["write", "drop", "touch"]), st.integers(0, 4)
)


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(ACTION, max_size=4), min_size=1, max_size=4))
def test_updates_come_to_what_a_rebuild_does(
    tmp_path: Path, rounds: list[list[tuple[str, str, int]]]
) -> None:
    shutil.rmtree(tmp_path)
    lake = tmp_path / "lake"
    lake.mkdir(parents=True)
    write(lake, "always", 2)
    for actions in rounds:
        for name, action, rows in actions:
            path = lake / f"{name}.csv"
            if action == "write":
                write(lake, name, rows)
            elif action == "drop":
                path.unlink(missing_ok=True)
            elif path.exists():
                path.touch()
        updated = dovetail.build(str(lake), into=tmp_path / "updated")
    rebuilt = dovetail.build(str(lake), into=tmp_path / "rebuilt")
    assert contents(updated) == contents(rebuilt)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = write(tmp_path, "t", 2)
    with writer.writing(tmp_path / "catalog"), pytest.raises(LockedError, match=r"process \d+ on"):
        dovetail.build(str(path), into=tmp_path / "catalog")


def test_nothing_named_and_nothing_known_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name a source"):
        dovetail.build(into=tmp_path / "catalog")
    with pytest.raises(NotFoundError, match="there is no catalog at"):
        dovetail.open(tmp_path / "nowhere")


def test_tables_by_their_names_are_those_of_the_catalog(sample: dovetail.Catalog) -> None:
    whole = list(sample)
    named = sample.reader.records.named_tables()
    assert [(table.id, table.rows, table.comment) for table in named] == [
        (table.id, table.rows, table.comment) for table in whole
    ]
    for one, other in zip(named, whole, strict=True):
        assert [(column.name, column.comment) for column in one.columns] == [
            (column.name, column.comment) for column in other.columns
        ]
