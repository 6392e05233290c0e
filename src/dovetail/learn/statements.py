"""One statement of a log: the tables of a catalog that it reads, the columns it joins them by.

What is kept of its text has no literals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from dovetail.answer.tree import base_tables
from dovetail.catalog.lookup import Relations
from dovetail.catalog.usage import Join
from dovetail.domain import TableId

# Subqueries that a column is followed through, down to the table it is of.
_DEEPEST = 20

Origin = tuple[str, TableId, str]  # what the query calls a table, which it is, and its column
Columns = Mapping[TableId, Mapping[str, str]]
_TEXTS = (
    exp.Literal, exp.National, exp.HexString, exp.BitString, exp.ByteString, exp.RawString,
)  # fmt: skip


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

    def __init__(self, relations: Relations, columns: Columns) -> None:
        self._relations, self._columns = relations, columns

    def read(self, tree: exp.Expr) -> QueryUse:
        """What a query uses, as far as its tables are in the catalog."""
        named = {_spoken(table): _relation(table) for table in base_tables(tree)}
        sources = self._sources(list(named.values()))
        meant = {words: self._meant(relation, sources) for words, relation in named.items()}
        tables = {words: table for words, table in meant.items() if table is not None}
        try:
            joins = tuple(sorted(set(_Joins(tables, self._columns).of(tree)))) if tables else ()
        except (SqlglotError, RecursionError):  # two tables of one alias, say
            joins = ()
        return QueryUse(tuple(sorted(set(tables.values()))), joins, len(tables) == len(meant))

    def column_names(self, tables: Iterable[TableId]) -> set[str]:
        """The names of the columns of some tables, folded."""
        return {name for table in tables for name in self._columns[table]}

    def _sources(self, relations: list[tuple[str, str, str]]) -> set[str]:
        """The sources that have every table of a query, where some name is in several."""
        having = [
            {table.source for table in self._relations.named(name)} for _, _, name in relations
        ]
        return set.intersection(*having) if having else set()

    def _meant(self, relation: tuple[str, str, str], sources: set[str]) -> TableId | None:
        table = self._relations.find(relation)
        if table is not None or len(sources) != 1:
            return table
        own = [table for table in self._relations.named(relation[2]) if table.source in sources]
        return Relations(own).find(relation)


class _Joins:
    """The joins of one query, whose table names stand for `tables`."""

    def __init__(self, tables: Mapping[str, TableId], columns: Columns) -> None:
        self._tables, self._columns = tables, columns

    def of(self, tree: exp.Expr) -> Iterator[Join]:
        joins: dict[tuple[tuple[str, TableId], tuple[str, TableId]], set[tuple[str, str]]] = {}
        for number, scope in enumerate(traverse_scope(tree)):
            for one, other in self._pairs(scope):
                origins = [self._origin(*side) for side in (one, other)]
                if origins[0] is None or origins[1] is None or origins[0][:2] == origins[1][:2]:
                    continue
                ends = sorted(
                    (origin[1], origin[2], f"{number} {origin[0]}") for origin in origins if origin
                )
                (left, a, first), (right, b, second) = ends
                joins.setdefault(((first, left), (second, right)), set()).add((a, b))
        for ((_, left), (_, right)), pairs in joins.items():
            yield left, right, tuple(sorted(pairs))

    def _pairs(self, scope: Scope) -> Iterator[tuple[tuple[exp.Column, Scope], ...]]:
        """The columns that a query holds equal, each with the query in which it stands."""
        query = scope.expression
        if not isinstance(query, exp.Select):
            return
        joins = query.args.get("joins") or ()
        for clause in (query.args.get("where"), *(join.args.get("on") for join in joins)):
            condition = clause.this if isinstance(clause, exp.Where) else clause
            for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
                part = part.unnest() if isinstance(part, exp.Paren) else part
                if isinstance(part, exp.EQ):
                    sides = [_column(part.this), _column(part.expression)]
                    if sides[0] is not None and sides[1] is not None:
                        yield (sides[0], scope), (sides[1], scope)
                elif isinstance(part, exp.In):
                    yield from _within(part, scope)
        yield from self._using(scope, joins)

    def _using(
        self, scope: Scope, joins: list[exp.Join] | tuple[()]
    ) -> Iterator[tuple[tuple[exp.Column, Scope], ...]]:
        """The columns of USING: of the joined table, and of the first before it that has one."""
        later = {join.alias_or_name for join in joins}
        before = [name for name in scope.selected_sources if name not in later]
        for join in joins:
            for name in join.args.get("using") or ():
                own = exp.column(name.name, table=join.alias_or_name)
                for alias in before:
                    other = exp.column(name.name, table=alias)
                    if self._origin(other, scope) is not None:
                        yield (other, scope), (own, scope)
                        break
            before.append(join.alias_or_name)

    def _origin(self, column: exp.Column, scope: Scope, deep: int = 0) -> Origin | None:
        """The table that a column is read from, through subqueries and WITH clauses."""
        name = column.name.casefold()
        current: Scope | None = scope
        while current is not None and deep < _DEEPEST:
            for alias, (_, source) in current.selected_sources.items():
                if column.table and alias.casefold() != column.table.casefold():
                    continue
                if isinstance(source, exp.Table):
                    table = self._tables.get(_spoken(source))
                    if table is not None and name in self._columns[table]:
                        return alias, table, self._columns[table][name]
                else:
                    inside = self._inside(name, source, deep + 1)
                    if inside is not None:
                        return alias, *inside[1:]
            current = current.parent
        return None

    def _inside(self, name: str, scope: Scope, deep: int) -> Origin | None:
        """The table that a column of a subquery comes from, where it is that column as it is."""
        query = scope.expression
        for chosen in getattr(query, "selects", ()):
            if isinstance(chosen, exp.Star) or getattr(chosen, "is_star", False):
                return self._origin(exp.column(name), scope, deep)
            plain = chosen.unalias() if isinstance(chosen, exp.Alias) else chosen
            if chosen.alias_or_name.casefold() == name:
                return self._origin(plain, scope, deep) if isinstance(plain, exp.Column) else None
        return None


def _within(part: exp.In, scope: Scope) -> Iterator[tuple[tuple[exp.Column, Scope], ...]]:
    """`a.x IN (SELECT y FROM b)`: the two columns, each with its own query."""
    own, query = _column(part.this), part.args.get("query")
    inner = query.unnest() if query is not None else None
    if own is None or not isinstance(inner, exp.Select) or len(inner.selects) != 1:
        return
    chosen = inner.selects[0]
    other = chosen.unalias() if isinstance(chosen, exp.Alias) else chosen
    below = next((scope for scope in scope.subquery_scopes if scope.expression is inner), None)
    if isinstance(other, exp.Column) and below is not None:
        yield (own, scope), (other, below)


def _column(side: exp.Expr) -> exp.Column | None:
    """The one column of a side, be it inside of functions that change how it is written."""
    if isinstance(side, exp.Column):
        return side
    if not isinstance(side, exp.Func | exp.Cast | exp.Paren) or side.find(exp.Query):
        return None
    inside = list(side.find_all(exp.Column))
    return inside[0] if len(inside) == 1 else None


def _relation(table: exp.Table) -> tuple[str, str, str]:
    return table.catalog, table.db, table.name


def _spoken(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts).casefold()


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
        if isinstance(node, exp.Column) and not node.table:
            quoted = isinstance(node.this, exp.Identifier) and node.this.quoted
            if quoted and node.name.casefold() not in columns and node.name.casefold() not in named:
                return exp.Var(this="?")
        return node

    return " ".join(tree.transform(replaced).sql(dialect=dialect, comments=False).split())


def literals(tree: exp.Expr) -> list[str]:
    """The texts that stand in a query as literals."""
    return [each.name for each in tree.find_all(*_TEXTS) if each.args.get("is_string", True)]


def masked(question: str, texts: Collection[str]) -> str:
    """A question without what its query has as literals: the same `?` stands for each."""
    for text in sorted({text.strip("%") for text in texts}, key=len, reverse=True):
        if len(text) > 1:
            question = re.sub(re.escape(text), "?", question, flags=re.IGNORECASE)
    return question
