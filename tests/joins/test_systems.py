"""What systems of one company do to keys, each case a small pile: which table is the master, and by
which names and values columns find it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dovetail

Rows = Sequence[Sequence[Any]]
NUMBERS = [104_000 + 37 * number for number in range(150)]
CODES = [f"{'QXZ'[n % 3]}{'LMN'[n % 5 % 3]}-{(n * 7919) % 90_000 + 10_000}" for n in range(200)]


def database(file: Path, tables: Mapping[str, Rows]) -> None:
    """Write tables, each as its header and rows."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for name, (header, *rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(header)})")
            marks = ", ".join("?" * len(header))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


@pytest.fixture(scope="module")
def joins(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The joins of a hospital's systems and of the files that are exported from them."""
    folder = tmp_path_factory.mktemp("hospital")
    database(
        folder / "sap.sqlite",
        {
            "MAKT": [("MATNR", "SPRAS", "MAKTX"), *((n, "N", chr(n % 26 + 97)) for n in NUMBERS)],
            "MARA": [("MATNR", "MTART", "MEINS"), *((n, f"t{n % 3}", "ST") for n in NUMBERS)],
            "EKPO": [("EBELN", "MATNR"), *((n // 2, NUMBERS[n * 7 % 150]) for n in range(400))],
            "BKPF": [("BUKRS", "BELNR", "GJAHR", "XBLNR"), *(
                (f"Z{n % 2}", n // 3 + 1, 2021 + n % 3, f"x{n % 9}") for n in range(240)
            )],
            "BSEG": [("BUKRS", "BELNR", "GJAHR", "WRBTR"), *(
                (f"Z{n % 2}", n // 3 + 1, 2021 + n % 3, n / 7) for n in [*range(240)] * 2
            )],
        },
    )  # fmt: skip
    database(
        folder / "his.sqlite",
        {
            "ALLTAB": [("ALLCLS", "OMS"), *((n + 1, f"allergen {n}") for n in range(12))],
            "ALLERGI": [("VOLGNR", "ALLCLS"), *((n + 1, n * 5 % 12 + 1) for n in range(200))],
            "TECHNICIAN": [("TECH_ID", "SINCE"), *((n + 1, n % 9) for n in range(45))],
            "RESULT": [("RES", "VALIDATED_BY"), *((n * 3, n * 7 % 45 + 1) for n in range(300))],
        },
    )
    database(
        folder / "shop.sqlite",
        {
            "article": [("ref", "shelf"), *((code.lower(), "abc"[n % 3])
                                            for n, code in enumerate(CODES[:140]))],
        },
    )  # fmt: skip
    database(
        folder / "stock.sqlite",
        {
            "INV_ITEMS": [("ROW_NO", "SEGMENT1"), *((3 * n + 1, code)
                                                    for n, code in enumerate(CODES))],
        },
    )  # fmt: skip
    exports = folder / "drops"
    exports.mkdir()
    lines = [f"{number};{n}" for n, number in enumerate(NUMBERS)]
    (exports / "prices.csv").write_text("\n".join(["material;price", *lines]))
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(folder, into=folder / "catalog", settings=settings)
    return {
        " and ".join(f"{e.left.name}.{a} = {e.right.name}.{b}" for a, b in e.columns)
        for e in catalog.joins()
    }


@pytest.mark.parametrize(
    "join",
    [
        # A table of texts by language has all keys, and is not where they are made.
        "EKPO.MATNR = MARA.MATNR",
        "MAKT.MATNR = MARA.MATNR",
        # Nor is a file among files.
        "drops/prices.material = MARA.MATNR",
        # A column that is called as the first column of another table is no measure.
        "ALLERGI.ALLCLS = ALLTAB.ALLCLS",
        # The columns before the last part of a key are parts of it.
        "BSEG.BUKRS = BKPF.BUKRS and BSEG.BELNR = BKPF.BELNR and BSEG.GJAHR = BKPF.GJAHR",
        # Technicians are people, whom what they do refers to.
        "RESULT.VALIDATED_BY = TECHNICIAN.TECH_ID",
        # A system's own key refers to the longer list of another, where codes prove it.
        "article.ref = INV_ITEMS.SEGMENT1",
    ],
)
def test_systems_join_by_their_masters(joins: set[str], join: str) -> None:
    assert join in joins


def test_satellites_and_files_are_no_masters(joins: set[str]) -> None:
    assert not [join for join in joins if "= MAKT." in join or "= drops/" in join]


def test_codes_of_another_system_join_its_master_instead_of_a_list_that_has_some_twice(
    tmp_path: Path,
) -> None:
    """The warehouse knows customers as C0000123 and keeps none of its own: its licences have most
    of them once, some twice."""
    numbers = list(range(1, 601))
    codes = [f"C{number:07}" for number in numbers]
    database(
        tmp_path / "erp.sqlite",
        {"clients": [("code", "town"), *((n, f"t{n % 9}") for n in numbers)]},
    )
    database(
        tmp_path / "stores.sqlite",
        {
            "licence": [
                ("licence_no", "ship_to", "valid_to"),
                *((f"L-{n * 7919 % 99_991:05}", code, f"20{20 + n % 9}-01-01")
                  for n, code in enumerate([*codes, *codes[::12]])),
            ],
            "delivery": [
                ("delivery_no", "ship_to"),
                *((90_000 + 13 * n, codes[n * 37 % 600]) for n in range(1500)),
            ],
        },
    )  # fmt: skip
    sources = [tmp_path / "erp.sqlite", tmp_path / "stores.sqlite"]
    catalog = dovetail.build(
        *sources, into=tmp_path / "catalog", settings=dovetail.Settings(embedder="none")
    )
    sure = {
        (edge.left.name, edge.right.name, edge.transform)
        for edge in catalog.joins()
        if edge.score > 0.5
    }
    assert sure == {("delivery", "clients", "prefix"), ("licence", "clients", "prefix")}


def test_what_a_few_rows_have_in_common_is_no_key(tmp_path: Path) -> None:
    """A company with one call centre and three stores: a town is there once, for want of rows."""
    towns = ["Midway", "Fairview", "Oakdale"]
    tables = {
        "call_center": pa.table({"call_center_id": ["CC-0001"], "city": towns[:1]}),
        "store": pa.table({"store_id": ["ST-0001", "ST-0002", "ST-0003"], "city": towns}),
        "visit": pa.table({"visit_no": range(90), "city": [towns[n % 3] for n in range(90)]}),
    }
    catalog = dovetail.build(tables, into=tmp_path / "catalog")
    assert catalog.joins() == []


@pytest.mark.parametrize("referred", [True, False])
def test_words_of_a_master_that_its_own_system_refers_to_are_codes(
    tmp_path: Path, *, referred: bool
) -> None:
    """The logins of users stand in every system's tables, elsewhere in small letters. Words that
    nothing of their own system refers to say less: surnames, streets, brands."""
    logins = [f"{'ABCDEFGHIJ'[(n + n // 20) % 10]}{x}" for n, x in enumerate(_SURNAMES * 2)]
    used = [logins[n * 7 % 40] for n in range(300)]
    own = used if referred else ["NOBODY"] * 300
    tables: dict[str, Rows] = {"LVLTAB": [("SIGN", "GRADE"), *((login, 3) for login in logins)]}
    for name in ("RESERV", "BILLS", "SHIFTS", "CLAIMS"):
        tables[name] = [("NR", "SIGN"), *((9 * n + 4, user) for n, user in enumerate(own))]
    database(tmp_path / "desk.sqlite", tables)
    for system, name in (("web", "calls"), ("shop", "returns"), ("lab", "orders")):
        rows = [(f"{system}-{n * 7919 % 9973}", user.lower()) for n, user in enumerate(used)]
        database(tmp_path / f"{system}.sqlite", {name: [("ref", "mark"), *rows]})
    catalog = dovetail.build(
        *sorted(tmp_path.glob("*.sqlite")),
        into=tmp_path / "catalog",
        settings=dovetail.Settings(embedder="none"),
    )
    left = {edge.left.name for edge in catalog.joins() if edge.right.name == "LVLTAB"}
    others = {"calls", "returns", "orders"}
    assert left & others == (others if referred else set())


def across(folder: Path, left: Mapping[str, Rows], right: Mapping[str, Rows]) -> set[str]:
    """The sure joins of two systems, beside a few tables of others, and their transforms."""
    others: dict[str, Rows] = {
        f"other_{n}": [("no", "what"), *((31 * n + 7 * row, f"w{n}-{row}") for row in range(30))]
        for n in range(8)
    }
    for name, tables in (("left", left), ("right", right), ("others", others)):
        database(folder / f"{name}.sqlite", tables)
    catalog = dovetail.build(
        *(folder / f"{name}.sqlite" for name in ("left", "right", "others")),
        into=folder / "catalog",
        settings=dovetail.Settings(embedder="none"),
    )
    return {
        f"{edge.left.name} {edge.transform} {edge.right.name}"
        for edge in catalog.joins()
        if edge.score > 0.5
    }


@pytest.mark.parametrize("whole", [True, False])
def test_a_list_that_two_systems_have_whole_is_one_however_short_it_is(
    tmp_path: Path, *, whole: bool
) -> None:
    """Nine magazines are BKE, KNT … here, bke, knt … where advertisements are sold, and at times
    elsewhere: of two keys only a whole list tells that they mean the same."""
    codes = ["BKE", "KNT", "SKY", "RLY", "CHS", "WLK", "HST", "GDN", "TRN"]
    kept = [code.lower() for code in codes[: None if whole else 6]]

    def tagged(number: int) -> Rows:
        return [(17 * n + number, codes[n] if n < 9 else f"x{n}") for n in range(20)]

    joins = across(
        tmp_path,
        {"magazine": [("mag_code", "issues"), *((code, 40 + n) for n, code in enumerate(codes))]},
        {
            "publication": [("pub_key", "rate"), *((c, 7.5 * n) for n, c in enumerate(kept))],
            **{f"tagged_{n}": [("row", "tag"), *tagged(n)] for n in range(3)},
        },
    )
    assert joins == ({"publication case magazine"} if whole else set())


def test_two_values_are_enough_where_the_name_says_of_what(tmp_path: Path) -> None:
    terminals = ["T1", "T2", "CG", "GA", "HP"]
    joins = across(
        tmp_path,
        {"terminal": [("terminal_id", "gates"), *((t, 9 + n) for n, t in enumerate(terminals))]},
        {
            "answer": [
                ("no", "terminal", "mood"),
                *((70_001 + 7 * n, f"t{1 + n % 2}", f"m{1 + n % 2}") for n in range(90)),
            ]
        },
    )
    assert joins == {"answer case terminal"}


def test_a_match_counts_at_the_rung_where_it_says_most(tmp_path: Path) -> None:
    """FOL-T001008 is customer T001008; without all letters 1008 would be anybody."""
    customers = [f"T{1000 + 4 * n:06}" for n in range(400)]
    joins = across(
        tmp_path,
        {
            "customer": [
                ("customer_id", "town"),
                *((c, f"t{n % 9}") for n, c in enumerate(customers)),
            ]
        },
        {
            "account": [
                ("no", "debtor"),
                *((90_001 + 13 * n, f"FOL-{customers[n * 7 % 300]}") for n in range(350)),
            ]
        },
    )
    assert joins == {"account cut:fol: customer"}


_SURNAMES = """ROSSI BIANCHI FERRARI RUSSO COLOMBO RICCI MARINO GRECO BRUNO GALLO CONTI COSTA
GIORDANO MANCINI RIZZO LOMBARDI MORETTI BARBIERI FONTANA SANTORO""".split()  # noqa: SIM905
