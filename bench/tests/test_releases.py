"""Importers, on tiny archives of the layouts that the official releases have."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail.errors import DatasetError, DovetailError, NotFoundError, UsageError
from dovetail_bench.datasets import open_dataset
from dovetail_bench.releases import import_release

SCHEMA = {
    "db_id": "zoo",
    "table_names_original": ["Keeper", "Animal"],
    "column_names_original": [[-1, "*"], [0, "id"], [0, "name"], [1, "id"], [1, "keeper_id"]],
    "foreign_keys": [[4, 1]],
}
SQL = "SELECT count(*) FROM animal AS T1 JOIN keeper AS T2 ON T1.keeper_id = T2.id"
KEY = {
    "db_id": "zoo", "table": "Animal", "column": "keeper_id",
    "ref_table": "Keeper", "ref_column": "id",
}  # fmt: skip


def database(folder: Path, name: str = "zoo") -> bytes:
    file = folder / f"{name}.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE Keeper (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("CREATE TABLE Animal (id INTEGER, keeper_id INTEGER REFERENCES Keeper)")
        connection.execute("INSERT INTO Keeper VALUES (1, 'Ada'), (2, 'Bo')")
        connection.execute("INSERT INTO Animal VALUES (1, 1), (2, 1), (3, 2)")
    content = file.read_bytes()
    file.unlink()
    return content


def pack(file: Path, members: dict[str, Any]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            raw = content if isinstance(content, bytes | str) else json.dumps(content)
            archive.writestr(name, raw)
    return file


def questions(folder: Path) -> list[tuple[str, list[str]]]:
    dataset = open_dataset(folder)
    asked = dataset.question_set().over(dataset.catalog().ids)
    asked.refuse_bad(dataset.name)
    return [(found.id, [str(table) for table in found.gold]) for found in asked.questions]


def spider_members(tmp_path: Path) -> dict[str, Any]:
    dev = [{"db_id": "zoo", "question": "How many?", "query": SQL, "query_toks": []}]
    return {
        "spider_data/dev.json": dev,
        "spider_data/train_spider.json": [],
        "spider_data/tables.json": [SCHEMA, {**SCHEMA, "db_id": "unused"}],
        "spider_data/database/zoo/zoo.sqlite": database(tmp_path),
        "__MACOSX/spider_data/._dev.json": b"\0\1",
    }


def test_spider(tmp_path: Path) -> None:
    archive = pack(tmp_path / "spider_data.zip", spider_members(tmp_path))
    done = CliRunner().invoke(
        app, ["bench", "import", "spider", str(archive), "-o", str(tmp_path / "spider")]
    )
    assert "1 databases, 1 questions, 1 keys" in " ".join(done.stdout.split())
    assert questions(tmp_path / "spider") == [("0", ["zoo::Animal", "zoo::Keeper"])]
    assert json.loads((tmp_path / "spider/foreign_keys.json").read_text()) == [KEY]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("spider_data/dev.json", r"spider_data.zip has no dev.json; give the release"),
        ("spider_data/tables.json", "has no tables.json"),
        ("spider_data/database/zoo/zoo.sqlite", "lacks 1 of 1 databases, zoo.sqlite among them"),
    ],
)
def test_a_release_that_is_not_whole(tmp_path: Path, missing: str, expected: str) -> None:
    members = spider_members(tmp_path)
    del members[missing]
    archive = pack(tmp_path / "spider_data.zip", members)
    with pytest.raises(NotFoundError, match=expected):
        import_release("spider", archive, tmp_path / "spider")
    assert list(tmp_path.iterdir()) == [archive]


def test_bird_with_its_databases_in_an_archive_of_their_own(tmp_path: Path) -> None:
    inner = pack(
        tmp_path / "dev_databases.zip", {"dev_databases/zoo/zoo.sqlite": database(tmp_path)}
    )
    row = {
        "question_id": 5, "db_id": "zoo", "question": "How many?", "evidence": "all of them",
        "SQL": SQL, "difficulty": "simple",
    }  # fmt: skip
    archive = pack(
        tmp_path / "dev.zip",
        {
            "dev_20240627/dev.json": [row],
            "dev_20240627/dev_tables.json": [SCHEMA],
            "dev_20240627/dev_databases.zip": inner.read_bytes(),
        },
    )
    import_release("bird", archive, tmp_path / "bird")
    assert questions(tmp_path / "bird") == [("5", ["zoo::Animal", "zoo::Keeper"])]
    (found,) = open_dataset(tmp_path / "bird").questions(with_evidence=True)
    assert (found.text, found.difficulty) == ("How many? all of them", "simple")


def mmqa_row(number: int, keeper: list[list[Any]], columns: list[str]) -> dict[str, Any]:
    return {
        "id_": number,
        "Question": "How many animals has Ada?",
        "SQL": SQL,
        "table_names": ["animal", "keeper"],
        "tables": [
            {"table_columns": ["id", "keeper_ID"], "table_content": [[1, 1], [2, 1]]},
            {"table_columns": columns, "table_content": keeper},
        ],
        "foreign_keys": ["keeper id"],
        "primary_keys": ["id", "keeper id"],
        "answer": "2",
    }


def test_mmqa_pools_tables_by_name_and_header(tmp_path: Path) -> None:
    header, other = ["keeper_id", "name"], ["keeper_id", "name", "wage"]
    release = tmp_path / "release"
    release.mkdir()
    two = [
        mmqa_row(0, [[1, "Ada"]], header),
        mmqa_row(1, [[1, "Ada"], [2, "Bo"]], header),
        mmqa_row(2, [[1, "Ada", 9.5]], other),
    ]
    (release / "Synthesized_two_table.json").write_text(json.dumps(two))
    with pytest.raises(NotFoundError, match=r"has no Synthesized_three_table.json"):
        import_release("mmqa", release, tmp_path / "mmqa")
    (release / "Synthesized_three_table.json").write_text("[]")
    assert import_release("mmqa", release, tmp_path / "mmqa")["questions"] == 3
    assert questions(tmp_path / "mmqa") == [
        ("two_table_0", ["pool_1::animal", "pool_1::keeper"]),
        ("two_table_1", ["pool_1::animal", "pool_1::keeper"]),
        ("two_table_2", ["pool_1::animal", "pool_2::keeper"]),
    ]
    catalog = open_dataset(tmp_path / "mmqa").catalog()
    assert catalog["pool_1::keeper"].rows == 2  # the longest of its copies
    assert catalog["pool_2::keeper"].column("wage").type == "DOUBLE"
    keys = open_dataset(tmp_path / "mmqa").foreign_keys()
    assert [(key.ref_database, key.ref_column) for key in keys] == [
        ("pool_1", "keeper_id"),
        ("pool_2", "keeper_id"),
    ]


def test_mmqa_with_a_row_that_lacks_something(tmp_path: Path) -> None:
    row = mmqa_row(7, [], ["keeper_id"])
    del row["table_names"]
    (tmp_path / "Synthesized_two_table.json").write_text(json.dumps([row]))
    (tmp_path / "Synthesized_three_table.json").write_text("[]")
    with pytest.raises(DatasetError, match=r"question 7: KeyError\('table_names'\)"):
        import_release("mmqa", tmp_path, tmp_path / "mmqa")


def test_beaver(tmp_path: Path) -> None:
    release = tmp_path / "beaver"
    (release / "data/dw").mkdir(parents=True)
    (release / "schema/dw").mkdir(parents=True)
    files = {
        "dev_dw.json": [{"db_id": "dw", "question": "Rooms?", "sql": "SELECT * FROM rooms r"}],
        "dev_nw.json": [
            {"db_id": "nova", "question": "Hosts?", "sql": "SELECT", "gold_tables": ["hosts"]}
        ],
        "dev_tables.json": {
            f"{db}#sep#{name}": {
                "db_id": db, "table_name_original": name, "column_names_original": columns,
            }
            for db, name, columns in (
                ("dw", "ROOMS", ["ROOM_KEY", "BUILDING_KEY"]),
                ("dw", "BUILDINGS", ["BUILDING_KEY"]),
                ("nova", "hosts", ["id"]),
            )
        },
        "dw_join_keys.json": [
            ["ROOMS.BUILDING_KEY", "BUILDINGS.BUILDING_KEY"],
            ["BUILDINGS.BUILDING_KEY", "ROOMS.BUILDING_KEY"],
        ],
    }  # fmt: skip
    for name, content in files.items():
        (release / name).write_text(json.dumps(content))
    (release / "schema/dw/ROOMS.csv").write_text("column,type\nROOM_KEY,text\n")
    (release / "data/dw/ROOMS.csv").write_text("room_key,building_key\n1-100,1\n1-200,\n")
    assert import_release("beaver", release, tmp_path / "out") == {
        "databases": 2, "questions": 2, "keys": 1,
    }  # fmt: skip
    assert questions(tmp_path / "out") == [("dw_0", ["dw::ROOMS"]), ("nw_0", ["nova::hosts"])]
    catalog = open_dataset(tmp_path / "out").catalog()
    assert [(table.name, table.rows) for table in catalog] == [
        ("BUILDINGS", 0), ("ROOMS", 2), ("hosts", 0),
    ]  # fmt: skip
    assert catalog["ROOMS"].column("BUILDING_KEY").profile.nulls == 1
    (release / "data/dw/ROOMS.csv").write_text("room_key,building_key\n1-100\n")
    with pytest.raises(DatasetError, match=r"ROOMS.csv, line 2, has not 2 cells"):
        import_release("beaver", release, tmp_path / "again")


def test_spider2_lite_takes_the_local_instances_with_gold(tmp_path: Path) -> None:
    rows = [
        {"instance_id": "local001", "db": "zoo", "question": "How many?"},
        {"instance_id": "local002", "db": "zoo", "question": "No gold SQL"},
        {"instance_id": "bq001", "db": "cloud", "question": "Not local"},
    ]
    release = tmp_path / "spider2-lite"
    gold = release / "evaluation_suite/gold/sql"
    gold.mkdir(parents=True)
    (release / "spider2-lite.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    with pytest.raises(NotFoundError, match="no gold SQL of a local instance"):
        import_release("spider2-lite", release, tmp_path / "out")
    (gold / "local001.sql").write_text(SQL)
    (gold / "bq001.sql").write_text("SELECT 1 FROM cloud")
    pack(release / "local_sqlite.zip", {"zoo.sqlite": database(tmp_path)})
    import_release("spider2-lite", release, tmp_path / "out")
    assert questions(tmp_path / "out") == [("local001", ["zoo::Animal", "zoo::Keeper"])]
    assert [key.column for key in open_dataset(tmp_path / "out").foreign_keys()] == ["keeper_id"]


@pytest.mark.parametrize(
    ("release", "kind", "expected"),
    [
        ("wikisql", UsageError, "release 'wikisql' is not known; there are: spider, bird"),
        ("spider", NotFoundError, "there is no release at"),
    ],
)
def test_what_cannot_be_imported(
    tmp_path: Path, release: str, kind: type[DovetailError], expected: str
) -> None:
    with pytest.raises(kind, match=expected):
        import_release(release, tmp_path / "nothing.zip", tmp_path / "out")


def test_an_archive_that_is_none_and_a_folder_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "spider.zip").write_text("no")
    with pytest.raises(
        DatasetError, match=r"spider.zip cannot be unpacked: File is not a zip file"
    ):
        import_release("spider", tmp_path / "spider.zip", tmp_path / "out")
    with pytest.raises(UsageError, match="is there already"):
        import_release("spider", tmp_path / "spider.zip", tmp_path)


@pytest.mark.parametrize(
    "name", ["/tmp/elsewhere", "../outside", "a/b", "..", ".", "", "a\0b", 5, None]
)
def test_a_database_is_never_written_outside_of_the_corpus(tmp_path: Path, name: object) -> None:
    release = tmp_path / "beaver"
    release.mkdir()
    schema = {"db_id": name, "table_name_original": "t", "column_names_original": ["a"]}
    for file, rows in {
        "dev_dw": [],
        "dev_nw": [],
        "dev_tables": [schema],
        "dw_join_keys": [],
    }.items():
        (release / f"{file}.json").write_text(json.dumps(rows))
    with pytest.raises(DatasetError, match=r"no name for a database|not laid out"):
        import_release("beaver", release, tmp_path / "corpora" / "out")
    assert not list(tmp_path.rglob("*.sqlite"))
    assert not list(Path("/tmp").glob("elsewhere*"))


@pytest.mark.parametrize("rows", [5, "text", [5], [{}], [[1]], {"a": 5}, [{"db_id": []}]])
@pytest.mark.parametrize("release", ["spider", "bird", "mmqa", "beaver", "spider2-lite"])
def test_a_release_of_another_layout_is_an_error_of_one_line(
    tmp_path: Path, release: str, rows: object
) -> None:
    names = (
        "dev.json", "tables.json", "dev_tables.json", "dev_dw.json", "dev_nw.json",
        "dw_join_keys.json", "Synthesized_two_table.json", "Synthesized_three_table.json",
        "spider2-lite.jsonl",
    )  # fmt: skip
    for name in names:
        (tmp_path / name).write_text(json.dumps(rows))
    with pytest.raises(DovetailError) as refused:
        import_release(release, tmp_path, tmp_path / "out")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_an_archive_with_a_password_is_an_error_of_one_line(tmp_path: Path) -> None:
    packed = bytearray(pack(tmp_path / "spider.zip", spider_members(tmp_path)).read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # set the bit "is encrypted"
        place = packed.find(mark)
        while place >= 0:
            packed[place + at] |= 1
            place = packed.find(mark, place + 4)
    (tmp_path / "locked.zip").write_bytes(packed)
    with pytest.raises(DatasetError, match=r"locked.zip cannot be unpacked: .*password"):
        import_release("spider", tmp_path / "locked.zip", tmp_path / "out")
