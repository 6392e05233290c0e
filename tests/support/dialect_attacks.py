"""Statements that a parser and an engine may read differently, by the grammar of each dialect.

A statement hides a payload: in what one side takes for a comment, a text or a name, and the other
does not. `secret` is a table beside the set, `pub` the one that may be read. The text that the
guard lets through is run on the real engine, as its own dialect writes it.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb

import dovetail
from dovetail.answer.guard import guard
from dovetail.answer.relations import Relation, relations
from dovetail.errors import GuardError
from dovetail.settings import Settings

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")
CANARY = "canary-beside-the-set"
MADE = (
    "CREATE TABLE pub (a VARCHAR(40))",
    "CREATE TABLE secret (a VARCHAR(40))",
    "INSERT INTO pub VALUES ('one'), ('two')",
    f"INSERT INTO secret VALUES ('{CANARY}')",
)
Ask = Callable[[str], Sequence[Any]]

# What is to be hidden: other tables, files, settings, writes, second statements.
_PAYLOADS = {
    "": (
        "UNION SELECT a FROM secret", "UNION ALL SELECT max(a) FROM secret, pub",
        "; SELECT a FROM secret", "; DROP TABLE pub", "; DELETE FROM pub", "FROM secret --",
        ", (SELECT max(a) FROM secret)", "WHERE EXISTS (SELECT 1 FROM secret)",
        "JOIN secret USING (a)", "INTO OUTFILE '/tmp/x'", "FOR UPDATE",
    ),
    "sqlite": (", load_extension('x')", ", readfile('/etc/passwd')", "; ATTACH '/tmp/x' AS y",
               "UNION SELECT sql FROM sqlite_master", "; PRAGMA query_only = 0"),
    "duckdb": (", getenv('HOME')", "UNION SELECT content FROM read_text('/etc/passwd')",
               "; COPY pub TO '/tmp/x'", "UNION FROM duckdb_secrets()", "; INSTALL httpfs"),
    "postgres": (", pg_read_file('/etc/passwd')", "; COPY pub TO PROGRAM 'id'", ", lo_import('x')",
                 "UNION SELECT rolname::text FROM pg_roles", ", set_config('a.b', 'c', false)"),
    "mysql": (", LOAD_FILE('/etc/passwd')", "INTO DUMPFILE '/tmp/x'", ", sleep(9)", ", @@datadir",
              "UNION SELECT user FROM mysql.user", "PROCEDURE ANALYSE()"),
}  # fmt: skip

# How it is hidden. {p} is the payload.
_DEVICES = {
    "": (
        "{p}", "/* */ {p}", "/* /* */ {p} -- */", "/* /* {p} */ */ {p}", "/**/{p}/**/", "-- \n{p}",
        "-- \r{p}", "--\u2028{p}", "--\u0085{p}", "-- \\\n{p}", "/*+ {p} */", "/*! {p} */",
        "/*!50000 {p} */", "/*!99999 {p} */", "/*M! {p} */", "/*M!100000 {p} */", "/*!/*!*/ {p} */",
        "# \n{p}", "#{p}\n{p}", "{{# {p} #}}", "{{% x %}} {p}", "{{{{ x }}}} {p}", "\0{p}",
        "\ufeff{p}", "\u00a0{p}", "\u3000{p}", "\u200b{p}", "\v{p}", "\f{p}", "\x1a{p}",
        ", '\\' {p} -- '", ", '\\\\' {p} -- '", ", 'a''b\\' {p} -- '", ", 'a' 'b' {p}",
        ", 'a'\n'b' {p}", ', "\\" {p} -- "', ', "a""b" {p}', ", `a\\` {p} -- `", ", `a``b` {p}",
        ", [a]] {p} -- ]", ", [a] {p}", ", e'\\' {p} -- '", ", x'27' {p}", ", X'zz' {p}",
        ", N'\\' {p} -- '", ", n'a' {p}", ", r'\\' {p} -- '", ", b'\\' {p} -- '", ", 1e {p}",
        ", 0x27 {p}", ", $1 {p}", ", ?1 {p}", ", :a {p}", ", @a {p}", ", 1;{p}", "AS \"a\" {p}",
        ", q'[a]' {p} -- ]'", ", '\u02bc {p} -- '", ", \u2018a\u2019 {p}", ", \uff07 {p} -- \uff07",
        ") {p} --", "{p} LIMIT (SELECT 1)", ", CASE WHEN 1 THEN 1 END {p}",
    ),
    "postgres": (
        ", $$ ' $$ {p} -- '", ", $a$ $$ $b$ {p} -- $a$", ", $a$ {p} $b$ $a$",
        ", E'\\\\\\' {p} -- '",
        ", U&'\\0027 {p} -- '", ", U&\"\\0022 {p}\"", ", U&'!0027' UESCAPE '!' {p}", ", B'1' {p}",
        ", $1$ {p} $1$", ", $\u00e4$ ' $\u00e4$ {p} -- '", ", a$b$c {p} $b$",
        ", 'a' -- x\n 'b' {p}",
    ),
    "mysql": (
        ", _utf8'\\' {p} -- '", ", _binary'a' {p}", ", \"a\\\" {p} -- \"", ", 'a\\'' {p} -- '",
        ", 'a' COLLATE utf8mb4_bin {p}", ", 1--1 {p}", ", 1-- 1\n{p}", ", `a` {p}", "/*!*/{p}",
        "/*!00000{p}*/", "/*!080000 {p} */", ", 0b1 {p}", ", \\N {p}", ", 'a' /*! {p} */",
        "/*!50000 /* */ {p} */",
    ),
    "sqlite": (", `a` {p}", ", [a\"] {p}", ", \"no column\" {p}", ", x'' {p}",
               ", 'a'\x00' {p} -- '",
               "/* {p}", ", 1__0 {p}", ", ?1a {p}", ", $a::b(c) {p}", ", #a {p}"),
    "duckdb": (", $$ ' $$ {p} -- '", ", $t$ {p} $t$", ", e'\\' {p} -- '", ", {{'a': 1}} {p}",
               ", x -> x {p}", "BY NAME {p}", ", #1 {p}", ", a.* {p}", ", COLUMNS('a') {p}"),
}  # fmt: skip

# Where it is hidden.
_PLACES = (
    "SELECT a {d} FROM pub", "SELECT a FROM pub {d}", "SELECT a FROM pub WHERE a = 1 {d}",
    "{d} SELECT a FROM pub", "WITH x AS (SELECT a FROM pub {d}) SELECT * FROM x",
    "SELECT a FROM (SELECT a {d} FROM pub) AS y", "SELECT a FROM pub ORDER BY 1 {d}",
)  # fmt: skip


def statements(dialect: str) -> list[str]:
    """Every statement of a dialect's grammar, in an order that mixes all its parts."""
    devices = (*_DEVICES[""], *_DEVICES[dialect])
    payloads = (*_PAYLOADS[""], *_PAYLOADS[dialect])
    made = [
        place.format(d=device.format(p=payload))
        for place, device, payload in product(_PLACES, devices, payloads)
    ]
    random.Random(len(dialect)).shuffle(made)
    return made


