"""What a set warns of: years that do not meet, tables that are there to connect others alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.retrieve.cautions import with_cautions
from dovetail.retrieve.liveness import Liveness
from dovetail.search.searcher import open_searcher

SETTINGS = dovetail.Settings(embedder="none")


def asked(folder: Path, script: str, question: str, notes: str = "") -> dovetail.TableSet:
    """The set of a question over the tables that a script makes."""
    with closing(sqlite3.connect(folder / "firm.sqlite")) as connection:
        connection.executescript(script)
        connection.commit()
    firm = dovetail.build(f"firm={folder / 'firm.sqlite'}", into=folder / "cat", settings=SETTINGS)
    assert firm.reader.notes_file is not None
    firm.reader.notes_file.write_text(notes, "utf-8")
    return dovetail.open(folder / "cat", SETTINGS).ask(question)


def slices() -> str:
    """Sales and refunds of three years, in a table each."""
    return "".join(
        f"CREATE TABLE {kind}_{year} ({kind}_id INTEGER, shop TEXT, amount REAL);\n"
        + "".join(
            f"INSERT INTO {kind}_{year} VALUES "
            f"({year * 1000 + n}, 'S{(n * year) % 7}', {year % 100 * n / 3});\n"
            for n in range(1, 41)
        )
        for kind in ("sales", "refunds")
        for year in (2021, 2022, 2023)
    )


def test_slices_of_other_years_are_told(tmp_path: Path) -> None:
    question = "How do sales compare with refunds?"
    notes = f'[questions]\n"{question}" = "sales_2021, refunds_2023"\n'
    mixed = asked(tmp_path, slices(), question, notes)
    assert "the set mixes years: sales_2021, refunds_2023" in mixed.warnings


def test_slices_of_one_year_are_not_told(tmp_path: Path) -> None:
    notes = '[questions]\n"sales against refunds" = "sales_2022, refunds_2022"\n'
    same = asked(tmp_path, slices(), "sales against refunds", notes)
    assert same.confidence == 1
    assert not [line for line in same.warnings if "mixes years" in line]


def test_a_connector_that_the_question_does_not_speak_of_is_told(tmp_path: Path) -> None:
    found = asked(tmp_path, slices(), "sales of 2022 and refunds of 2022")
    searcher = open_searcher(CatalogReader.open(tmp_path / "cat"), SETTINGS)
    one, two = found.tables[:2]
    connector = replace(two, stage="connect", relevance=0.001, reason=f"connects {one.name}")
    connected = replace(found, tables=(one, connector))
    told = with_cautions(connected, searcher, Liveness(searcher)).warnings
    assert f"{two.name} connects {one.name}, and nothing in the question speaks of it" in told
    likely = replace(connected, tables=(one, replace(connector, relevance=0.5)))
    told = with_cautions(likely, searcher, Liveness(searcher)).warnings
    assert not [line for line in told if "speaks of it" in line]
