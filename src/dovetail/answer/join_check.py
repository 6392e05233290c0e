"""A join held against the rows of its sources: what matches, what is orphaned, what it multiplies.

The catalog's evidence is what was counted when the tables were read. This is what a person can
check of it now: small queries that only read, run when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.answer.execute import Executor
from dovetail.answer.relations import Relation
from dovetail.answer.results import cell_text
from dovetail.domain import JoinEdge
from dovetail.domain.sql import quoted, table_sql

# Values and joined rows that are shown.
_VALUES, _ROWS = 3, 2


@dataclass(frozen=True, slots=True)
class JoinCheck:
    """What the rows say of a join: `rows` of the left table, how many of them are `matched`, and
    by how much it multiplies these.

    `matching` are values that both sides have, `orphans` some of the left that find no partner,
    `examples` joined rows by column.
    """

    rows: int
    matched: int
    multiplied: float
    matching: tuple[str, ...]
    orphans: tuple[str, ...]
    examples: tuple[dict[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON has it."""
        return {
            "rows": self.rows,
            "matched": self.matched,
            "multiplied": round(self.multiplied, 3),
            "matching": list(self.matching),
            "orphans": list(self.orphans),
            "examples": list(self.examples),
        }


def check_join(executor: Executor, edge: JoinEdge, ends: Sequence[Relation]) -> JoinCheck:
    """Look at the rows of the two tables of a join; `ends` has the left one first."""
    names = {relation.table.id: relation.name for relation in ends}
    left, right = (table_sql(relation.name) for relation in ends)
    on = edge.condition(names)
    partner = f"EXISTS (SELECT 1 FROM {right} WHERE {on})"
    keys = ", ".join(f"{left}.{quoted(column)}" for column, _ in edge.columns)
    filled = " AND ".join(f"{left}.{quoted(column)} IS NOT NULL" for column, _ in edge.columns)

    def run(sql: str) -> list[tuple[Any, ...]]:
        return executor.run(sql, ends).tuples()

    counted = f"(SELECT count(*) FROM {left} WHERE {partner})"
    joined = f"(SELECT count(*) FROM {left} JOIN {right} ON {on})"
    rows, matched, met = run(f"SELECT (SELECT count(*) FROM {left}), {counted}, {joined}")[0]
    values = f"SELECT DISTINCT {keys} FROM {left} WHERE"
    order = f"ORDER BY {keys} LIMIT {_VALUES}"
    shown = executor.run(f"SELECT * FROM {left} JOIN {right} ON {on} LIMIT {_ROWS}", ends)
    columns = [f"{r.name}.{column.name}" for r in ends for column in r.table.columns]
    return JoinCheck(
        rows=rows,
        matched=matched,
        multiplied=met / matched if matched else 0.0,
        matching=_texts(run(f"{values} {partner} {order}")),
        orphans=_texts(run(f"{values} {filled} AND NOT {partner} {order}")),
        examples=tuple(
            {name: cell_text(cell) for name, cell in zip(columns, row, strict=True)}
            for row in shown.tuples()
        ),
    )


def _texts(rows: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    return tuple(" ".join(map(cell_text, row)) for row in rows)