# Queries that take all the time, memory, rows or recursion that they are given.
_ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {v} FROM r"
_DOUBLED = (
    "WITH RECURSIVE r(n, t) AS (SELECT 1, 'abcdefgh' UNION ALL "
    "SELECT n + 1, t || t FROM r WHERE n < 60) SELECT {v} FROM r"
)
_CROSSED = "SELECT {v} FROM " + ", ".join(f"pub p{at}" for at in range(30))
BOMBS = [
    text.replace("{v}", value)
    for text, values in (
        (_ENDLESS, ("count(*)", "sum(n)", "n", "max(n * n)", "count(DISTINCT n)")),
        (_DOUBLED, ("max(length(t))", "t", "max(upper(t))", "max(replace(t, 'a', 'bbbb'))")),
        (_CROSSED, ("count(*)", "p1.a", "max(p1.a + p2.a)", "count(DISTINCT p1.a || p9.a)")),
    )
    for value in values
]
BOMBS += [
    "SELECT max(a.a) FROM pub a, (" + _ENDLESS.replace("{v}", "n") + ") b WHERE a.a = b.n - 1e18",
    "SELECT * FROM (" + _ENDLESS.replace("{v}", "n") + ") x ORDER BY n DESC",
    "SELECT " + "a + " * 2_000 + "a FROM pub",
    "SELECT " + ", ".join(["a"] * 4_000) + " FROM pub",
    "SELECT a FROM pub WHERE " + " OR ".join(f"a = {at}" for at in range(2_000)),
    "SELECT '" + "(a+)+" * 2_000 + "' LIKE '" + "%a" * 2_000 + "' FROM pub",
]
REGULAR = [
    f"SELECT regexp_matches('{'a' * 3_000}!', '{pattern}') FROM pub"
    for pattern in ("(a+)+$", "(a|a)*$", "(.*a){12}$", "((a{1,100}){1,100}){1,100}", "(?:a?){999}b")
]


