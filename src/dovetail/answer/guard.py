"""The guard: lets one query through that only reads tables of the set, or says why not.

A query is parsed, held against the lists in `functions.py`, and written out again from what was
understood; only that text is ever run. So what an engine would read differently from us (comments
that execute, odd quotes, a second statement) never reaches it. The text is then held against the
lists once more, as the engine's dialect reads it. Whatever is not understood is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.answer.functions import CLASSES, NAMED, SHAPES
from dovetail.answer.relations import Relation
from dovetail.domain import TableId
from dovetail.errors import GuardError

MOST_CHARACTERS = 50_000
MOST_TOKENS = 10_000
DEEPEST = 40

_BEGINNINGS = {"SELECT", "WITH", "FROM", "VALUES", "("}
_OPENING = {"(", "[", "{", "CASE"}
_PREFIXES = {"NOT", "-", "+", "~", "@"}
_CLOSING = {")", "]", "}", "END"}
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
# A name as it may stand without quotes: anything else might be a parameter, or worse.
_NAME = re.compile(r"[^\W\d][\w$]*")
# How a table may be given besides by name and alias: not sampled, pivoted, versioned or hinted at.
_TABLE_PARTS = {"this", "db", "catalog", "alias", "joins"}

# A step between understanding a query and writing it out again; it may change the tree.
Adapt = Callable[[exp.Expr, Sequence[Relation]], exp.Expr]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A query that may run: the text to run, and of it the tree and the tables it reads."""

    sql: str
    tree: exp.Expr
    tables: tuple[TableId, ...]


def guard(
    sql: str,
    relations: Sequence[Relation],
    *,
    dialect: str = "duckdb",
    engine: str = "duckdb",
    adapt: Adapt | None = None,
) -> Guarded:
    """Let a query through that is written in `dialect`, for `engine` to run."""
    try:
        tree = _checked(sql, dialect)
        found = {id(table): _relation(table, relations) for table in base_tables(tree)}
        read = tuple(dict.fromkeys(relation.table.id for relation in found.values()))
        understood = tree.copy()
        if adapt is not None:
            tree = adapt(tree, relations)
        _put_in_place(tree, relations)
        text = tree.sql(engine, comments=False)
        again = _checked(text, engine)
        places = {relation.place for relation in relations}
        for table in base_tables(again):
            if tuple(part.name for part in table.parts) not in places:
                raise GuardError(f"refused: {table.sql(engine)} is not a table of the set")
    except RecursionError:
        raise GuardError("refused: the query is nested too deeply; write it flatter") from None
    return Guarded(text, understood, read)


def parse(sql: str, dialect: str) -> exp.Expr:
    """The one statement of a text, as sqlglot understands it."""
    if len(sql) > MOST_CHARACTERS:
        raise GuardError(
            f"refused: the query has {len(sql):,} characters, more than {MOST_CHARACTERS:,}"
        )
    odd = next((char for char in sql if not (char.isprintable() or char in "\t\r\n\u00a0")), "")
    if odd:
        raise GuardError(f"refused: the query holds the invisible character U+{ord(odd):04X}")
    try:
        found = sqlglot.Dialect.get_or_raise(dialect).tokenize(sql)
        _look_over(found)
        statements = sqlglot.Dialect.get_or_raise(dialect).parser().parse(found, sql)
    except SqlglotError as error:
        raise GuardError(f"refused: it does not parse as SQL: {_first_line(error)}") from None
    whole = [each for each in statements if each and not isinstance(each, exp.Semicolon)]
    if len(whole) != 1:
        raise GuardError(f"refused: expected one statement, not {len(whole)}")
    return whole[0]


def base_tables(node: exp.Expr, defined: frozenset[str] = frozenset()) -> Iterator[exp.Table]:
    """The tables a query reads, without the names that its WITH clauses define where they hold."""
    clause = node.args.get("with_")
    if clause is not None:
        for cte in clause.expressions:
            own = {cte.alias.casefold()}
            yield from base_tables(cte, defined | own if clause.recursive else defined)
            defined = defined | own
    if isinstance(node, exp.Table) and not (
        len(node.parts) == 1 and node.name.casefold() in defined
    ):
        yield node
    for child in node.iter_expressions():
        if child is not clause:
            yield from base_tables(child, defined)


def _look_over(found: Sequence[Token]) -> None:
    """Refuse by tokens alone what is too much for the parser, or begins like no query."""
    if not found:
        raise GuardError("refused: there is no statement")
    if len(found) > MOST_TOKENS:
        raise GuardError(f"refused: the query has more than {MOST_TOKENS:,} words")
    first = found[0].text.upper()
    if first not in _BEGINNINGS or found[0].token_type in (
        TokenType.STRING,
        TokenType.IDENTIFIER,
    ):
        raise GuardError(f"refused: {first[:40]} is no query; only SELECT may run")
    depth = run = 0
    for token in found:
        text = token.text.upper()
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            text = ""
        depth += (text in _OPENING) - (text in _CLOSING)
        run = run + 1 if text in _PREFIXES else 0
        if max(depth, run) > DEEPEST:
            raise GuardError("refused: the query is nested too deeply; write it flatter")


def _checked(sql: str, dialect: str) -> exp.Expr:
    tree = parse(sql, dialect)
    if not isinstance(tree, _QUERIES):
        raise GuardError(f"refused: {tree.key.upper()} is no query; only SELECT may run")
    for node in tree.walk():
        _check(node, dialect)
    return tree


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
    if isinstance(node, exp.Identifier) and not (node.quoted or _NAME.fullmatch(node.name)):
        raise GuardError(f"refused: the name {node.name[:60]} would need quotes")
    if isinstance(node, exp.Table):
        _check_table(node)


def _check_table(node: exp.Table) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise GuardError(
            f"refused: {_shown(node.this)} stands for a table; only tables of the set may be read"
        )
    odd = [part for part, value in node.args.items() if value and part not in _TABLE_PARTS]
    if odd:
        raise GuardError(f"refused: {odd[0]} is not something a table may be read with")


def _relation(table: exp.Table, relations: Sequence[Relation]) -> Relation:
    """The table of the set that a name in a query means: as it is, or as `schema.table`."""
    said = ".".join(part.name for part in table.parts)
    for relation in relations:
        if relation.name.casefold() == said.casefold():
            return relation
    known = ", ".join(relation.name for relation in relations)
    raise GuardError(f"refused: {said} is not a table of the set, which are: {known or 'none'}")


def _put_in_place(tree: exp.Expr, relations: Sequence[Relation]) -> None:
    """Call every table by its place in the engine, under the name that the query uses for it."""
    qualified = set()
    for table in list(base_tables(tree)):
        relation = _relation(table, relations)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        if table.args.get("db"):
            qualified.add((table.db.casefold(), table.name.casefold()))
        *above, name = relation.place
        table.set("this", exp.to_identifier(name, quoted=True))
        table.set("db", exp.to_identifier(above[-1], quoted=True) if above else None)
        table.set("catalog", None)
    for column in tree.find_all(exp.Column):
        if (column.text("db").casefold(), column.table.casefold()) in qualified:
            column.set("db", None)


def _shown(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
        return node.this[:60].upper()
    return node.sql_name() if isinstance(node, exp.Func) else _words(type(node).__name__)


def _words(kind: str) -> str:
    """A class of nodes in words: TableSample is `table sample`."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in kind).strip()


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
