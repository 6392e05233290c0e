"""Data dictionaries among the data: found in the shapes that systems have, and nowhere else."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

import dovetail
from dovetail.domain import DICTIONARY, PERSON, Description
from dovetail.offline import dictionary
from dovetail.offline.dictionary import described_as, standard_names
from tests.offline.test_describe import execute


def fill(path: Path, name: str, columns: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Make a table of a SQLite file, without types."""
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(columns.split(",")))
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    connection.close()


def sales(path: Path) -> None:
    """Tables as SAP has them: five of them, in German abbreviations."""
    for name, columns in SALES.items():
        rows = [tuple(f"{column[:2]}{row}" for column in columns) for row in range(5)]
        fill(path, name, ", ".join(columns), rows)


SALES = {
    "KNA1": ["MANDT", "KUNNR", "NAME1", "ORT01"],
    "VBAK": ["MANDT", "VBELN", "ERDAT", "KUNNR"],
    "VBAP": ["MANDT", "VBELN", "POSNR", "MATNR"],
    "MARA": ["MANDT", "MATNR", "MTART", "MEINS"],
    "LIKP": ["MANDT", "VBELN", "LFDAT", "VSTEL"],
}
TABLE_TEXTS = {
    "KNA1": "General data of customers",
    "VBAK": "Sales document header",
    "VBAP": "Sales document items",
    "MARA": "Material master",
    "LIKP": "Delivery header data",
}
ELEMENTS = {
    "MANDT": ("MANDT", "Client"),
    "KUNNR": ("KUNNR_V", "Customer number"),
    "NAME1": ("NAME1_GP", "Name of the customer"),
    "ORT01": ("ORT01_GP", "City of the customer"),
    "VBELN": ("VBELN_VA", "Sales document"),
    "ERDAT": ("ERDAT_X", "Date of creation"),
    "POSNR": ("POSNR_VA", "Item of the document"),
    "MATNR": ("MATNR_D", "Material number"),
    "MTART": ("MTART_D", "Material type"),
    "MEINS": ("MEINS_D", "Base unit of measure"),
    "LFDAT": ("LFDAT_V", "Delivery date"),
    "VSTEL": ("VSTEL_D", "Shipping point"),
}


def build(path: Path, *more: Path) -> tuple[dovetail.Catalog, tuple[str, ...]]:
    summary = dovetail.update([f"erp={path}", *map(str, more)], into=path.parent / "catalog")
    return summary.catalog, summary.notices


