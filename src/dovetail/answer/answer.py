"""The answer to a question: the SQL, its rows, and what to know before trusting them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from dovetail import notebook
from dovetail.answer.execute import Execution, Executor
from dovetail.answer.generate import Generated, generate, nearest_examples
from dovetail.answer.relations import Joined, Relation, relations
from dovetail.answer.results import cell_text, python_rows, python_values
from dovetail.domain import JoinEdge, Table, TableId, TableSet
from dovetail.errors import MissingExtraError, ModelError
from dovetail.text import count, cut

if TYPE_CHECKING:
    from dovetail.catalog.reader import CatalogReader
    from dovetail.ports import LLM, Json

_HALF = 0.5
# Characters of the SQL in a `repr`, and rows in a notebook.
_WIDTH, _SHOWN = 60, 20
# So many digits of a decimal are exact as a number of JSON.
_DOUBLE_DIGITS = 15


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The result of a query: the SQL, its rows, and what to know before trusting them.

    `sql` is the query as it was asked for, `ran` the text that the guard let through. `rows` is an
    Arrow table; `to_pandas`, `to_polars` and `to_arrow` give it as a frame. `tables` and `joins`
    are those that the query reads, `names` what it calls them. `warnings` are sentences: a join
    that multiplies rows, a column that is mostly null, rows left out (`truncated`). `seconds` is
    by stage; tokens are those of the language model that wrote the SQL (`generated`), if any.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", into="shop")
    >>> answer = catalog.sql("SELECT count(*) AS orders FROM orders")
    >>> answer
    <Answer: 1 row of orders; SELECT count(*) AS orders FROM orders>
    >>> answer.to_arrow().to_pylist()
    [{'orders': 600}]
    """

    sql: str
    ran: str
    rows: pa.Table
    truncated: bool
    tables: tuple[TableId, ...]
    joins: tuple[Joined, ...]
    names: Mapping[TableId, str]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    tokens_in: int = 0
    tokens_out: int = 0
    generated: Generated | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.rows.column_names)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table that every format can hold.

        Columns of equal names are told apart, and columns that mix types become text; `rows` has
        both as the query gave them.
        """
        rows = plain_rows(self.rows)
        return rows.rename_columns(_distinct_names(rows.column_names))

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame; pandas must be installed."""
        if not _installed("pandas"):
            raise MissingExtraError("Answer.to_pandas()", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a Polars data frame; Polars must be installed."""
        if not _installed("polars"):
            raise MissingExtraError("Answer.to_polars()", "polars")
        import polars

        return polars.from_arrow(self.to_arrow())

    def to_dict(self) -> Json:
        """The answer as JSON has it: what `dovetail sql --json` prints."""
        return {
            "sql": self.sql,
            "ran": self.ran,
            "tables": [str(table) for table in self.tables],
            "names": {str(table): name for table, name in self.names.items()},
            "joins": [
                {
                    "left": str(join.left),
                    "right": str(join.right),
                    "columns": [list(pair) for pair in join.columns],
                }
                for join in self.joins
            ],
            "columns": list(self.columns),
            "rows": [[_json_value(cell) for cell in row] for row in python_rows(self.rows)],
            "truncated": self.truncated,
            "warnings": list(self.warnings),
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "seconds": {stage: round(taken, 4) for stage, taken in self.seconds.items()},
        }

    def __repr__(self) -> str:
        sql = cut(" ".join(self.sql.split()), _WIDTH)
        return f"<Answer: {count(len(self.rows), 'row')} of {', '.join(self.columns)}; {sql}>"

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        shown = plain_rows(self.rows.slice(0, _SHOWN))
        cells = zip(*(column.to_pylist() for column in shown.columns), strict=True)
        more = f", the first {_SHOWN} shown" if len(self.rows) > _SHOWN else ""
        return notebook.block(
            f"{count(len(self.rows), 'row')}{more}",
            notebook.table(self.columns, cells),
            *(notebook.note(warning) for warning in self.warnings),
            notebook.code(self.sql),
        )


def write_sql(
    catalog: CatalogReader, llm: LLM, chosen: TableSet, *, repair: bool = True
) -> Generated:
    """Have a model write SQL for a question over the tables found for it."""
    written = generate(
        llm,
        chosen.question,
        relations(catalog[table] for table in chosen.ids),
        chosen.joins,
        examples=nearest_examples(catalog.usage.examples, chosen.question, chosen.ids),
        repair=repair,
    )
    if not written.sql:
        raise ModelError(f"{llm.model_id} wrote no SQL; ask again, or use another model")
    return written


def answer(
    executor: Executor, catalog: CatalogReader, llm: LLM, chosen: TableSet, *, repair: bool = True
) -> Answer:
    """Write SQL for a question over the tables found for it, and run it."""
    written = write_sql(catalog, llm, chosen, repair=repair)
    tables = [catalog[table] for table in chosen.ids]
    ran = execute(executor, written.sql, tables, edges=chosen.joins)
    return replace(
        ran,
        seconds={"generate": written.seconds, **ran.seconds},
        tokens_in=written.tokens_in,
        tokens_out=written.tokens_out,
        generated=written,
    )


def execute(
    executor: Executor,
    sql: str,
    tables: Sequence[Table | Relation],
    *,
    edges: Iterable[JoinEdge] = (),
    **how: Any,
) -> Answer:
    """Run a query over tables; `how` is as `Executor.run` takes it."""
    ran = executor.run(sql, tables, find_joins=True, **how)
    given = relations(tables)
    return Answer(
        sql=sql,
        ran=ran.sql,
        rows=ran.rows,
        truncated=ran.truncated,
        tables=ran.tables,
        joins=ran.joins,
        names=ran.names,
        warnings=(*ran.warnings, *_warnings(ran, ran.joins, given, tuple(edges))),
        seconds=ran.seconds,
    )


def plain_rows(rows: pa.Table) -> pa.Table:
    """Rows in types that every format knows: columns that mix types become text."""
    for at, field in enumerate(rows.schema):
        if _needs_text(rows.column(at)):
            values = python_values(rows.column(at))
            cells = [None if cell is None else cell_text(cell) for cell in values]
            rows = rows.set_column(at, field.name, pa.array(cells, pa.string()))
    return rows


def _installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ValueError:  # it was taken out of sys.modules
        return False


def _needs_text(column: pa.ChunkedArray) -> bool:
    """Whether a column mixes types, or holds spans or points of time that not all formats know."""
    kind = column.type
    if pa.types.is_union(kind) or _holds_interval(kind):
        return True
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return False
    return any(isinstance(cell, str) for cell in python_values(column))


def _holds_interval(kind: pa.DataType) -> bool:
    fields = range(kind.num_fields)
    return pa.types.is_interval(kind) or any(_holds_interval(kind.field(at).type) for at in fields)


def _json_value(cell: Any) -> Any:
    if cell is None or isinstance(cell, (bool, int, str)):
        return cell
    if isinstance(cell, float):  # JSON has no NaN
        return cell if cell - cell == 0 else str(cell)
    if isinstance(cell, Decimal) and len(cell.as_tuple().digits) <= _DOUBLE_DIGITS:
        return float(cell)
    return cell_text(cell)


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Names that differ, for a data frame takes no two that are alike.

    >>> _distinct_names(["a", "b", "a"])
    ['a', 'b', 'a_']
    """
    taken: dict[str, None] = {}
    for name in names:
        while name in taken:
            name += "_"
        taken[name] = None
    return list(taken)


def _warnings(
    ran: Execution,
    joined: Sequence[Joined],
    given: Sequence[Relation],
    edges: Sequence[JoinEdge],
) -> Iterable[str]:
    by_id = {relation.table.id: relation for relation in given}
    for join in joined:
        if not _one_side_unique(join, by_id, edges):
            left, right = by_id[join.left].name, by_id[join.right].name
            on = " and ".join(f"{left}.{a} = {right}.{b}" for a, b in join.columns)
            yield f"the join {on} multiplies rows: values repeat on both sides"
    rows = ran.rows.num_rows
    for name, column in zip(ran.rows.column_names, ran.rows.columns, strict=True):
        nulls = pc.sum(pc.is_null(column, nan_is_null=False)).as_py() if rows else 0
        if rows > 1 and nulls >= _HALF * rows:
            yield f"column {name} is {nulls / rows:.0%} null"
    if ran.truncated:
        yield f"only the first {rows:,} rows are shown: there are more"


def _one_side_unique(
    join: Joined, relations_by_id: Mapping[TableId, Relation], edges: Sequence[JoinEdge]
) -> bool:
    left = relations_by_id[join.left].table
    right = relations_by_id[join.right].table
    for a, b in join.columns:
        if left.column(a).profile.unique or right.column(b).profile.unique:
            return True
    pairs = set(join.columns)
    for edge in edges:
        turned = [(b, a) for a, b in edge.columns]
        here = (edge.left, edge.right) == (join.left, join.right) and set(edge.columns) <= pairs
        there = (edge.right, edge.left) == (join.left, join.right) and set(turned) <= pairs
        if (here or there) and edge.cardinality != "n:m":
            return True
    return False
