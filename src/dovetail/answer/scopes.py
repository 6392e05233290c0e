"""Which table a column of a query belongs to: what is unknown, and what is joined by what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from dovetail.answer.relations import Joined, Relation, by_name, fold
from dovetail.answer.tree import dotted
from dovetail.domain import TableId

# Subqueries that a column is followed through, down to the table it is of.
_DEEPEST = 20

Origin = tuple[str, TableId, str]  # what the query calls a table, which it is, and its column
# The names of the columns of each table, by those names in lower case.
Columns = Mapping[TableId, Mapping[str, str]]
_ROW_NAMES = {"rowid", "oid", "_rowid_"}


def unknown_columns(tree: exp.Expr, relations: Sequence[Relation]) -> list[exp.Column]:
    """The columns that no table or subquery in reach has, in the order of the query."""
    missing: list[exp.Column] = []
    reach = _Reach(relations)
    for scope in _scopes(tree):
        missing += [column for column in _own_columns(scope) if not reach.has(column, scope)]
    return missing


def complaints(tree: exp.Expr, relations: Sequence[Relation]) -> list[str]:
    """What is wrong with the columns of a query, a sentence each."""
    sentences = []
    read: dict[int, list[exp.Table]] = {}
    for column in unknown_columns(tree, relations):
        relation = _relation_of(column, relations, read)
        where = f"table {relation.name}" if relation else "any table of the query"
        columns = ", ".join(each.name for each in relation.table.columns) if relation else ""
        has = f"; it has: {columns}" if columns else ""
        others = [each.name for each in relations if each != relation and _has(each, column.name)]
        elsewhere = f"; there is one in {', '.join(others)}" if others else ""
        sentences.append(f"there is no column {column.name} in {where}{has}{elsewhere}")
    return list(dict.fromkeys(sentences))


def joins(tree: exp.Expr, relations: Sequence[Relation]) -> list[Joined]:
    """Which columns of the set's tables a query joins by, one entry for each pair of tables."""
    tables = {name.casefold(): each.table.id for name, each in by_name(relations).items()}
    columns = {
        each.table.id: {c.name.casefold(): c.name for c in each.table.columns} for each in relations
    }
    try:
        edges = {Joined(*join) for join in QueryJoins(tables, columns, direct=True).of(tree)}
    except (SqlglotError, RecursionError):  # then the engine will say what is wrong
        return []
    return sorted(edges, key=lambda edge: (edge.left, edge.right, edge.columns))


def without_quoted_texts(tree: exp.Expr) -> exp.Expr:
    """A copy of a query without the quoted names that may be texts to SQLite."""

    def without(node: exp.Expr) -> exp.Expr:
        name = node.this if isinstance(node, exp.Column) and not node.table else None
        return exp.null() if isinstance(name, exp.Identifier) and name.quoted else node

    return tree.transform(without)


def _scopes(tree: exp.Expr) -> list[Scope]:
    try:
        return traverse_scope(tree)
    except (SqlglotError, RecursionError):  # then the engine will say what is wrong
        return []


def _own_columns(scope: Scope) -> Iterator[exp.Column]:
    """The columns that stand in a query itself, not in one within it."""
    for column in scope.columns:
        within = column.find_ancestor(exp.Select, exp.SetOperation)
        if within is scope.expression and not isinstance(column.this, exp.Star):
            yield column


