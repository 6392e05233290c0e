"""A query as the one source of its tables takes it: in its dialect, with its own names."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dovetail.answer.relations import Relation
from dovetail.answer.tree import parse, put, resolved, unqualify
from dovetail.errors import UsageError


def native_sql(sql: str, relations: Sequence[Relation], dialect: str) -> str:
    """A query in DuckDB's dialect over tables of one source, in the dialect of that source."""
    sources = sorted({relation.table.id.source for relation in relations})
    if len(sources) > 1:
        raise UsageError(
            f"the set spans {len(sources)} sources ({', '.join(sources)}), so no one of them can "
            f"run its SQL: leave out --dialect {dialect}, and run it with dovetail sql"
        )
    try:
        writer = sqlglot.Dialect.get_or_raise(dialect)
    except ValueError:
        known = ", ".join(sorted(name for name in sqlglot.Dialect.classes if name))
        raise UsageError(f"dialect {dialect!r} is not known; there are: {known}") from None
    tree = parse(sql, "duckdb")
    meanings = resolved(tree, relations)
    unqualify(tree)
    for table, meant in meanings:
        if isinstance(meant, Relation):
            if not table.alias and table.name != meant.table.name.rpartition(".")[2]:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            above, _, name = meant.table.name.rpartition(".")
            put(table, (above, name) if above else (name,))
    try:
        return writer.generate(tree, pretty=True, identify=True)
    except SqlglotError as error:
        raise UsageError(f"it cannot be written for {dialect}: {error}") from None
