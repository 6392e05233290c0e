"""PostgreSQL: what is read of each type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

import dovetail
from tests.support.servers import index, postgres

pytestmark = pytest.mark.service


class Typed(NamedTuple):
    """A column, three values of it besides a NULL, and the profile it must get."""

    declared: str
    values: tuple[str, str, str]
    type: str
    kind: str
    nulls: int
    examples: set[str]


OWN_TYPES = [
    "CREATE TYPE mood AS ENUM ('sad', 'it''s ok')",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE DOMAIN positive AS int CHECK (value > 0)",
    "CREATE DOMAIN price AS numeric(8,2)",
]
TYPES = [
    Typed("smallint", ("1", "-32768", "1"), "SMALLINT", "integer", 1, {"1", "-32768"}),
    Typed("int", ("2147483647", "0", "-7"), "INTEGER", "integer", 1, {"2147483647", "0", "-7"}),
    Typed(
        "bigint",
        ("9223372036854775807", "-9223372036854775808", "0"),
        "BIGINT",
        "integer",
        1,
        {"9223372036854775807", "-9223372036854775808", "0"},
    ),
    Typed(
        "numeric(10,2)",
        ("12345678.90", "-0.01", "'NaN'"),
        "DECIMAL(10,2)",
        "real",
        2,
        {"12345678.9", "-0.01"},
    ),
    # More digits than a double holds: exact all the same.
    Typed(
        "numeric(30,0)",
        ("123456789012345678901234567890", "123456789012345678901234567891", "'NaN'"),
        "DECIMAL(30,0)",
        "integer",
        2,
        {"123456789012345678901234567890", "123456789012345678901234567891"},
    ),
    Typed("numeric", ("0.1", "12.50", "'NaN'"), "DOUBLE", "real", 2, {"0.1", "12.50"}),
    Typed("numeric", ("1", "20000000000000003", "'NaN'"), "BIGINT", "integer", 2,
          {"1", "20000000000000003"}),
    Typed("real", ("0.1", "'NaN'", "'-infinity'"), "FLOAT", "real", 2, {"0.1", "-inf"}),
    Typed("double precision", ("0.1", "'NaN'", "1e300"), "DOUBLE", "real", 2, {"0.1", "1e+300"}),
    Typed("money", ("1234.50", "-0.01", "0"), "DOUBLE", "real", 1, {"1234.50", "-0.01", "0.00"}),
    Typed("text", ("'héllo 😀'", "''", "E'two\\nlines'"), "VARCHAR", "text", 2,
          {"héllo 😀", "two\nlines"}),
    Typed("varchar(20)", ("'v'", "'  blank  '", "'007'"), "VARCHAR", "text", 1,
          {"v", "blank", "007"}),
    Typed("char(8)", ("'ab'", "'a'", "''"), "VARCHAR", "text", 2, {"ab", "a"}),
    Typed("boolean", ("true", "false", "true"), "BOOLEAN", "boolean", 1, {"true", "false"}),
    Typed("date", ("'2024-02-29'", "'infinity'", "'0044-03-15 BC'"), "DATE", "date", 2,
          {"2024-02-29", "-0043-03-15"}),
    Typed("timestamp", ("'2024-02-29 12:34:56.789'", "'infinity'", "'-infinity'"), "TIMESTAMP",
          "timestamp", 3, {"2024-02-29 12:34:56.789"}),
    Typed("timestamptz", ("'2024-02-29 12:00+02'", "'-infinity'", "'2024-02-29 10:00+00'"),
          "TIMESTAMP WITH TIME ZONE", "timestamp", 2, {"2024-02-29 10:00:00"}),
    Typed("time", ("'12:34:56.5'", "'24:00'", "'00:00'"), "TIME", "text", 1,
          {"12:34:56.5", "24:00:00", "00:00:00"}),
    Typed("timetz", ("'12:34:56+02'", "'00:00+00'", "NULL"), "TIME WITH TIME ZONE", "text", 2,
          {"12:34:56+02", "00:00:00+00"}),
    Typed("interval", ("'1 mon 2 days 03:00'", "'-1 day'", "'0'"), "INTERVAL", "text", 1,
          {"1 month 2 days 03:00:00", "-1 day", "00:00:00"}),
    Typed("uuid", ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "NULL", "NULL"), "UUID", "text", 3,
          {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}),
    Typed("json", ("""'{"b": 1,  "a": 2}'""", "'null'", "'[]'"), "VARCHAR", "text", 1,
          {'{"b": 1,  "a": 2}', "null", "[]"}),
    Typed("jsonb", ("""'{"b": 1,  "a": 2}'""", "'null'", "'[]'"), "VARCHAR", "text", 1,
          {'{"a": 2, "b": 1}', "null", "[]"}),
    Typed("bytea", (r"'\xdeadbeef'", "''", r"'\x00'"), "BLOB", "binary", 1,
          {"0xdeadbeef", "0x", "0x00"}),
    # Of any number of dimensions, even in one column.
    Typed("int[]", ("'{1,2,NULL}'", "'{}'", "'{{1,2},{3,4}}'"), "VARCHAR", "text", 1,
          {"{1,2,NULL}", "{}", "{{1,2},{3,4}}"}),
    Typed("text[]", ("""'{a,"b c"}'""", "'{}'", "NULL"), "VARCHAR", "text", 2,
          {'{a,"b c"}', "{}"}),
    Typed("mood", ("'sad'", "'it''s ok'", "'sad'"), "VARCHAR", "text", 1, {"sad", "it's ok"}),
    Typed("inet", ("'192.168.0.1'", "'10.1.2.3/8'", "'::1'"), "VARCHAR", "text", 1,
          {"192.168.0.1", "10.1.2.3/8", "::1"}),
    Typed("cidr", ("'10.0.0.0/8'", "NULL", "NULL"), "VARCHAR", "text", 3, {"10.0.0.0/8"}),
    Typed("macaddr", ("'08:00:2b:01:02:03'", "NULL", "NULL"), "VARCHAR", "text", 3,
          {"08:00:2b:01:02:03"}),
    Typed("bit(4)", ("B'1010'", "B'0000'", "NULL"), "VARCHAR", "text", 2, {"1010", "0000"}),
    Typed("point", ("'(1,2)'", "NULL", "NULL"), "VARCHAR", "text", 3, {"(1,2)"}),
    Typed("xml", ("'<a/>'", "NULL", "NULL"), "VARCHAR", "text", 3, {"<a/>"}),
    Typed("int4range", ("'[1,5)'", "'empty'", "NULL"), "VARCHAR", "text", 2, {"[1,5)", "empty"}),
    Typed("oid", ("4294967295", "0", "NULL"), "BIGINT", "integer", 2, {"4294967295", "0"}),
    # Types of one's own are what they are made of.
    Typed("positive", ("7", "1", "NULL"), "INTEGER", "integer", 2, {"7", "1"}),
    Typed("price", ("1.50", "'NaN'", "NULL"), "DECIMAL(8,2)", "real", 3, {"1.5"}),
    Typed("pair", ("'(1,x)'", "'(,)'", "NULL"), "VARCHAR", "text", 2, {"(1,x)", "(,)"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dovetail.Table]:
    rows = [[column.values[row] for column in TYPES] for row in range(3)]
    with postgres() as database:
        database.run(
            *OWN_TYPES,
            f"CREATE TABLE t ({', '.join(f'c{n} {c.declared}' for n, c in enumerate(TYPES))})",
            *(f"INSERT INTO t VALUES ({', '.join(row)})" for row in rows),
            "INSERT INTO t DEFAULT VALUES",
        )
        run = index(database.url, into=tmp_path_factory.mktemp("typed") / "catalog")
        assert run.report.skipped == ()
        yield run.catalog["t"]


@pytest.mark.parametrize(
    ("at", "expected"),
    list(enumerate(TYPES)),
    ids=[f"{c.declared}-{n}" for n, c in enumerate(TYPES)],
)
def test_every_type_is_read_as_it_is_meant(typed: dovetail.Table, at: int, expected: Typed) -> None:
    column = typed.columns[at]
    profile = column.profile
    assert typed.rows == 4
    assert (column.type, profile.kind) == (expected.type, expected.kind)
    assert (profile.nulls, profile.distinct) == (expected.nulls, len(expected.examples))
    assert set(profile.examples) == expected.examples


def test_the_ends_of_numbers_and_times(typed: dovetail.Table) -> None:
    ends = {
        column.declared: (found.profile.minimum, found.profile.maximum)
        for column, found in zip(TYPES, typed.columns, strict=True)
    }
    assert ends["bigint"] == ("-9223372036854775808", "9223372036854775807")
    assert ends["numeric(10,2)"] == ("-0.01", "12345678.9")
    assert ends["real"] == ("-inf", "0.1")
    assert ends["date"] == ("-0043-03-15", "2024-02-29")
    assert ends["timestamptz"] == ("2024-02-29 10:00:00", "2024-02-29 10:00:00")
    assert ends["money"] == ("-0.01", "1234.50")
