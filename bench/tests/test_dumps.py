"""MySQL dumps: a written one with all that is awkward in it, and one of a real server's tool."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymysql.converters import escape_item
from tests.support.servers import mysql

from dovetail.errors import DatasetError
from dovetail_bench.releases import import_release
from dovetail_bench.releases.dumps import Dump, Value

DUMP = r"""
/*M!999999\- enable the sandbox mode */
-- MariaDB dump; with a semicolon; and a quote '
# another; comment
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS `ROOMS`;
CREATE TABLE `ROOMS` (
  `ROOM``KEY` varchar(10) NOT NULL DEFAULT 'a,b)' COMMENT 'it''s (a; key), \' and "more"',
  /* an aside, with a comma */ area decimal(10,2) DEFAULT NULL,
  `flags` bit(3) DEFAULT b'0', `kind` enum('a','b') DEFAULT 'a',
  `raw` blob, period int,
  PRIMARY KEY (`ROOM``KEY`), KEY `by_area` (`area`,`flags`),
  CONSTRAINT `fk` FOREIGN KEY (`kind`) REFERENCES `KINDS` (`id`)
) ENGINE=InnoDB /*!50100 PARTITION BY KEY (x) */;
LOCK TABLES `ROOMS` WRITE;
/*!40000 ALTER TABLE `ROOMS` DISABLE KEYS */;
INSERT INTO `ROOMS` VALUES ('1-100',12.50,b'101','a',0x00FF,1),
 ('it''s; \'so\' (yes), no',-1e2,NULL,'a\\b\n\tc\Z\0',_binary 'abc',NULL) , -- and on
 ("say ""so"" ",.5,0b11,'100\% \_x',x'4142',+7);
