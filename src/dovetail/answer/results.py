"""What a query may use up, what its process gave back, and the answer made of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dovetail import notebook
from dovetail.answer.relations import Joined
from dovetail.domain import TableId
from dovetail.errors import LimitError, MissingExtraError, UsageError
from dovetail.text import count, cut, sql_line

if TYPE_CHECKING:
    from dovetail.answer.generate import Generated
    from dovetail.ports import Json
    from dovetail.settings import Settings


# A day: clocks and timers of the system do not take any number.
_MOST_SECONDS = 86_400
# Characters of the SQL in a `repr`, and rows in a notebook.
_WIDTH, _SHOWN = 60, 20
# So many digits of a decimal are exact as a number of JSON.
_DOUBLE_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a query may run, and how much it may hold and return."""

    seconds: float = 60.0
    memory: int = 1 << 30
    rows: int = 100_000
    bytes: int = 64 << 20

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= _MOST_SECONDS:  # which NaN is not, either
            raise UsageError(
                f"a query's time limit (query_seconds) must be more than 0 and at most "
                f"{_MOST_SECONDS:,} seconds, not {self.seconds:g}"
            )
        if min(self.memory, self.rows, self.bytes) < 0:
            raise UsageError("a query's limits of memory, rows and bytes cannot be negative")

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits that the settings give."""
        return cls(
            seconds=settings.query_seconds,
            memory=settings.query_memory_mb << 20,
            rows=settings.query_rows,
        )


@dataclass(frozen=True, slots=True)
class Ran:
    """Rows, whether there were more of them, and the seconds of each stage."""

    rows: pa.Table
    truncated: bool
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


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

    def tuples(self) -> list[tuple[Any, ...]]:
        """The rows as Python values."""
        return list(zip(*map(python_values, self.rows.columns), strict=True))

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table that every format can hold.

        Columns of equal names are told apart, and columns that mix types become text; `rows` has
        both as the query gave them.
        """
        rows = plain_rows(self.rows)
        return rows.rename_columns(distinct_names(rows.column_names))

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame; pandas must be installed."""
        try:
            import pandas  # noqa: F401 - what Arrow makes the frame with
        except ImportError:
            raise MissingExtraError("Answer.to_pandas()", "pandas") from None
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a Polars data frame; Polars must be installed."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("Answer.to_polars()", "polars") from None
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
            "rows": [[json_value(cell) for cell in row] for row in self.tuples()],
            "truncated": self.truncated,
            "warnings": list(self.warnings),
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "seconds": {stage: round(taken, 4) for stage, taken in self.seconds.items()},
        }

    def __repr__(self) -> str:
        sql = cut(sql_line(self.sql), _WIDTH)
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


def out_of_memory() -> LimitError:
    """The error of a query that its memory is too small for."""
    return LimitError("the query needs more memory than it was given; ask for less at a time")


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The cells of a column as Python has them; as text where it has no such value.

    A date of the year 20000 is one that DuckDB knows and Python does not.

    >>> python_values(pa.chunked_array([pa.array([0, 6585442], pa.date32())]))
    ['1970-01-01', '20000-04-30']
    """
    try:
        return list(column.to_pylist())
    except (ArithmeticError, ValueError, pa.ArrowException):
        pass
    try:
        return list(column.cast(pa.string()).to_pylist())
    except pa.ArrowException:  # a list or a record of them
        each = (column.slice(at, 1).to_string() for at in range(len(column)))
        return [" ".join(text.split()) for text in each]


def cell_text(cell: Any) -> str:
    """A cell as a line of text shows it: nothing for NULL, bytes by their digits.

    >>> [cell_text(cell) for cell in (None, True, b"\\x01", 1.5)]
    ['', 'true', '01', '1.5']
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell.hex() if isinstance(cell, bytes) else str(cell)


def collect(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, limits: Limits
) -> tuple[pa.Table, bool]:
    """Rows up to the limits, and whether there were more."""
    kept: list[pa.RecordBatch] = []
    rows = size = 0
    truncated = False
    for batch in batches:
        room = limits.rows - rows
        if batch.num_rows:
            fitting = (limits.bytes - size) * batch.num_rows // max(batch.nbytes, 1)
            room = min(room, fitting)
        if batch.num_rows > room:
            truncated = True
            batch = batch.slice(0, max(room, 0))
        kept.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if truncated:
            break
    return pa.Table.from_batches(kept, schema), truncated


def plain_rows(rows: pa.Table) -> pa.Table:
    """Rows in types that every format knows: columns that mix types become text."""
    for at, name in enumerate(rows.column_names):
        if _needs_text(rows.column(at)):
            values = python_values(rows.column(at))
            cells = [None if cell is None else cell_text(cell) for cell in values]
            rows = rows.set_column(at, name, pa.array(cells, pa.string()))
    return rows


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


def json_value(cell: Any) -> Any:
    """A cell as JSON has it: a number where that is exact, else its text."""
    if cell is None or isinstance(cell, (bool, int, str)):
        return cell
    if isinstance(cell, float):  # JSON has no NaN
        return cell if cell - cell == 0 else str(cell)
    if isinstance(cell, Decimal) and len(cell.as_tuple().digits) <= _DOUBLE_DIGITS:
        return float(cell)
    return cell_text(cell)


def distinct_names(names: Iterable[str], fold: Callable[[str], str] = str) -> list[str]:
    """Names that differ, folded or not: what takes no two that are alike gets the later with `_`.

    >>> distinct_names(["a", "b", "a"]), distinct_names(["a", "A"], str.casefold)
    (['a', 'b', 'a_'], ['a', 'A_'])
    """
    taken: dict[str, str] = {}
    for name in names:
        while fold(name) in taken:
            name += "_"
        taken[fold(name)] = name
    return list(taken.values())
