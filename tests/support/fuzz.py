"""Seeded statements against the guard: calls, token soup, grammar, look-alike names, nested types.

A case is a text and a dialect. `Aviary` holds what must never be seen: a table beside the set, a
file and an environment variable, each with a canary in it. Let through or refused, a statement may
raise nothing but the errors that a caller knows, and what it returns holds no canary.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import duckdb
import sqlglot

import dovetail
from dovetail.answer import in_duckdb, in_sqlite
from dovetail.answer.execute import Executor
from dovetail.answer.guard import NAMED, SQLITE_FUNCTIONS, guard
from dovetail.answer.relations import Relation, relations
from dovetail.answer.results import Limits
from dovetail.domain import TableId
from dovetail.errors import DovetailError
from tests.support.hostile import CONTAINED, MEANINGLESS, REFUSED

CANARIES = ("canary-of-the-table", "canary-of-the-file", "canary-of-the-environment")
VARIABLE = "DOVETAIL_FUZZ_CANARY"
DIALECTS = ("duckdb", "sqlite")
# A guard that takes longer than this over one statement hangs: CPU time, as it only computes.
SECONDS = 5


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_TYPES = _words(
    "date time timestamp datetime char varchar text decimal numeric int bigint double json struct "
    "map list array interval uuid blob bit enum nullable object variant union hugeint"
)
_WORDS = _words(
    "SELECT FROM WHERE WITH RECURSIVE AS JOIN LEFT ON USING GROUP BY ORDER HAVING LIMIT UNION ALL "
    "EXCEPT INTERSECT DISTINCT CASE WHEN THEN ELSE END IN EXISTS NOT AND OR IS NULL BETWEEN LIKE "
    "CAST ( ) ( ) , . * + - / || = < > :: [ ] { } ; ' \" ` -- /* */ $1 ? @x #t 0x1F 1e5 1 2 'a' "
    "VALUES LATERAL PIVOT UNNEST OVER PARTITION WINDOW QUALIFY INTERVAL EXTRACT COLLATE FILTER "
    "pub secret seen s0 main temp sqlite_master pg_settings duckdb_settings information_schema "
    "read_csv read_text getenv load_extension readfile stream_0 stream_1 ATTACH COPY PRAGMA SET"
)
_NAMES = (
    "pub", "pub", "pub", "pub", "seen", "secret", "SECRET", "\u017fecret", "secre\u1e97",
    "\uff53ecret", "s\u0435cret",
    "pg_settings", "sqlite_master", "duckdb_tables", "stream_0", "stream_1", "a", "x", "rowid",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A statement and the dialect it is given as."""

    sql: str
    dialect: str


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many statements, the same for the same seed."""
    draw = random.Random(seed)
    functions = {dialect: _functions(dialect) for dialect in DIALECTS}
    makers = (_call, _soup, _grammar, _look_alike, _nested, _mutated)
    for number in range(count):
        dialect = DIALECTS[number % 2]
        yield Case(draw.choice(makers)(draw, functions[dialect]), dialect)


def _functions(dialect: str) -> list[str]:
    """Every function that an engine knows, or the parser, or the lists of the guard."""
    known = set(sqlglot.Dialect.get_or_raise(dialect).parser_class.FUNCTIONS)
    known |= NAMED[dialect]
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            rows = connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()")
            known |= {str(row[0]) for row in rows.fetchall()}
    else:
        with closing(sqlite3.connect(":memory:")) as connection:
            listed = connection.execute("SELECT DISTINCT name FROM pragma_function_list")
            known |= {str(row[0]) for row in listed} | SQLITE_FUNCTIONS
    return sorted(name for name in known if name.replace("_", "a").isalnum())


def _call(draw: random.Random, functions: list[str]) -> str:
    given = ", ".join(_value(draw) for _ in range(draw.randrange(5)))
    call = f"{draw.choice(functions)}({given})"
    return draw.choice(
        (f"SELECT {call}", f"SELECT {call} FROM pub", f"SELECT * FROM {call}",
         f"SELECT a FROM pub WHERE {call}", f"SELECT {call} OVER () FROM pub")
    )  # fmt: skip


def _value(draw: random.Random) -> str:
    return draw.choice(
        ("1", "-1", "NULL", "'a'", "''", "a", "pub.a", "*", "'/etc/passwd'", f"'{VARIABLE}'",
         "'2024-01-01'", "[1]", "(SELECT 1)", "DATE '20000-01-01'", "INTERVAL 1 DAY", "X'00'",
         "{'a': 1}", '"a"', "'secret'", "9223372036854775808", "1e400", "'$.a'", "TRUE")
    )  # fmt: skip


def _soup(draw: random.Random, functions: list[str]) -> str:
    words = [draw.choice(_WORDS) for _ in range(draw.randrange(1, 25))]
    if draw.random() < 0.3:
        words.insert(draw.randrange(len(words)), draw.choice(functions) + "(")
    return draw.choice(("SELECT ", "WITH ", "FROM ", "(", "VALUES ", "")) + " ".join(words)


def _grammar(draw: random.Random, functions: list[str], depth: int = 0) -> str:
    inner = _grammar if depth < 3 and draw.random() < 0.4 else None
    source = f"({inner(draw, functions, depth + 1)}) AS {_name(draw)}" if inner else _name(draw)
    value = draw.choice(("a", "*", "count(*)", _value(draw), f"{_name(draw)}.a"))
    text = f"SELECT {value} FROM {source}"
    if draw.random() < 0.3:
        text += f" JOIN {_name(draw)} ON {draw.choice(('true', 'a = a', '1 = 1'))}"
    if draw.random() < 0.3:
        text += f" WHERE a IN (SELECT a FROM {_name(draw)})"
    if draw.random() < 0.3:
        text += f" UNION ALL SELECT {_value(draw)} FROM {_name(draw)}"
    if draw.random() < 0.5:
        kind = draw.choice(("", "RECURSIVE "))
        text = f"WITH {kind}{_name(draw)} AS (SELECT * FROM {_name(draw)}) {text}"
    return text


def _name(draw: random.Random) -> str:
    name = draw.choice(_NAMES)
    if draw.random() < 0.6:
        return name
    return draw.choice((f'"{name}"', name.upper(), f"main.{name}", f"s0.{name}"))


def _look_alike(draw: random.Random, functions: list[str]) -> str:
    del functions
    one, other, third = (_name(draw) for _ in range(3))
    kind = draw.choice(("", "RECURSIVE "))
    clause = draw.choice(
        (f"{one} AS (SELECT 1 AS a)", f"{one}(a) AS (SELECT 1 UNION SELECT a FROM {other})",
         f"{one} AS (SELECT * FROM {other}), x AS (SELECT * FROM {third})")
    )  # fmt: skip
    return f"WITH {kind}{clause} SELECT * FROM {other}, {third}"


def _nested(draw: random.Random, functions: list[str]) -> str:
    opening = draw.choice(("(", "(", "["))
    word = draw.choice((*_TYPES, draw.choice(functions)))
    depth = draw.randrange(1, 40)
    closing_one = ")" if opening == "(" else "]"
    return f"SELECT {(word + opening) * depth}{_value(draw)}{closing_one * depth}"


def _mutated(draw: random.Random, functions: list[str]) -> str:
    del functions
    known = draw.choice((*REFUSED, *MEANINGLESS, *CONTAINED[2:3]))[:400]
    text = known.replace("orders", "pub").replace("hidden", "secret")
    for _ in range(draw.randrange(4)):
        at = draw.randrange(len(text) + 1)
        cut = draw.choice((0, 0, 1, 3))
        text = (
            text[:at]
            + draw.choice((" ", "(", ")", "'", '"', "a", ";", "\u017f", "\n", ""))
            + (text[at + cut :])
        )
    return text


class Aviary:
    """A catalog with a set of one table and one view, and canaries beside it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "canary.csv").write_text(f"a\n{CANARIES[1]}\n", encoding="utf-8")
        os.environ[VARIABLE] = CANARIES[2]
        file = folder / "aviary.db"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("CREATE TABLE pub (a INTEGER, b TEXT)")
            connection.execute("INSERT INTO pub VALUES (1, 'x'), (2, 'y')")
            connection.execute("CREATE TABLE secret (a TEXT)")
            connection.executemany("INSERT INTO secret VALUES (?)", [[CANARIES[0]]] * 7)
            connection.execute("CREATE VIEW seen AS SELECT length(a) AS a FROM secret")
        catalog = dovetail.build(
            str(file), into=folder / "catalog", settings=dovetail.Settings(views=True)
        )
        self.placed: dict[str, tuple[Relation, ...]] = {}
        self._described: dict[str, dict[TableId, dict[str, object]]] = {}
        with Executor(catalog.reader, workers=1) as executor:
            known = relations([catalog["pub"], catalog["seen"]])
            for engine in DIALECTS:
                placed = self.placed[engine] = executor._located(known, engine)
                self._described[engine] = {
                    each.table.id: executor._described(each) for each in placed
                }

    def try_case(self, case: Case, *, run: bool) -> str:
        """How a case ended: refused, failed, rows, or what is wrong."""
        try:
            with _alarm(signal.ITIMER_PROF, signal.SIGPROF):
                guarded = guard(
                    case.sql, self.placed[case.dialect], dialect=case.dialect, engine=case.dialect
                )
        except DovetailError as error:
            return _seen(str(error)) or ("several lines" if "\n" in str(error) else "refused")
        except TimeoutError:
            return "hang"
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            return f"traceback {type(error).__name__}"
        if not run:
            return "let through"
        described = [self._described[case.dialect][table] for table in guarded.tables]
        limits = Limits(seconds=SECONDS, memory=200 << 20, rows=100)
        try:
            with _alarm():
                if case.dialect == "sqlite":
                    ran = in_sqlite.run(guarded.sql, described, limits, private=guarded.private)
                else:
                    ran = in_duckdb.run(guarded.sql, described, limits)
        except DovetailError as error:
            return _seen(str(error)) or "failed"
        except TimeoutError:
            return "ended by the limit"
        except Exception as error:  # noqa: BLE001 - the process tells it as a QueryError
            return _seen(str(error)) or f"failed {type(error).__name__}"
        return _seen(str(ran.rows.to_pydict()) if _printable(ran.rows) else "") or "rows"


def _printable(rows: object) -> bool:
    try:
        str(rows.to_pydict())  # type: ignore[attr-defined]
    except (ArithmeticError, ValueError):
        return False
    return True


def _seen(text: str) -> str:
    return next((f"leak of {canary}" for canary in (*CANARIES, "root:x:") if canary in text), "")


@contextmanager
def _alarm(clock: int = signal.ITIMER_REAL, rings: int = signal.SIGALRM) -> Iterator[None]:
    def ring(_: int, __: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(rings, ring)
    signal.setitimer(clock, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(rings, before)


def fuzz(folder: Path, seed: int, count: int, *, run_every: int) -> tuple[Counter[str], list[Case]]:
    """How so many cases ended, and those that ended as none may; one in `run_every` is run."""
    aviary = Aviary(folder)
    outcomes: Counter[str] = Counter()
    wrong: list[Case] = []
    for number, case in enumerate(cases(seed, count)):
        outcome = aviary.try_case(case, run=number % run_every < 2)
        outcomes[outcome] += 1
        if outcome.startswith(("leak", "hang", "traceback", "several")):
            wrong.append(case)
    return outcomes, wrong
