"""Texts that take for ever, and literals that would be kept."""

from __future__ import annotations

import string
from pathlib import Path

from dovetail.answer.tree import parse
from dovetail.errors import GuardError
from dovetail.learn.statements import without_literals
from tests.support.kinds.case import HIDDEN, Case, Draw, Kind
from tests.support.parsers import parsers, tried
from tests.support.server_parsers import server_parsers


def endless(folder: Path) -> Kind:
    """A few signs again and again, 60,000 times, into every parser of outside input, within the
    seconds of the processor that a parser has."""
    known = parsers(folder / "parsers") | server_parsers(folder / "server")
    signs = (" ", "[", "]", "(", ")", "{", "}", "'", '"', "`", "$", "$b1$", "/*", "*/", "--", "\n",
             "\\", ",", ";", "=", "a", "1", "AND", "NOT", "SELECT", "|", ".", ":", "- ", "#", "\t",
             "é", "e\u0301", "ß", "\u202e", "0x", "1e", "::", "CASE WHEN", "a.b", "[[",
             '\\"')  # fmt: skip

    def case(draw: Draw) -> Case:
        name = draw.choice(list(known))
        unit = "".join(draw.choices(signs, k=draw.randint(1, 3)))
        good = draw.choice(known[name].good)
        at = draw.randrange(len(good) + 1)
        text = good[:at] + unit * (60_000 // len(unit)) + good[at:]
        ended, wrong = tried(name, known[name], text)
        return next(iter(ended)), f"{unit!r} at {at}: {wrong[0]}" if wrong else ""

    return case


_DIALECTS = ("postgres", "duckdb", "mysql", "sqlite", "snowflake", "bigquery", "tsql", "oracle")


def literals(folder: Path) -> Kind:
    """Statements with a text in any place, in eight dialects: what `learn` keeps of one that can be
    parsed does not hold it."""
    del folder
    plain = ("'{0}'", "'a''{0}'", "DATE '{0}'", "CAST('{0}' AS DATE)")
    own = {
        "postgres": ("E'{0}'", "$${0}$$", "$q${0}$q$", "U&'{0}'", "N'{0}'", "INTERVAL '7 {0}'",
                     "B'{0}'", "x'{1}'"),
        "duckdb": ("E'{0}'", "$${0}$$", "x'{1}'", "INTERVAL '7 {0}'"),
        "mysql": ("_utf8'{0}'", "N'{0}'", "x'{1}'", "'a\\'{0}'", "b'{0}'"),
        "sqlite": ("x'{1}'",),
        "snowflake": ("$${0}$$", "x'{1}'", "INTERVAL '7 {0}'"),
        "bigquery": ("r'{0}'", "b'{0}'", "'''{0}'''", "rb'{0}'"),
        "tsql": ("N'{0}'",),
        "oracle": ("N'{0}'", "q'[{0}]'", "INTERVAL '7' DAY || '{0}'"),
    }  # fmt: skip
    around = (
        "{0}", "({0})", "ARRAY[{0}, 1]", "[{0}]", "{{'{1}': {0}}}", "MAP {{{0}: 1}}", "x[{0}]",
        "x -> {0}", "x ->> {0}", "CAST({0} AS TEXT)", "{0} || a", "lower({0})",
        "a LIKE {0} ESCAPE '!'",
        "CASE a WHEN {0} THEN {0} ELSE {0} END", "a IN ({0}, {0})", "a BETWEEN {0} AND {0}",
        "coalesce(a, {0})", "STRUCT({0} AS b)", "JSON_EXTRACT(x, {0})", "a = ANY(ARRAY[{0}])",
        "row_number() OVER (ORDER BY {0})", "string_agg(a, {0})", "a COLLATE {0}", "a::text = {0}",
        "trim({0} FROM a)", "position({0} IN a)", "json_build_object({0}, {0})",
        "extract(year FROM {0})",
    )  # fmt: skip
    frames = (
        "SELECT {0} FROM t", "SELECT a FROM t WHERE {0} = a", "SELECT a FROM t ORDER BY {0}",
        "SELECT a FROM t GROUP BY {0} HAVING {0} > a", "SELECT a FROM t JOIN u ON t.a = {0}",
        "WITH c AS (SELECT {0} AS z) SELECT * FROM c", "SELECT a FROM (VALUES ({0})) AS v(a)",
        "SELECT a FROM t UNION SELECT {0}", "SELECT a /* {1} */ FROM t -- {1}",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE b = {0})",
        "SELECT a FROM t LIMIT {0}", "SELECT f(a => {0}) FROM t", "SELECT a FROM g({0})",
        "SELECT a FROM t TABLESAMPLE ({0})", 'SELECT a AS "{1}" FROM t', "SELECT a AS '{1}' FROM t",
        'SELECT "{1}".a FROM t "{1}"', 'WITH "{1}" AS (SELECT 1) SELECT a FROM t, "{1}"',
        "SELECT /*+ {1} */ a FROM t", 'SELECT a FROM t WINDOW "{1}" AS (ORDER BY a)',
        'SELECT a FROM t JOIN "{1}" ON t.a = {0}', "SELECT a AS of_{1} FROM t WHERE a = '{1}'",
    )  # fmt: skip

    def case(draw: Draw) -> Case:
        secret = HIDDEN + "".join(draw.choices(string.ascii_lowercase, k=3))
        dialect = draw.choice(_DIALECTS)
        text = draw.choice([*plain, *own[dialect]]).format(secret, secret.encode().hex())
        for _ in range(draw.randint(1, 3)):
            text = draw.choice(around).format(text, secret)
        sql = draw.choice(frames).format(text, secret)
        try:
            shown = without_literals(parse(sql, dialect), dialect, {"x", "a", "b"})
        except GuardError:
            return "cannot be parsed", ""
        held = HIDDEN in shown.casefold() or HIDDEN.encode().hex() in shown.casefold()
        return "parsed", f"{dialect}: {sql}: {shown}" if held else ""

    return case
