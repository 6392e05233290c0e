"""Joins in systems as companies have them: clients' numbers in front, names of eight letters,
copies in a warehouse, slices by year, codes of letters, keys of two columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import dovetail

SETTINGS = dovetail.Settings(embedder="none")
Rows = Iterable[Sequence[object]]
NUMBERS = [119 + 37 * n % 9_719 for n in range(300)]


def write(file: Path, tables: dict[str, tuple[str, Rows]]) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" * len(columns.split(",")))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def joined(folder: Path, *systems: str) -> dict[tuple[str, str], float]:
    """The scores of the joins of some systems, by their columns."""
    sources = [f"{name}={folder / name}.sqlite" for name in systems]
    catalog = dovetail.build(*sources, into=folder / "catalog", settings=SETTINGS)

    def end(table: dovetail.TableId, columns: Iterable[str]) -> str:
        return f"{table.source}.{table.name}.{'+'.join(columns)}"

    return {
        (
            end(edge.left, (one for one, _ in edge.columns)),
            end(edge.right, (two for _, two in edge.columns)),
        ): edge.score
        for edge in catalog.joins(least=0.5)
    }


def test_a_column_that_is_the_same_in_all_rows_is_no_first_one(tmp_path: Path) -> None:
    companies = ["1000", "1100", "2000"]
    write(
        tmp_path / "sap.sqlite",
        {
            "T001": (
                "MANDT TEXT, BUKRS TEXT, BUTXT TEXT",
                [("100", c, f"C{c}") for c in companies],
            ),
            "KNB1": (
                "MANDT TEXT, KUNNR TEXT, BUKRS TEXT",
                [("100", f"{n:010d}", companies[n % 3]) for n in NUMBERS],
            ),
            "EKKO": (
                "MANDT TEXT, EBELN TEXT, BUKRS TEXT",
                [("100", f"45{n:08d}", companies[n % 3]) for n in range(200)],
            ),
            "EKPO": (
                "MANDT TEXT, EBELN TEXT, EBELP TEXT, MENGE REAL",
                [("100", f"45{n % 200:08d}", f"{n // 200:05d}", n / 7) for n in range(600)],
            ),
            "MSEG": (
                "MANDT TEXT, MBLNR TEXT, EBELN TEXT, EBELP TEXT",
                [("100", f"5{n:09d}", f"45{n * 7 % 200:08d}", f"{n % 3:05d}") for n in range(500)],
            ),
        },
    )
    joins = joined(tmp_path, "sap")
    assert ("sap.KNB1.BUKRS", "sap.T001.BUKRS") in joins
    assert ("sap.EKKO.BUKRS", "sap.T001.BUKRS") in joins
    assert ("sap.MSEG.EBELN+EBELP", "sap.EKPO.EBELN+EBELP") in joins  # and no client beside them


FILES = [
    "CLIENT",
    "ARTICL",
    "DEPOTS",
    "VENDEU",
    "MARQUE",
    "FOURNI",
    "COMPTE",
    "MODELE",
    "STOCKS",
    "GARANT",
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Files of eight letters, and two systems that write the clients' numbers otherwise."""
    tables: dict[str, tuple[str, Rows]] = {
        f"F{word}P": (
            f"{word[:2]}CODE INTEGER, {word[:2]}LIBE TEXT",
            [(n, f"{word}{n}") for n in range(1, 9)],
        )
        for word in FILES[1:]
    }
    tables["FVENDEUP"] = ("VDCODE INTEGER, VDNOM TEXT", [(n, f"v{n}") for n in range(1, 43)])
    tables["FCLIENTP"] = (
        "CLNUM TEXT, CLNOM TEXT, CLVEND INTEGER",
        [(f"{n:07d}", f"c{n}", n % 42 + 1) for n in NUMBERS],
    )
    write(tmp_path / "acier.sqlite", tables)
    write(
        tmp_path / "dw.sqlite",
        {
            "stg_acier_fclientp": (
                "CLNUM TEXT, CLNOM TEXT",
                [(f"{n:07d}", f"c{n}") for n in NUMBERS],
            ),
        },
    )
    write(
        tmp_path / "lake.sqlite",
        {
            "licences": (
                "licence TEXT, client_no TEXT",
                [(f"L{n}", f"CUST{n}") for n in NUMBERS[:90]],
            )
        },
    )
    return tmp_path


def test_letters_that_all_files_begin_and_end_with_are_an_affix(files: Path) -> None:
    joins = joined(files, "acier")
    assert ("acier.FCLIENTP.CLVEND", "acier.FVENDEUP.VDCODE") in joins


def test_what_a_warehouse_copied_is_no_master(files: Path) -> None:
    joins = joined(files, "acier", "dw", "lake")
    assert ("lake.licences.client_no", "acier.FCLIENTP.CLNUM") in joins
    assert ("lake.licences.client_no", "dw.stg_acier_fclientp.CLNUM") not in joins


