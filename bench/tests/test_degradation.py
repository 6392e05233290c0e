"""Corpora made worse: how much of what is injected, what stays, and that it can be had again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from dovetail.domain import TableId
from dovetail_bench.datasets import ForeignKey, open_dataset
from dovetail_bench.programs import degradation
from dovetail_bench.programs.noise_kinds import orphan
from dovetail_bench.programs.variants import (
    NOISE,
    Corpus,
    Frame,
    Place,
    distractors,
    read_corpus,
    references,
    strangers,
)

PEOPLE, VISITS, MUSEUMS = (TableId("town", name) for name in ("people", "visits", "museums"))
WIDE = TableId("lake", "wide")
ROWS = 2000
REFERS: dict[Place, set[Place]] = {
    (VISITS, "person_id"): {(PEOPLE, "id")},
    (VISITS, "museum"): {(MUSEUMS, "code")},
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    drawn = Random(3)
    codes = [f"M{n:02}" for n in range(20)]
    tables = {
        PEOPLE: {"id": list(range(300)), "full_name": [f"Ada {n}" for n in range(300)]},
        VISITS: {
            "person_id": [drawn.randrange(300) for _ in range(ROWS)],
            "museum": [drawn.choice(codes) for _ in range(ROWS)],
            "paid": [n / 4 for n in range(ROWS)],
        },
        MUSEUMS: {"code": codes, "title": [f"house {n}" for n in range(20)]},
        WIDE: {f"reading {n}": [n] for n in range(200)},
    }
    return {table: Frame(pa.table(columns)) for table, columns in sorted(tables.items())}


def flat(corpus: Corpus) -> list[Any]:
    return [
        (table, name, at, value)
        for table, frame in corpus.items()
        for name in frame.data.column_names
        for at, value in enumerate(frame.data[name].to_pylist())
    ]


def noisy_cells(corpus: Corpus, kind: str, share: float, seed: int = 1) -> set[Any]:
    return set(flat(NOISE[kind](corpus, REFERS, share, seed))) - set(flat(corpus))


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_so_many_orphans_and_nothing_else(corpus: Corpus, share: float) -> None:
    noisy = noisy_cells(corpus, "orphans", share)
    assert {(table, name) for table, name, _, _ in noisy} == set(REFERS)
    assert len(noisy) == pytest.approx(share * 2 * ROWS, rel=0.15)
    for table, name, _, value in noisy:
        ((parent, key),) = REFERS[table, name]
        assert value not in corpus[parent].data[key].to_pylist()
    made = NOISE["orphans"](corpus, REFERS, share, 1)
    assert made[VISITS].data.schema == corpus[VISITS].data.schema  # numbers stay numbers


def test_so_many_columns_renamed_and_no_cell_changed(corpus: Corpus) -> None:
    made = NOISE["renamed columns"](corpus, REFERS, 0.2, 1)
    pairs = [
        (old, new)
        for table in corpus
        for old, new in zip(
            corpus[table].data.column_names, made[table].data.column_names, strict=True
        )
    ]
    renamed = [(old, new) for old, new in pairs if old != new]
    assert len(renamed) == pytest.approx(0.2 * len(pairs), rel=0.25)
    assert all(new.lstrip("_f").isdecimal() for _, new in renamed)
    values = [[frame.data.columns for frame in each.values()] for each in (corpus, made)]
    assert values[0] == values[1]


def test_so_many_values_removed(corpus: Corpus) -> None:
    noisy = noisy_cells(corpus, "removed values", 0.1)
    assert len(noisy) == pytest.approx(0.1 * len(flat(corpus)), rel=0.1)
    assert {value for _, _, _, value in noisy} == {None}


@pytest.mark.parametrize("kind", NOISE)
def test_noise_grows_from_less_noise_and_follows_the_seed(corpus: Corpus, kind: str) -> None:
    little, much = (noisy_cells(corpus, kind, share) for share in (0.05, 0.3))
    assert little < much
    made = [NOISE[kind](corpus, REFERS, 0.1, seed) for seed in (1, 1, 2)]
    assert list(made[0]) == list(corpus)  # so gold stays
    assert made[0] == made[1] != made[2]
    assert NOISE[kind](corpus, REFERS, 0, 1) == corpus


@pytest.mark.parametrize("text", ["usa", "A", "7", "1.5", "-", "", "ß", "2024-01-01"])
def test_an_orphan_is_found_for_any_value(text: str) -> None:
    known = {text, *"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    assert orphan(text, Random(1), known) not in known


def test_distractors_are_other_tables_that_join_among_themselves(corpus: Corpus) -> None:
    made = distractors(corpus, REFERS, 3, 1)
    assert {table: made[table] for table in corpus} == corpus
    others = {table: frame for table, frame in made.items() if table not in corpus}
    assert len(others) == 3 * len(corpus)
    assert not {table.name for table in others} & {table.name for table in corpus}
    assert (
        others.items()
        >= {
            table: frame
            for table, frame in distractors(corpus, REFERS, 1, 1).items()
            if table not in corpus
        }.items()
    )
    for number in (1, 2, 3):
        own = [frame.data for table, frame in others.items() if table.source == f"town.{number}"]
        (codes,) = (set(data["code"].to_pylist()) for data in own if "code" in data.column_names)
        (used,) = (set(data["museum"].to_pylist()) for data in own if "museum" in data.column_names)
        assert used <= codes
        assert not codes <= {f"M{n:02}" for n in range(20)}  # codes of its own
    wide = [frame.data for table, frame in others.items() if table.source.startswith("lake")]
    kept = sum(
        name in corpus[WIDE].data.column_names for data in wide for name in data.column_names
    )
    assert 0.3 < kept / (3 * 200) < 0.95
    assert made == distractors(corpus, REFERS, 3, 1)
    assert made != distractors(corpus, REFERS, 3, 2)


def write_dataset(folder: Path, visits: int) -> Path:
    """A corpus of two tables with a key, another table, and two questions."""
    file = folder / "databases" / "town" / "town.sqlite"
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE People (id INTEGER, full_name TEXT)")
        connection.execute("CREATE TABLE visits (person_id INTEGER, day DATE)")
        connection.execute("CREATE TABLE weather (station TEXT, rain REAL)")
        connection.execute("INSERT INTO weather VALUES ('north', 1.5), ('south', 'none')")
        people = [(n, f"Ada {n}") for n in range(40)]
        connection.executemany("INSERT INTO People VALUES (?, ?)", people)
        days = [(n % 40, f"2024-01-{n % 28 + 1:02}") for n in range(visits)]
        connection.executemany("INSERT INTO visits VALUES (?, ?)", days)
    key = {"db_id": "town", "table": "visits", "column": "PERSON_ID",
           "ref_table": "people", "ref_column": "id"}  # fmt: skip
    texts = {"How many visits had each of the people?": ["people", "visits"],
             "How much rain fell at each weather station?": ["weather"]}  # fmt: skip
    rows = [
        {"question_id": n, "db_id": "town", "question": text, "gold_tables": gold}
        for n, (text, gold) in enumerate(texts.items())
    ]
    (folder / "foreign_keys.json").write_text(json.dumps([key]))
    (folder / "questions.json").write_text(json.dumps(rows))
    return folder


def test_strangers_are_all_but_the_same_tables(tmp_path: Path) -> None:
    own, other = (open_dataset(write_dataset(tmp_path / name, 5)) for name in ("one", "two"))
    corpus = read_corpus(own)
    kinds = [pa.int64(), pa.string()]
    assert corpus[TableId("town", "People")].data.schema.types == kinds
    keys: list[ForeignKey] = own.foreign_keys()
    visits, people = TableId("town", "visits"), TableId("town", "People")
    assert references(corpus, keys) == {(visits, "person_id"): {(people, "id")}}
    assert strangers(corpus, other) == corpus
    narrow = {**corpus, visits: replace(corpus[visits], data=corpus[visits].data.select(["day"]))}
    assert set(strangers(narrow, other)) - set(corpus) == {TableId("town.two", "visits")}


def test_one_command_from_a_corpus_to_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(degradation, "SYSTEMS", {"dense": 2, "graph": 3})
    data = write_dataset(tmp_path / "tiny", 60)
    pages, into = tmp_path / "pages", tmp_path / "into"
    arguments = [
        str(data), "--levels", "20", "--times", "1,2", "--into", str(into), "--pages", str(pages),
        "--json",
    ]  # fmt: skip
    degradation.main(arguments)
    found = json.loads(capsys.readouterr().out)["tiny"]
    by = {(row["kind"], row["level"], row["system"]): row for row in found}
    assert {(kind, level) for kind, level, _ in by} == {
        ("clean", 0), ("orphans", 20), ("renamed columns", 20), ("removed values", 20),
        ("distractors", 1), ("distractors", 2),
    }  # fmt: skip
    assert by["clean", 0, "dense@2"]["pr"] == 1
    assert [by["distractors", n, "dense@2"]["tables"] for n in (1, 2)] == [6, 9]
    text = (pages / "tiny.md").read_text("utf-8")
    assert "## tiny, made worse" in text
    first = by["orphans", 20, "graph@3"]
    assert f"| orphans | graph@3 | {100 * by['clean', 0, 'graph@3']['f1']:.1f} |" in text
    assert f"{100 * first['f1']:.1f}" in text
    assert "| distractors \N{MULTIPLICATION SIGN}2 | 9 | graph@3 | 2 |" in text
    ElementTree.fromstring((pages / "degradation-tiny.svg").read_text("utf-8"))
    runs = {file: file.read_bytes() for file in (into / "runs").glob("*.jsonl")}
    made = sorted(into.rglob("dataset.json"))
    assert len(runs) >= len(by)
    degradation.main(arguments)  # nothing is made or asked again
    again = json.loads(capsys.readouterr().out)["tiny"]
    assert [{**row, "ms": 0} for row in again] == [{**row, "ms": 0} for row in found]
    assert {file: file.read_bytes() for file in (into / "runs").glob("*.jsonl")} == runs
    assert sorted(into.rglob("dataset.json")) == made