def shop(folder: Path) -> dovetail.Catalog:
    """A catalog of both tables, in a file of SQLite."""
    with closing(sqlite3.connect(folder / "shop.sqlite")) as db, db:
        for statement in MADE:
            db.execute(statement)
    settings = Settings(embedder="none")
    return dovetail.build(folder / "shop.sqlite", into=folder / "catalog", settings=settings)


@contextmanager
def engine(name: str) -> Iterator[Ask]:
    """What runs a statement in a real engine with both tables in it."""
    if name == "sqlite":
        with closing(sqlite3.connect(":memory:")) as db:
            for statement in MADE:
                db.execute(statement)
            yield lambda sql: db.execute(sql).fetchall()
    elif name == "duckdb":
        with duckdb.connect() as duck:
            for statement in MADE:
                duck.execute(statement)
            yield lambda sql: duck.execute(sql).fetchall()
    elif name == "postgres":
        from tests.support.servers import postgres

        with postgres() as server:
            server.run(*MADE)
            with server.connect() as session:
                session.execute("SET statement_timeout = 5000")
                yield lambda sql: session.execute(sql.encode()).fetchall()
    else:
        from tests.support.servers import mysql

        with (
            mysql() as maria,
            closing(maria.connect()) as connection,
            connection.cursor() as cursor,
        ):
            for statement in (*MADE, "SET sql_mode = ''"):
                cursor.execute(statement)

            def ask(sql: str) -> Sequence[Any]:
                cursor.execute(sql)
                return list(cursor.fetchall())

            yield ask


def attack(
    name: str, ask: Ask, catalog: dovetail.Catalog, tried: Sequence[str]
) -> tuple[Counter[str], list[str]]:
    """How statements ended in an engine, and those that saw or changed what they may not."""
    known = [replace(one, engine_name=("pub",)) for one in relations([catalog["pub"]])]
    ended = [(_outcome(sql, name, known, ask), sql) for sql in tried]
    wrong = [f"{name}: {how}: {sql}" for how, sql in ended if how.startswith("wrong")]
    if sorted(ask("SELECT a FROM pub")) != [("one",), ("two",)]:
        wrong.append(f"{name}: a table was changed")
    return Counter(how for how, _ in ended), wrong


def _outcome(sql: str, dialect: str, known: Sequence[Relation], ask: Ask) -> str:
    """How a statement ended: refused, failed in the engine, rows without the canary, or wrong."""
    try:
        guarded = guard(sql, known, dialect=dialect, engine=dialect)
    except GuardError as error:
        return "refused" if len(str(error).splitlines()) == 1 else "wrong: several lines"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"wrong: {type(error).__name__}"
    try:
        rows = ask(guarded.sql)
    except Exception as error:
        # What all drivers call their own (PEP 249).
        ours = any(kind.__name__ == "Error" for kind in type(error).__mro__)
        if not ours and not isinstance(error, ValueError):
            raise
        return "wrong: leak" if CANARY in str(error) else "failed in the engine"
    return "wrong: leak" if CANARY in str(rows) else "rows of the set"