def test_saps_dictionary_in_several_languages_by_data_elements(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    sales(path)
    others = [(f"ZT{n:04}", "E", f"Something else of kind {chr(97 + n % 26)}") for n in range(200)]
    texts = [(table, "E", text) for table, text in TABLE_TEXTS.items()]
    german = [(table, "D", f"Tabelle der {text.lower()}") for table, text in TABLE_TEXTS.items()]
    fill(path, "DD02T", "TABNAME, DDLANGUAGE, DDTEXT", [*german, *texts, *others])
    fields = [
        (table, column, ELEMENTS[column][0], "CHAR")
        for table, columns in SALES.items()
        for column in columns
    ]
    fill(path, "DD03L", "TABNAME, FIELDNAME, ROLLNAME, DATATYPE", fields)
    elements = [(code, "E", text) for code, text in ELEMENTS.values()]
    elements += [(code, "D", f"Wert {text}") for code, text in ELEMENTS.values()]
    fill(path, "DD04T", "ROLLNAME, DDLANGUAGE, DDTEXT", elements)
    catalog, notices = build(path)
    assert notices == (
        "erp::DD02T was read as a dictionary: it describes 5 tables",
        "erp::DD03L was read as a dictionary: it describes 20 columns",
    )
    assert catalog.description("VBAK") == Description(
        "Sales document header",
        DICTIONARY,
        {column: ELEMENTS[column][1] for column in SALES["VBAK"]},
    )
    assert catalog["KNA1"].column("ORT01").comment == "City of the customer"
    found = catalog.search("deliveries by shipping point", k=1, explain=True)[0]
    assert found.name == "LIKP"
    assert "the gloss on VSTEL says 'Shipping point'" in found.reasons
    # Nothing changed: the dictionaries are not read again, and nothing is said of them.
    again = dovetail.update(into=catalog.folder)
    assert again.notices == ()
    assert again.catalog.description("VBAK") == catalog.description("VBAK")


def test_an_as400_field_reference(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    sales(path)
    rows = [
        (table.ljust(10), TABLE_TEXTS[table], column.ljust(10), "A", ELEMENTS[column][1].ljust(50))
        for table, columns in SALES.items()
        for column in columns
    ]
    fill(path, "QADSPFFD", "WHFILE, WHTEXT, WHFLDI, WHFLDT, WHFTXT", rows)
    catalog, notices = build(path)
    assert notices == (
        "erp::QADSPFFD was read as a dictionary: it describes 5 tables and 20 columns",
    )
    described = catalog.description("MARA")
    assert described is not None
    assert described.text == "Material master"
    assert described.glosses["MEINS"] == "Base unit of measure"


def test_a_codebook_of_variables_beside_the_data(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "wave_1.csv").write_text("Q1A,Q2,HHSZ,INC,EDU\n1,a,3,5000,u\n2,b,4,100,v\n")
    (folder / "sites.csv").write_text("site,town\n1,Oslo\n2,Bergen\n")
    (folder / "codebook.csv").write_text(
        "variable,label\nq1a,Satisfaction with the clinic\nq2,Reason for the visit\n"
        "hhsz,Size of the household\ninc,Income before tax\nedu,Years of education\n"
        "q9,Asked in the second wave\n"
    )
    summary = dovetail.update([f"s={folder}"], into=tmp_path / "catalog")
    assert summary.notices == ("s::codebook was read as a dictionary: it describes 5 columns",)
    assert summary.catalog["wave_1"].column("HHSZ").comment == "Size of the household"
    assert summary.catalog.description("sites") is None


def test_a_small_systems_dictionary_describes_tables_in_single_words(tmp_path: Path) -> None:
    path = tmp_path / "stage.sqlite"
    fill(path, "MSCL", "MSCLID, NM, YR, AWRD", [(1, "Cats", 1981, "Tony"), (2, "Evita", 1978, "")])
    fill(path, "ACTR", "ACTRID, NM, MSCLID, AG", [(1, "Ann", 1, 30), (2, "Bo", 2, 41)])
    rows = [
        ("MSCL", "", "musical"), ("MSCL", "MSCLID", "musical id"), ("MSCL", "NM", "name"),
        ("MSCL", "YR", "year"), ("MSCL", "AWRD", "award given"), ("ACTR", "", "actor"),
        ("ACTR", "ACTRID", "actor id"), ("ACTR", "NM", "name"), ("ACTR", "MSCLID", "musical id"),
        ("ACTR", "AG", "age in years"),
    ]  # fmt: skip
    fill(path, "field_texts", "tab, fld, txt", rows)
    catalog, notices = build(path)
    assert notices == (
        "erp::field_texts was read as a dictionary: it describes 2 tables and 8 columns",
    )
    assert [catalog[name].comment for name in ("ACTR", "MSCL")] == ["actor", "musical"]
    assert catalog["ACTR"].column("AG").comment == "age in years"


def test_oracles_comments_exported_with_a_schema(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    for schema in ("hr", "fin"):
        for table in ("staff", "unit", "area"):
            fill(path, f'"{schema}.{table}"', "code, kind", [(f"{schema}{n}", n) for n in range(4)])
    rows = [
        (schema.upper(), table.upper(), "TABLE", f"{schema} {table} of the whole firm")
        for schema in ("hr", "fin")
        for table in ("staff", "unit", "area")
    ]
    fill(path, "all_tab_comments", "OWNER, TABLE_NAME, TABLE_TYPE, COMMENTS", rows)
    catalog, notices = build(path)
    assert notices == ("erp::all_tab_comments was read as a dictionary: it describes 6 tables",)
    described = catalog.description("fin.unit")
    assert described is not None
    assert described.text == "fin unit of the whole firm"


NAMES = list(SALES)
WORDS = ("red", "blue", "green", "white", "black", "brown")


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        # What was done to which table, and by whom: tables repeat with other texts.
        (
            "object, remark",
            [(NAMES[n % 5], f"changed by person {chr(97 + n % 11)}") for n in range(60)],
        ),
        # When each table was loaded.
        ("object, message", [(name, f"loaded {n} rows in 3 s") for n, name in enumerate(NAMES)]),
        # Types of columns: few texts for many columns.
        (
            "object, field, type",
            [(t, c, "variable character" if c > "M" else "fixed character") for t in SALES
             for c in SALES[t]],
        ),
        # Two columns of names, and no text.
        ("object, parent", [(name, NAMES[n - 1]) for n, name in enumerate(NAMES)]),
        # Ordinary things with ordinary descriptions.
        ("code, remark", [(f"X{n}", f"some thing called {chr(97 + n)}") for n in range(20)]),
    ],
)  # fmt: skip
def test_ordinary_tables_are_no_dictionaries(
    tmp_path: Path, columns: str, rows: list[tuple[object, ...]]
) -> None:
    path = tmp_path / "erp.sqlite"
    sales(path)
    fill(path, "other", columns, rows)
    catalog, notices = build(path)
    assert notices == ()
    assert catalog.reader.dictionaries == frozenset()
    # Nothing is said but what is known of SAP's tables anyway.
    for name, columns_of in SALES.items():
        assert catalog.description(name) == described_as(name, columns_of)
    assert catalog.description("other") is None


def test_a_persons_comment_wins_over_a_dictionary_and_that_over_a_model(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        for table in ("aaa", "bbb", "ccc", "ddd"):
            connection.execute(f"CREATE TABLE {table} (k INTEGER, note VARCHAR)")
            connection.execute(f"INSERT INTO {table} VALUES (1, 'x'), (2, 'y')")
        connection.execute("COMMENT ON TABLE aaa IS 'What a person says'")
        connection.execute("CREATE TABLE texts (object VARCHAR, text VARCHAR)")
        for table in ("aaa", "bbb", "ccc"):
            connection.execute(f"INSERT INTO texts VALUES ('{table}', 'said of {table} there')")
    catalog = dovetail.build(f"s={tmp_path / 's.duckdb'}", into=tmp_path / "catalog")
    by_model = {
        name: {"description": "By a model.", "columns": {"note": "gloss"}}
        for name in ("aaa", "bbb", "ddd")
    }
    catalog.save_descriptions(by_model, author="m")
    glosses = {"note": "gloss"}
    assert catalog.description("aaa") == Description("What a person says", PERSON, glosses)
    assert catalog.description("bbb") == Description("said of bbb there", DICTIONARY, glosses)
    assert catalog.description("ccc") == Description("said of ccc there", DICTIONARY)
    assert catalog.description("ddd") == Description("By a model.", "m", glosses)
    assert "said of ccc there" in catalog.tables_to_describe(9).text


def test_an_update_of_a_large_catalog_finds_what_a_rebuild_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dictionary, "_SMALL", 0)
    path = tmp_path / "erp.sqlite"
    sales(path)
    for number in range(30):
        fill(
            path,
            f"more_{WORDS[number // 6]}_{WORDS[number % 6]}",
            "a, b",
            [(number, "x"), (number + 1, "y")],
        )
    catalog, notices = build(path)
    assert notices == ()
    fill(path, "texts", "object, text", list(TABLE_TEXTS.items()))
    dovetail.update(into=catalog.folder)
    # The dictionary stays one when another table comes that it does not speak of.
    fill(path, "later", "a, b", [(1, "x"), (2, "y")])
    updated = dovetail.update(into=catalog.folder).catalog
    rebuilt = dovetail.build(f"erp={path}", into=tmp_path / "rebuilt")
    described = {table: updated.description(table) for table in updated.ids}
    assert described == {table: rebuilt.description(table) for table in rebuilt.ids}
    assert sum(each is not None for each in described.values()) == 5


def test_a_dictionary_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    sales(path)
    fill(path, "texts", "object, text", list(TABLE_TEXTS.items()))
    catalog, _ = build(path)
    execute(path, "UPDATE texts SET text = 'Goods we sell' WHERE object = 'MARA'")
    summary = dovetail.update(into=catalog.folder)
    described = summary.catalog.description("MARA")
    assert described is not None
    assert described.text == "Goods we sell"
    execute(path, "DROP TABLE texts")
    summary = dovetail.update(into=catalog.folder)
    assert summary.catalog.description("MARA") == described_as("MARA", SALES["MARA"])


def test_saps_tables_are_found_by_what_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    people = [(f"{n:010}", f"Firm {n}", "Gent") for n in range(5)]
    fill(path, "LFA1", "LIFNR, NAME1, ORT01", people)
    fill(path, "EKKO", "EBELN, LIFNR, BEDAT", [(n, f"{n:010}", "2024-01-02") for n in range(5)])
    fill(path, "ZBONUS", "LIFNR, KOSTL, STUFE", [(f"{n:010}", n, "a") for n in range(5)])
    fill(path, "T001", "id, label", [(n, f"l{n}") for n in range(5)])
    catalog, notices = build(path)
    assert notices == ()
    assert catalog.search("Which vendors are in Gent?", k=1)[0].name == "LFA1"
    assert catalog.search("purchase orders of 2024", k=1)[0].name == "EKKO"
    described = catalog.description("LFA1")
    assert described == Description(
        "suppliers, vendors, general master data",
        DICTIONARY,
        {"LIFNR": "supplier, vendor number", "NAME1": "name", "ORT01": "city, town"},
    )
    # Of a company's own table the columns are described; of one that is only called alike nothing.
    assert catalog["ZBONUS"].comment == ""
    assert catalog["ZBONUS"].column("KOSTL").comment == "cost centre number"
    assert not catalog.description("T001")


def test_what_the_pile_says_wins_over_the_standard(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    for name, key in (("LFA1", "LIFNR"), ("KNA1", "KUNNR"), ("MARA", "MATNR")):
        fill(path, name, f"{key}, NAME1", [(f"{name}{n}", f"N{n}") for n in range(5)])
    told = [("LFA1", "Our own suppliers"), ("KNA1", "Our own customers"), ("MARA", "Our parts")]
    fill(path, "DD02T", "TABNAME, DDTEXT", told)
    catalog, _ = build(path)
    assert catalog["KNA1"].comment == "Our own customers"
    assert catalog["KNA1"].column("KUNNR").comment == "customer number"


@pytest.mark.parametrize(
    ("name", "columns", "text"),
    [
        ("sap/VBAK", ["VBELN", "ERDAT", *(f"Z{n}" for n in range(90))], "sales order headers"),
        ("vbak", ["vbeln", "erdat"], "sales order headers"),
        ("VBAK", ["VBELN", "note"], ""),
        ("sales", ["VBELN", "note", "day"], ""),
    ],
)
def test_a_table_is_known_by_its_name_and_two_columns(
    name: str, columns: list[str], text: str
) -> None:
    assert described_as(name, columns).text == text


def test_each_name_is_written_as_the_system_writes_it_and_has_a_text() -> None:
    for names in standard_names().values():
        assert list(names) == sorted(name.upper() for name in names)
        assert all(text.strip() == text and text for text in names.values())
