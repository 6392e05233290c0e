"""One statement of a log: the tables of a catalog that it reads, the columns it joins them by.

What is kept of its text has no literals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import zip_longest

from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import SqlglotError

from dovetail.answer.scopes import Columns, QueryJoins
from dovetail.answer.tree import base_tables, dotted
from dovetail.catalog.lookup import TableNames
from dovetail.catalog.usage import Join
from dovetail.domain import TableId

_TEXTS = (
    exp.Literal, exp.National, exp.HexString, exp.BitString, exp.ByteString, exp.RawString,
)  # fmt: skip


# How dialects write texts: STRING, RAW_STRING, HEREDOC_STRING … (LINESTRING is a type).
_WRITTEN = frozenset(kind for kind in TokenType if f"_{kind.name}".endswith("_STRING"))


_UNITS = frozenset(
    ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND",
     "MICROSECOND", "NANOSECOND")
)  # fmt: skip
# A quoted name that is one; whatever holds other signs may be a text, or an expression of texts.
_NAME = re.compile(r"[\w $#@.:/-]+")
# Where a value is put in later: what it is called may be the value.
_PLACES = (exp.Placeholder, exp.Parameter, exp.SessionParameter)
# Digits of a number that names a column by its place, at most; letters of a literal that a name may
# tell, and digits in a row that are no part of an ordinary name, at least.
_ORDINAL, _SHORTEST, _LONG_NUMBER = 2, 3, re.compile(r"\d{5}")


@dataclass(frozen=True, slots=True)
class QueryUse:
    """The tables that a query reads, and the joins that it makes, each once.

    `whole` says whether it reads none but tables of the catalog.
    """

    tables: tuple[TableId, ...]
    joins: tuple[Join, ...]
    whole: bool = True


class QueryReader:
    """Reads queries against the tables of one catalog; `columns` are theirs, by folded name."""

    def __init__(self, names: TableNames, columns: Columns) -> None:
        self._names, self._columns = names, columns

    def read(self, tree: exp.Expr) -> QueryUse:
        """What a query uses, as far as its tables are in the catalog."""
        named = {
            dotted(table).casefold(): (table.catalog, table.db, table.name)
            for table in base_tables(tree)
        }
        sources = self._sources(list(named.values()))
        meant = {words: self._meant(relation, sources) for words, relation in named.items()}
        tables = {words: table for words, table in meant.items() if table is not None}
        try:
            joins = tuple(sorted(set(QueryJoins(tables, self._columns).of(tree)))) if tables else ()
        except (SqlglotError, RecursionError):  # two tables of one alias, say
            joins = ()
        return QueryUse(tuple(sorted(set(tables.values()))), joins, len(tables) == len(meant))

    def names_of(self, tables: Iterable[TableId]) -> set[str]:
        """The names of some tables and of their columns, folded."""
        names: set[str] = set()
        for table in tables:
            folded = table.name.casefold()
            names |= {folded, *folded.split("."), *self._columns[table]}
        return names

    def _sources(self, relations: list[tuple[str, str, str]]) -> set[str]:
        """The sources that have every table of a query, where some name is in several."""
        having = [{table.source for table in self._names.named(name)} for _, _, name in relations]
        return set.intersection(*having) if having else set()

    def _meant(self, relation: tuple[str, str, str], sources: set[str]) -> TableId | None:
        table = self._names.find_relation(relation)
        if table is not None or len(sources) != 1:
            return table
        own = [table for table in self._names.named(relation[2]) if table.source in sources]
        return TableNames(own).find_relation(relation)


def without_literals(tree: exp.Expr, dialect: str, names: Collection[str]) -> str:
    """A query as SQL in one line, `?` in place of every literal, and without comments.

    A quoted name that is none of its tables and columns (`names`, folded) and no alias may be a
    text in double quotes, as SQLite and MySQL take it: it goes as well. Other names that the query
    makes up are numbered where they are quoted, or tell a literal: an alias is often the value that
    its column is about.
    """
    known = {*names, *_schemas(tree, names)}
    named = {alias.alias.casefold() for alias in tree.find_all(exp.Alias)}
    named |= {
        text.casefold() for each in tree.find_all(exp.CTE) for text in each.alias_column_names
    }
    told = {_plain(each.name) for each in tree.find_all(*_TEXTS)}

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, (*_TEXTS, *_PLACES)):
            return node if _is_ordinal(node) else exp.Var(this="?")
        if isinstance(node, exp.In) and all(isinstance(e, _TEXTS) for e in node.expressions):
            if node.expressions:
                node.set("expressions", [exp.Var(this="?")])
            return node
        _empty(node)
        if isinstance(node, exp.Identifier) and node.quoted and not _NAME.fullmatch(node.name):
            return exp.to_identifier("_")  # SQLite takes [anything] for a name
        if isinstance(node, exp.Column) and not node.table:
            quoted = isinstance(node.this, exp.Identifier) and node.this.quoted
            if quoted and node.name.casefold() not in {*names, *named}:
                return exp.Var(this="?")
        return node

    shown = tree.transform(replaced).sql(dialect=dialect, comments=False)
    return " ".join(_without_texts(shown, dialect, known, told).split())


def _is_ordinal(node: exp.Expr) -> bool:
    """Whether a literal names a column by its place."""
    ordering = isinstance(node.parent, exp.Group | exp.Ordered)
    return ordering and not node.is_string and len(node.name) <= _ORDINAL


def _empty(node: exp.Expr) -> None:
    """Take out of a node what is a text, and no node of its own."""
    if isinstance(node, exp.Interval) and isinstance(unit := node.args.get("unit"), exp.Var):
        # Of INTERVAL '7 anything' the second word was taken for a unit.
        node.set("unit", unit if unit.name.upper().rstrip("S") in _UNITS else None)
    elif isinstance(node, exp.Select) and node.args.get("hint"):  # a comment to the engine
        node.set("hint", None)
    elif isinstance(node, exp.PropertyEQ):  # the key of a struct: {'key': value}
        node.set("this", exp.to_identifier("_"))


def _schemas(tree: exp.Expr, names: Collection[str]) -> set[str]:
    """What stands before the names of known tables in a query."""
    of_known = (table for table in base_tables(tree) if table.name.casefold() in names)
    return {part.name.casefold() for table in of_known for part in table.parts}


def _without_texts(sql: str, dialect: str, known: Collection[str], told: Collection[str]) -> str:
    """A query with `?` for whatever its dialect writes as a text: paths of JSON, units, keys.

    Names that are not `known` have a number where they are quoted, or hold what was `told`.
    """
    tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    numbers: dict[str, str] = {}
    kept, at = [], 0
    for token, after in zip_longest(tokens, tokens[1:]):
        shown = None
        folded = token.text.casefold()
        if token.token_type in _WRITTEN:
            shown = "?"
        elif token.token_type in (TokenType.IDENTIFIER, TokenType.VAR) and folded not in known:
            called = after is not None and after.token_type == TokenType.L_PAREN
            quoted = token.token_type == TokenType.IDENTIFIER
            if quoted or (not called and _tells(token.text, told)):
                shown = numbers.setdefault(folded, f"n{len(numbers) + 1}")
        if shown is not None:
            kept += [sql[at : token.start], shown]
            at = token.end + 1
    return "".join([*kept, sql[at:]])


def _tells(name: str, told: Collection[str]) -> bool:
    """Whether a name without quotes holds a literal of its query, a long number, or a sign: a text
    between dollars is a name to some dialects."""
    if name.upper().rstrip("S") in _UNITS or name == "?":
        return False
    plain = _plain(name)
    return (
        "$" in name
        or bool(_LONG_NUMBER.search(plain))
        or any(len(text) >= _SHORTEST and text in plain for text in told)
    )


def _plain(text: str) -> str:
    """The letters and digits of a text, folded."""
    return "".join(char for char in text.casefold() if char.isalnum())


def literals(tree: exp.Expr) -> list[str]:
    """The texts that stand in a query as literals."""
    return [each.name for each in tree.find_all(*_TEXTS) if each.args.get("is_string", True)]


def masked(question: str, texts: Collection[str]) -> str:
    """A question without what its query has as literals: the same `?` stands for each."""
    for text in sorted({text.strip("%") for text in texts}, key=len, reverse=True):
        if len(text) > 1:
            question = re.sub(re.escape(text), "?", question, flags=re.IGNORECASE)
    return question