insert ignore into dw.rooms (`period`, `ROOM``KEY`) values (18446744073709551615, 'ü€'), (TRUE,'');
/*!50001 CREATE VIEW `v` AS SELECT 1 AS `id` */;
DELIMITER ;;
CREATE PROCEDURE p() BEGIN INSERT INTO ROOMS VALUES (1); INSERT INTO nowhere VALUES (2); END ;;
DELIMITER ;
CREATE TABLE empty (id int);
"""
ROWS: list[list[Value]] = [
    ["1-100", 12.5, 5, "a", b"\x00\xff", 1],
    ["it's; 'so' (yes), no", -100.0, None, "a\\b\n\tc\x1a\0", "abc", None],
    ['say "so" ', 0.5, 3, r"100\% \_x", b"AB", 7],
    ["ü€", None, None, None, None, "18446744073709551615"],
    ["", None, None, None, None, 1],
]


def _encodes(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def dump(folder: Path, text: str | bytes) -> Dump:
    file = folder / "dw.sql"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Dump(file)


def test_what_a_dump_holds(tmp_path: Path) -> None:
    found = dump(tmp_path, DUMP)
    assert list(found.tables) == ["rooms", "empty"]
    rooms = found.tables["rooms"]
    assert rooms.columns == ("ROOM`KEY", "area", "flags", "kind", "raw", "period")
    assert list(rooms) == ROWS
    assert list(rooms) == ROWS  # as often as one likes
    assert list(rooms.of(["PERIOD", "Area"]))[:2] == [[1, 12.5], [None, -100.0]]
    assert list(found.tables["empty"]) == []


def test_bytes_that_are_no_text_stay_bytes(tmp_path: Path) -> None:
    found = dump(tmp_path, b"CREATE TABLE t (a blob); INSERT INTO t VALUES ('\xff\xfe\\0');")
    assert list(found.tables["t"]) == [[b"\xff\xfe\0"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "dw.sql is empty"),
        ("SELECT 1;", "dw.sql creates no table"),
        ("CREATE TABLE t (a int);\nINSERT INTO t VALUES (1)", "ends within a statement"),
        ("CREATE TABLE t (a int);\nINSERT INTO t VALUES ('1);", "line 2: what is opened is not"),
        ("INSERT INTO t VALUES (1);", "fills t and does not create it"),
        ("CREATE TABLE t (a int);\n\nINSERT INTO t VALUES (1),(now());", "line 3: table t has a v"),
        ("CREATE TABLE t (a int);INSERT INTO t VALUES (1,2);", "a row of 2 values for 1 columns"),
        ("CREATE TABLE t (a int);INSERT INTO t VALUES (1)(2);", "has rows that cannot be read"),
        ("CREATE TABLE t (a int);INSERT INTO t VALUES (1),;", "has rows that cannot be read"),
    ],
)
def test_a_dump_that_cannot_be_read(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(DatasetError, match=expected):
        [list(table) for table in dump(tmp_path, text).tables.values()]


literals = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.text().filter(_encodes))


@given(st.lists(st.tuples(literals, literals), min_size=1))
def test_what_is_written_is_what_is_read(rows: list[tuple[Value, Value]]) -> None:
    written = ",".join(f"({escape_item(a, 'utf8')}, {escape_item(b, 'utf8')})" for a, b in rows)
    text = f"CREATE TABLE t (a text, b text); INSERT INTO t VALUES {written};"
    with TemporaryDirectory() as folder:
        assert [tuple(row) for row in dump(Path(folder), text).tables["t"]] == rows


pieces = st.sampled_from([*"'\"`();,*/-#\\\n 1", "INSERT INTO t VALUES", "/*", "CREATE TABLE t"])


@given(st.lists(pieces).map("".join))
def test_no_dump_crashes(text: str) -> None:
    with TemporaryDirectory() as folder, suppress(DatasetError):
        found = dump(Path(folder), "CREATE TABLE t (a int);" + text)
        assert all(
            len(row) == len(table.columns) for table in found.tables.values() for row in table
        )


def write_release(folder: Path, tables: dict[str, list[str]]) -> Path:
    """A release of BEAVER with one database and one question."""
    schemas = {
        name: {"db_id": "dw", "table_name_original": name, "column_names_original": columns}
        for name, columns in tables.items()
    }
    first = next(iter(tables))
    files: dict[str, Any] = {
        "dev_dw.json": [{"db_id": "dw", "question": "All?", "sql": f"SELECT * FROM {first}"}],
        "dev_nw.json": [],
        "dev_tables.json": schemas,
        "dw_join_keys.json": [],
    }
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def rows_of(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "databases/dw/dw.sqlite")) as connection:
        return connection.execute(query).fetchall()


def test_beaver_from_a_dump(tmp_path: Path) -> None:
    tables = {"Rooms": ["AREA", "PERIOD"], "BUILDINGS": ["ID"]}
    release = write_release(tmp_path / "release", tables)
    (release / "dw.sql").write_text(DUMP)
    import_release("beaver", release, tmp_path / "out")
    assert rows_of(tmp_path / "out", "SELECT * FROM Rooms WHERE AREA > 0 ORDER BY AREA") == [
        (0.5, "7"), (12.5, "1"),
    ]  # fmt: skip
    assert rows_of(tmp_path / "out", "SELECT count(*) FROM BUILDINGS") == [(0,)]
    for found, expected in (
        ({"ROOMS": ["area", "floor"]}, r"dw.sql: table ROOMS lacks 1 of 2 columns, floor among"),
        ({"HALLS": ["area"]}, r"dw.sql has none of the 1 tables of dw"),
    ):
        again = write_release(tmp_path / next(iter(found)), found)
        (again / "dw.sql").write_text(DUMP)
        with pytest.raises(DatasetError, match=expected):
            import_release("beaver", again, tmp_path / "again")


@pytest.mark.service
@pytest.mark.parametrize("option", ["--hex-blob", "--complete-insert", "--skip-extended-insert"])
def test_what_the_tool_of_a_server_dumps(tmp_path: Path, option: str) -> None:
    tool = shutil.which("mariadb-dump") or shutil.which("mysqldump")
    if tool is None:
        reason = "there is no mariadb-dump or mysqldump"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with mysql() as database:
        database.run(
            "CREATE TABLE `odd ``names` (id int PRIMARY KEY, `a,b` text, amount decimal(8,2), "
            "made datetime, raw varbinary(9), mask bit(4), twice int AS (id * 2) STORED, "
            "CHECK (`a,b` <> ');'))",
            r"INSERT INTO `odd ``names` (id, `a,b`, amount, made, raw, mask) VALUES "
            r"(1, 'O\'Hara; said \"hi\"\n\\end', -1.50, '2024-02-03 04:05:06', x'00270aff', 10),"
            "(2, NULL, NULL, NULL, NULL, NULL), (3, 'ü€ -- /* no */', 0, NULL, 'abc', b'0')",
            "CREATE VIEW seen AS SELECT id FROM `odd ``names`",
            "CREATE TRIGGER kept BEFORE INSERT ON `odd ``names` FOR EACH ROW SET NEW.amount = 1",
        )
        login = urlsplit(database.server)
        written = subprocess.run(
            [
                tool, option, f"--host={database.host}", f"--port={database.port}",
                f"--user={login.username or ''}", f"--password={login.password or ''}",
                database.name,
            ],
            check=True,
            capture_output=True,
        ).stdout  # fmt: skip
    (table,) = dump(tmp_path, written).tables.values()
    assert (table.name, table.columns[-1]) == ("odd `names", "twice")
    assert list(table.of(["id", "A,B", "amount", "made", "raw", "mask"])) == [
        [1, 'O\'Hara; said "hi"\n\\end', -1.5, "2024-02-03 04:05:06", b"\x00'\n\xff", 10],
        [2, None, None, None, None, None],
        [3, "ü€ -- /* no */", 0.0, None, b"abc" if option == "--hex-blob" else "abc", 0],
    ]
