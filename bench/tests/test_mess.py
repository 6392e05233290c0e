"""Made companies: the same from the same seed, gold that is there, and figures that add up."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dovetail.domain import JoinEdge, TableId
from dovetail_bench.cli import bench
from dovetail_bench.datasets import Dataset, ForeignKey, open_dataset
from dovetail_bench.measures import Score
from dovetail_bench.mess.company import company, read_databases
from dovetail_bench.mess.measure import Outcome, _joins, made, measured, outcome
from dovetail_bench.mess.styles import HELD, SEEN, SPELLINGS, named, spell

# Things that nobody mixes up: each is a database of a header and its lines.
THINGS = ("sale", "loan", "flight", "recipe", "game", "parcel", "concert", "visit", "claim")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("clean")
    questions, keys = [], []
    for at, thing in enumerate(THINGS):
        file = folder / "databases" / thing / f"{thing}.sqlite"
        file.parent.mkdir(parents=True)
        with closing(sqlite3.connect(file)) as writer:
            writer.execute(f"CREATE TABLE {thing} ({thing}_id INTEGER, {thing}_title TEXT)")
            writer.execute(
                f"CREATE TABLE {thing}_line (line_no INTEGER, {thing}_id INTEGER, amount REAL)"
            )
            for row in range(40):
                number = 1000 * (at + 1) + row
                writer.execute(f"INSERT INTO {thing} VALUES (?, ?)", (number, f"{thing} {row}"))
                writer.execute(
                    f"INSERT INTO {thing}_line VALUES (?, ?, ?)", (row, number - row % 7, row / 4)
                )
            writer.commit()
        keys.append(
            {"db_id": thing, "table": f"{thing}_line", "column": f"{thing}_id",
             "ref_table": thing, "ref_column": f"{thing}_id"}
        )  # fmt: skip
        asked = [(f"How many {thing}s have title {n}?", [thing]) for n in range(5)]
        asked.append((f"What is the amount of each {thing}?", [thing, f"{thing}_line"]))
        questions += [
            {"question_id": f"{thing} {n}", "db_id": thing, "question": text, "gold_tables": gold}
            for n, (text, gold) in enumerate(asked)
        ]
    (folder / "questions.json").write_text(json.dumps(questions), "utf-8")
    (folder / "foreign_keys.json").write_text(json.dumps(keys), "utf-8")
    return open_dataset(folder)


@pytest.mark.parametrize("styles", ["seen", "held"])
@pytest.mark.parametrize("seed", [0, 1])
def test_gold_and_keys_name_what_is_there(clean: Dataset, styles: str, seed: int) -> None:
    databases = read_databases([clean, clean])
    assert [each.name for each in databases] == sorted(THINGS)
    made_up = company(databases, seed, styles)
    assert made_up == company(databases, seed, styles)
    tables = {
        system.table(sheet.name): sheet for system in made_up.systems for sheet in system.sheets
    }
    assert len(tables) == sum(len(system.sheets) for system in made_up.systems)
    answerable = [row for row in made_up.questions if row["gold_tables"]]
    assert (len(answerable), len(made_up.questions)) == (24, 27)
    assert {gold for row in answerable for gold in row["gold_tables"]} <= tables.keys()
    assert {name for parts in made_up.families.values() for name in parts} <= tables.keys()
    for key in made_up.keys:
        for side in ("", "ref_"):
            table = tables[f"{key[f'{side}db_id']}::{key[f'{side}table']}"]
            assert key[f"{side}column"] in table.columns


def test_the_second_of_two_systems_writes_keys_in_its_own_way(clean: Dataset) -> None:
    made_up = company(read_databases([clean]), 0, "held")
    lines, headers = (
        [sheet for system in made_up.systems for sheet in system.sheets if sheet.origin[1] == name]
        for name in (f"{made_up.systems[0].sheets[0].origin[0]}{end}" for end in ("_line", ""))
    )
    keys = {row[1] for sheet in lines for row in sheet.rows}
    numbers = {row[0] for sheet in headers for row in sheet.rows}
    assert all(isinstance(key, str) for key in keys)
    assert keys <= {form.format(n=n) for form in HELD.keys for n in numbers}


@pytest.mark.parametrize(
    ("style", "name", "written"),
    [
        ("run together", "Order_Items", "ORDERITEMS"),
        ("vowelless", "customer name", "cstmr_nm"),
        ("German", "customer_city", "kunde_stadt"),
        ("eight letters", "order_header_details", "ORHDDT"),
        ("shortened", "DepartmentName", "depa_name"),
        ("snake", "2ndLine", "n2_nd_line"),
    ],
)
def test_names_are_spelled_in_a_style(style: str, name: str, written: str) -> None:
    taken: set[str] = set()
    assert spell(name, style, taken) == written
    assert spell(name, style, taken) == f"{written}2"


def test_held_styles_are_of_other_kinds_than_those_seen() -> None:
    assert {*SEEN.spellings, *HELD.spellings} == {*SPELLINGS}
    assert {*SEEN.spellings} & {*HELD.spellings} == {"snake"}  # some systems are tidy everywhere
    for kind in ("keys", "copies", "parts", "marts", "empties", "dictionaries"):
        assert not {*getattr(SEEN, kind)} & {*getattr(HELD, kind)}
    assert named("y{y}_{}", "SALES", 2021) == "Y2021_SALES"


def test_a_company_is_written_indexed_and_asked(clean: Dataset, tmp_path: Path) -> None:
    corpus = made(read_databases([clean]), 0, "seen", tmp_path)
    assert not corpus.pooled
    found = outcome(corpus)
    assert (len(found.scores), len(found.refused)) == (24, 3)
    figures = measured([found, replace(found, refused=())])
    assert figures.questions == 51
    assert figures.f1 == pytest.approx(sum(one.f1 for one in found.scores) / 24, abs=1e-4)
    assert figures.f1 > 0.5
    assert (figures.join_recall, figures.join_precision) >= (0.5, 0.5)
    options = ["-o", str(tmp_path), "--companies", "1", "--styles", "seen", "--json"]
    shown = CliRunner().invoke(bench, ["mess", str(clean.home), *options])
    assert json.loads(shown.output)["f1"] == measured([found]).f1
    refused = CliRunner().invoke(bench, ["mess", "x", "-o", str(tmp_path), "--styles", "new"])
    assert "no styles 'new'" in str(refused.exception)


def test_joins_are_right_between_columns_of_one_domain() -> None:
    key = ForeignKey("a", "line", "oid", "a", "order", "id")
    other = ForeignKey("b", "bill", "oid", "a", "order", "id")
    order, line, bill = TableId("a", "order"), TableId("a", "line"), TableId("b", "bill")

    def edge(left: TableId, right: TableId, column: str, score: float = 0.9) -> JoinEdge:
        pair = (column, "id" if right == order else "oid")
        return JoinEdge(left, right, (pair,), score, "n:1", 1.0, {})

    edges = [edge(line, order, "oid"), edge(line, bill, "oid"), edge(line, bill, "no")]
    weak = edge(bill, order, "oid", 0.4)
    stray = edge(TableId("c", "x"), order, "oid")
    assert _joins([*edges, weak, stray], [key, other]) == (3, 2, 1, 2)
    nothing = Outcome(3, [Score(0, 0, 0, False, 0)], [True], 3, 2, 1, 2)
    figures = measured([nothing])
    assert (figures.join_precision, figures.join_recall) == (0.6667, 0.5)
    assert (figures.refused_wrongly, figures.refused, figures.f1) == (1, 1, 0)
