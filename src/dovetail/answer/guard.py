"""The guard: lets one query through that only reads tables of the set, or says why not.

A query is parsed, held against the lists in `functions.py`, and written out again from what was
understood, with names of ours for every table (`names.py`); only that text is ever run. So what an
engine would read differently from us (comments that execute, odd quotes, a second statement, a
name that it folds in another way) never reaches it. The text is then held against the lists once
more, as the engine's dialect reads it. Whatever is not understood is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dovetail.answer.functions import CLASSES, NAMED, SHAPES
from dovetail.answer.identifiers import legible, reveal
from dovetail.answer.names import base_tables, nodes_of, only_ours, rename, resolved
from dovetail.answer.parse import parse
from dovetail.answer.relations import Relation, private_places
from dovetail.domain import TableId
from dovetail.errors import GuardError

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
# A name as it may stand without quotes: anything else might be a parameter, or worse.
_NAME = re.compile(r"[^\W\d][\w$]*")
# A word or a number as it may stand in a text that is written out, where nothing quotes it.
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORDS = re.compile(r"[\w .]*", re.ASCII)
_NUMBER = re.compile(r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|0[xX][0-9a-fA-F]+", re.ASCII)
# Nodes whose text is quoted when it is written out.
_QUOTED = (exp.Identifier, exp.JSONPathKey)
# Dialects whose names without quotes are in upper case.
_FOLDING = ("snowflake", "oracle")
# How a table may be given besides by name and alias: not sampled, pivoted, versioned or hinted at.
_TABLE_PARTS = {"this", "db", "catalog", "alias", "joins"}

# A step between understanding a query and writing it out again; it may change the tree.
Adapt = Callable[[exp.Expr, Sequence[Relation]], exp.Expr]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A query that may run.

    `sql` is the text to run, `shown` the same text with the names as they were written, `tables`
    what it reads. `private` are the names drawn for its WITH clauses, with what they stand for.
    """

    sql: str
    shown: str
    tables: tuple[TableId, ...]
    private: Mapping[str, str]


def guard(
    sql: str,
    relations: Sequence[Relation],
    *,
    dialect: str = "duckdb",
    engine: str = "duckdb",
    adapt: Adapt | None = None,
) -> Guarded:
    """Let a query through that is written in `dialect`, for `engine` to run."""
    tree, tables = understand(sql, relations, dialect)
    return write_out(tree, relations, tables, engine=engine, adapt=adapt)


def understand(
    sql: str, relations: Sequence[Relation], dialect: str = "duckdb"
) -> tuple[exp.Expr, tuple[TableId, ...]]:
    """The tree of a query that may run, and the tables of the set that it reads."""
    tree, _ = _checked(sql, dialect)
    try:
        found = [meant for _, meant in resolved(tree, relations)]
    except RecursionError:
        raise _too_deep() from None
    read = [meant.table.id for meant in found if isinstance(meant, Relation)]
    return tree, tuple(dict.fromkeys(read))


def table_names(sql: str, dialect: str = "duckdb") -> tuple[str, ...]:
    """The names of the tables that a query would read, each once, as the query writes them."""
    tree, _ = _checked(sql, dialect)
    try:
        named = [".".join(part.name for part in table.parts) for table in base_tables(tree)]
    except RecursionError:
        raise _too_deep() from None
    return tuple(dict.fromkeys(named))


def write_out(
    tree: exp.Expr,
    relations: Sequence[Relation],
    tables: tuple[TableId, ...],
    *,
    engine: str = "duckdb",
    adapt: Adapt | None = None,
) -> Guarded:
    """The text that runs, made from a tree that was understood; the tree is used up."""
    try:
        if adapt is not None:
            tree = adapt(tree, relations)
        private = rename(tree, relations, as_written=engine in _FOLDING)
        writer = sqlglot.Dialect.get_or_raise(engine)
        text = writer.generate(tree, copy=False, comments=False)
        _, again = _checked(text, engine)
    except SqlglotError:
        raise GuardError(f"refused: it cannot be written for {engine}; put it simpler") from None
    except RecursionError:
        raise _too_deep() from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = type(error).__name__
        raise GuardError(f"refused: it cannot be written for {engine} ({why})") from None
    if not only_ours(again, relations, private):
        raise GuardError("refused: it reads what is not a table of the set")
    shown = reveal(text, {**private_places(relations), **private})
    return Guarded(text, shown, tables, private)


def _checked(sql: str, dialect: str) -> tuple[exp.Expr, list[exp.Expr]]:
    """The tree of a query that holds nothing but what is on the lists, and its nodes."""
    tree = parse(sql, dialect)
    if not isinstance(tree, _QUERIES):
        raise GuardError(f"refused: {tree.key.upper()} is no query; only SELECT may run")
    nodes = nodes_of(tree)
    for node in nodes:
        _check(node, dialect)
    return tree, nodes


def _check(node: exp.Expr, dialect: str) -> None:
    kind = type(node).__name__
    if isinstance(node, exp.Anonymous):
        if not isinstance(node.this, str) or node.this.lower() not in NAMED.get(dialect, ()):
            raise GuardError(f"refused: the function {_shown(node)} is not on the list of allowed")
    elif isinstance(node, exp.Func):
        if kind not in CLASSES:
            raise GuardError(f"refused: the function {_shown(node)} is not on the list of allowed")
    elif kind not in SHAPES:
        raise GuardError(f"refused: {_words(kind)} is not something a query may hold here")
    if isinstance(node, exp.Select) and not node.expressions:
        raise GuardError("refused: it does not parse as SQL: SELECT of nothing")
    if isinstance(node, exp.In) and node.args.get("field"):
        raise GuardError("refused: IN without brackets may mean a table; put the values in them")
    if isinstance(node, exp.Table):
        _check_table(node)
    _check_text(node)


def _check_text(node: exp.Expr) -> None:
    """Refuse what would be written out as it came in: only words and numbers may."""
    if isinstance(node, exp.Identifier):
        if not (node.quoted or _NAME.fullmatch(node.name)):
            raise GuardError(f"refused: the name {legible(node.name[:60])} would need quotes")
        return
    if isinstance(node, exp.Literal):
        if not node.is_string and not _NUMBER.fullmatch(node.this):
            raise GuardError(f"refused: {legible(node.this[:60])} is not a number")
        return
    if isinstance(node, exp.DataTypeParam) and not (
        isinstance(node.this, exp.Literal) and not node.this.is_string
    ):
        raise GuardError("refused: a type takes whole numbers in its brackets")
    allowed = _WORD if isinstance(node, (exp.Var, exp.DataType)) else _WORDS
    for value in node.args.values():
        if type(value) is str and not isinstance(node, _QUOTED) and not allowed.fullmatch(value):
            raise GuardError(f"refused: {value[:60]!r} is not something a query may hold here")


def _check_table(node: exp.Table) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise GuardError(
            f"refused: {_shown(node.this)} stands for a table; only tables of the set may be read"
        )
    odd = [part for part, value in node.args.items() if value and part not in _TABLE_PARTS]
    if odd:
        raise GuardError(f"refused: {odd[0]} is not something a table may be read with")


def _too_deep() -> GuardError:
    return GuardError("refused: the query is nested too deeply; write it flatter")


def _shown(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
        return legible(node.this[:60].upper())
    return node.sql_name() if isinstance(node, exp.Func) else _words(type(node).__name__)


def _words(kind: str) -> str:
    """A class of nodes in words: TableSample is `table sample`."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in kind).strip()
