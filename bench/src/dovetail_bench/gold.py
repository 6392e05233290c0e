"""Finds the tables that a SQL statement reads, by SQL's scoping: no CTEs, no aliases."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from dovetail_bench.errors import DatasetError

# The dialects of the public corpora: SQLite files, and MySQL where a release says so.
DIALECTS = ("sqlite", "mysql")
_ESCAPES = re.compile(r"\x1b\[\d*m")


def tables_of(sql: str, dialects: Sequence[str] = DIALECTS) -> tuple[tuple[str, str], ...]:
    """Each table that a statement reads, once, as (qualifier or "", name), in the order of names.

    The first dialect that can read the statement counts; names that differ in case are one table.

    >>> tables_of("WITH t AS (SELECT * FROM orders o) SELECT * FROM t JOIN shop.`Items` USING (n)")
    (('shop', 'Items'), ('', 'orders'))
    """
    problem = "it is empty"
    for dialect in dialects if sql.strip() else ():
        try:
            return _read(sql, dialect)
        except DatasetError as error:
            problem = str(error)
    raise DatasetError(f"its SQL cannot be read ({problem})")


def _read(sql: str, dialect: str) -> tuple[tuple[str, str], ...]:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.scope import traverse_scope

    # It warns of statements that it does not know, which are no queries and named as such below.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        tree = sqlglot.parse_one(sql, read=dialect)
        if not isinstance(tree, exp.Query):
            raise DatasetError("it is no query")
        sources = [source for scope in traverse_scope(tree) for source in scope.sources.values()]
    except (SqlglotError, RecursionError) as error:
        raise DatasetError(" ".join(_ESCAPES.sub("", str(error)).split())[:120]) from None
    found = {
        (table.db.casefold(), table.name.casefold()): (table.db, table.name)
        for table in sources
        if isinstance(table, exp.Table) and table.name
    }
    return tuple(sorted(found.values(), key=lambda names: (names[1].casefold(), names[0])))
