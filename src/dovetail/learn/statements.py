"""One statement of a log: the tables of a catalog that it reads, the columns it joins them by.

What is kept of its text has no literals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

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

    def column_names(self, tables: Iterable[TableId]) -> set[str]:
        """The names of the columns of some tables, folded."""
        return {name for table in tables for name in self._columns[table]}

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


def without_literals(tree: exp.Expr, dialect: str, columns: Collection[str]) -> str:
    """A query as SQL in one line, `?` in place of every literal, and without comments.

    A quoted name that is no column of its tables (`columns`, folded) and no alias may be a text in
    double quotes, as SQLite and MySQL take it: it goes as well.
    """
    named = {alias.alias.casefold() for alias in tree.find_all(exp.Alias)}
    named |= {
        text.casefold() for each in tree.find_all(exp.CTE) for text in each.alias_column_names
    }

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, _TEXTS):
            ordinal = isinstance(node.parent, exp.Group | exp.Ordered) and not node.is_string
            return node if ordinal else exp.Var(this="?")
        if isinstance(node, exp.In) and all(isinstance(e, _TEXTS) for e in node.expressions):
            if node.expressions:
                node.set("expressions", [exp.Var(this="?")])
            return node
        if isinstance(node, exp.Interval) and isinstance(unit := node.args.get("unit"), exp.Var):
            # Of INTERVAL '7 anything' the second word was taken for a unit.
            node.set("unit", unit if unit.name.upper().rstrip("S") in _UNITS else None)
            return node
        if isinstance(node, exp.PropertyEQ):  # the key of a struct: {'key': value}
            node.set("this", exp.to_identifier("_"))
            return node
        if isinstance(node, exp.Identifier) and node.quoted and not _NAME.fullmatch(node.name):
            return exp.to_identifier("_")  # SQLite takes [anything] for a name
        if isinstance(node, exp.Column) and not node.table:
            quoted = isinstance(node.this, exp.Identifier) and node.this.quoted
            if quoted and node.name.casefold() not in columns and node.name.casefold() not in named:
                return exp.Var(this="?")
        return node

    shown = tree.transform(replaced).sql(dialect=dialect, comments=False)
    return " ".join(_without_texts(shown, dialect).split())


def _without_texts(sql: str, dialect: str) -> str:
    """A query with `?` for whatever its dialect writes as a text: paths of JSON, units, keys."""
    kept, at = [], 0
    for token in Dialect.get_or_raise(dialect).tokenize(sql):
        if token.token_type in _WRITTEN:
            kept += [sql[at : token.start], "?"]
            at = token.end + 1
    return "".join([*kept, sql[at:]])


def literals(tree: exp.Expr) -> list[str]:
    """The texts that stand in a query as literals."""
    return [each.name for each in tree.find_all(*_TEXTS) if each.args.get("is_string", True)]


def masked(question: str, texts: Collection[str]) -> str:
    """A question without what its query has as literals: the same `?` stands for each."""
    for text in sorted({text.strip("%") for text in texts}, key=len, reverse=True):
        if len(text) > 1:
            question = re.sub(re.escape(text), "?", question, flags=re.IGNORECASE)
    return question