def test_slices_of_one_table_do_not_refer_to_each_other(tmp_path: Path) -> None:
    write(
        tmp_path / "poll.sqlite",
        {
            f"answers_{year}": (
                "answer_no INTEGER, mark INTEGER, remark TEXT",
                [(n, (n * year) % 7, f"r{n * year}") for n in range(1, count)],
            )
            for year, count in ((2023, 300), (2024, 400))
        },
    )
    assert joined(tmp_path, "poll") == {}


def test_codes_of_letters_are_codes(tmp_path: Path) -> None:
    airports = [f"{chr(65 + n % 26)}{chr(65 + n * 7 % 26)}{chr(65 + n // 26)}" for n in range(60)]
    marks = [f"CS-T{chr(65 + n // 26)}{chr(65 + n % 26)}" for n in range(40)]
    write(
        tmp_path / "ops.sqlite",
        {
            "airport": (
                "icao TEXT, iata TEXT, town TEXT",
                [(f"L{code}", code, f"town {n}") for n, code in enumerate(airports)],
            ),
            "aircraft": (
                "ac_id INTEGER, registration TEXT",
                [(7 * n, m.replace("-", "")) for n, m in enumerate(marks)],
            ),
            "leg": (
                "leg_id INTEGER, dep TEXT",
                [(9_000 + 3 * n, airports[n * 11 % 60]) for n in range(400)],
            ),
        },
    )
    write(
        tmp_path / "shop.sqlite",
        {
            "airframe": (
                "airframe_id INTEGER, mark TEXT",
                [(31 * n, m) for n, m in enumerate(marks)],
            )
        },
    )
    joins = joined(tmp_path, "ops", "shop")
    assert ("ops.leg.dep", "ops.airport.iata") in joins
    pair = {"ops.aircraft.registration", "shop.airframe.mark"}
    assert any({left, right} == pair for left, right in joins)


def test_numbers_far_apart_refer_to_their_own_table(tmp_path: Path) -> None:
    people = [20_142 + 97 * n for n in range(100)]
    write(
        tmp_path / "rh.sqlite",
        {
            "colaborador": (
                "matricula INTEGER, nome TEXT, chefia INTEGER",
                [(n, f"p{n}", people[at // 7]) for at, n in enumerate(people)],
            )
        },
    )
    assert ("rh.colaborador.chefia", "rh.colaborador.matricula") in joined(tmp_path, "rh")


def test_parts_of_a_key_are_found_but_for_an_id_word(tmp_path: Path) -> None:
    write(
        tmp_path / "hire.sqlite",
        {
            "contract_line": (
                "contract_no TEXT, line_no INTEGER, price REAL",
                [(f"K{n % 120:04d}", n // 120 + 1, n / 3) for n in range(480)],
            ),
            "inspection": (
                "inspection_id INTEGER, contract TEXT, line INTEGER",
                [(5_000 + 3 * n, f"K{n * 7 % 120:04d}", n % 4 + 1) for n in range(300)],
            ),
        },
    )
    joins = joined(tmp_path, "hire")
    assert ("hire.inspection.contract+line", "hire.contract_line.contract_no+line_no") in joins


PORTS = [
    (land, f"{chr(65 + n % 5)}{chr(70 + n // 5)}K", f"port {n} of {land}")
    for land in ("SE", "NO", "DK")
    for n in range(20)
]


def test_two_roles_of_a_composite_key_are_two_joins(tmp_path: Path) -> None:
    voyages = [
        (700 + 11 * n, *PORTS[n * 7 % 13][:2], *PORTS[(n * 11 + 5) % 60][:2]) for n in range(300)
    ]
    write(
        tmp_path / "sea.sqlite",
        {
            "port": ("land TEXT, port_kod TEXT, title TEXT", PORTS),
            "voyage": (
                "voyage_id INTEGER, avgland TEXT, avgport TEXT, destland TEXT, destport TEXT",
                voyages,
            ),
        },
    )
    joins = joined(tmp_path, "sea")
    assert joins.keys() == {
        ("sea.voyage.avgland+avgport", "sea.port.land+port_kod"),
        ("sea.voyage.destland+destport", "sea.port.land+port_kod"),
    }


def test_numbers_that_miss_the_gaps_of_a_key_refer_to_it(tmp_path: Path) -> None:
    """A role in a language that nobody foresaw, and a number that is none."""
    people = [1_001 + 3 * n + n % 2 for n in range(200)]
    write(
        tmp_path / "hr.sqlite",
        {
            **{f"muu{n}": ("a TEXT, b REAL", [(f"x{n}", n / 7)] * 9) for n in range(12)},
            "henkilo": ("tyontekija INTEGER, nimi TEXT", [(n, f"p{n}") for n in people]),
            "tilaus": (
                "tilaus INTEGER, kasittelija INTEGER, kilot INTEGER",
                [(n, people[n * 13 % 200], 1_001 + n * 7 % 600) for n in range(1, 400)],
            ),
        },
    )
    joins = joined(tmp_path, "hr")
    assert joins.keys() == {("hr.tilaus.kasittelija", "hr.henkilo.tyontekija")}