class _Reach:
    """What columns may be called by in the queries of one tree; of each query it is read once."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self._relations = by_name(relations)
        self._aliases: dict[int, set[str]] = {}
        self._columns: dict[int, set[str] | None] = {}

    def has(self, column: exp.Column, scope: Scope) -> bool:
        """Whether a column that stands in a query is one of what that can reach."""
        name = fold(column.name)
        if not column.table and (name in self._aliases_of(scope) or name in _ROW_NAMES):
            return True
        current: Scope | None = scope
        while current is not None:
            for alias, source in current.sources.items():
                if column.table and fold(alias) != fold(column.table):
                    continue
                names = self._columns_of(source)
                if names is None or name in names or name in _ROW_NAMES:
                    return True
            current = current.parent
        return False

    def _aliases_of(self, scope: Scope) -> set[str]:
        key, query = id(scope), scope.expression
        if key not in self._aliases:
            if isinstance(query, exp.SetOperation):
                names = query.named_selects
            else:
                names = [each.alias for each in getattr(query, "selects", ()) if each.alias]
            self._aliases[key] = set(map(fold, names))
        return self._aliases[key]

    def _columns_of(self, source: exp.Table | Scope) -> set[str] | None:
        """The columns of a source; None where that takes more than reading the query."""
        if id(source) not in self._columns:
            names = _given_out(source) if isinstance(source, Scope) else self._of_table(source)
            self._columns[id(source)] = None if names is None else set(map(fold, names))
        return self._columns[id(source)]

    def _of_table(self, table: exp.Table) -> list[str] | None:
        relation = self._relations.get(fold(dotted(table)))
        return None if relation is None else [column.name for column in relation.table.columns]


def _given_out(scope: Scope) -> list[str] | None:
    """The columns that a query gives out; None where they are not all listed."""
    query = scope.expression
    renamed = getattr(query.parent, "alias_column_names", None)
    names = renamed or getattr(query, "named_selects", None)
    starred = names is not None and ("*" in names or getattr(query, "is_star", False))
    return None if starred else names


def _named(table: exp.Table, relations: Sequence[Relation]) -> Relation | None:
    return by_name(relations).get(fold(dotted(table)))


def _has(relation: Relation, name: str) -> bool:
    return any(fold(column.name) == fold(name) for column in relation.table.columns)


def _relation_of(
    column: exp.Column, relations: Sequence[Relation], read: dict[int, list[exp.Table]]
) -> Relation | None:
    """The table that a column claims to be of, or the only one that it can be of.

    `read` keeps the tables that stand in each query: looking through one takes its length.
    """

    def within(select: exp.Select) -> list[exp.Table]:
        if id(select) not in read:
            read[id(select)] = list(select.find_all(exp.Table))
        return read[id(select)]

    select = column.find_ancestor(exp.Select)
    if select is not None and not column.table:
        only = within(select)
        return _named(only[0], relations) if len(only) == 1 else None
    while column.table and select is not None:
        for table in within(select):
            if fold(table.alias_or_name) == fold(column.table):
                return _named(table, relations)
        select = select.find_ancestor(exp.Select)
    return None


class QueryJoins:
    """The joins of one query, whose table names, in lower case, stand for `tables`.

    `direct` leaves out joins by what a subquery gives out, which may group or filter rows.
    """

    def __init__(
        self, tables: Mapping[str, TableId], columns: Columns, *, direct: bool = False
    ) -> None:
        self._tables, self._columns, self._direct = tables, columns, direct
        self._origins: dict[tuple[int, str, str, int], Origin | None] = {}

    def of(self, tree: exp.Expr) -> Iterator[tuple[TableId, TableId, tuple[tuple[str, str], ...]]]:
        """Pairs of tables, the lesser first, with the columns that a query holds equal."""
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
                elif isinstance(part, exp.In) and not self._direct:
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
        """The table that a column is read from, through subqueries and WITH clauses.

        It is looked for once: clauses that read each other by many ways double the ways.
        """
        name, table = column.name.casefold(), column.table.casefold()
        key = (id(scope), table, name, deep)
        if key not in self._origins:
            self._origins[key] = self._read_from(name, table, scope, deep)
        return self._origins[key]

    def _read_from(self, name: str, called: str, scope: Scope, deep: int) -> Origin | None:
        current: Scope | None = scope
        while current is not None and deep < _DEEPEST:
            for alias, (_, source) in current.selected_sources.items():
                if called and alias.casefold() != called:
                    continue
                if isinstance(source, exp.Table):
                    table = self._tables.get(dotted(source).casefold())
                    if table is not None and name in self._columns[table]:
                        return alias, table, self._columns[table][name]
                elif not self._direct:
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
