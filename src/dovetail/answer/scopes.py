"""Which table a column of a query belongs to: what is unknown, and what is joined by what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from dovetail.answer.relations import Joined, Relation, fold
from dovetail.domain import TableId

_ROW_NAMES = {"rowid", "oid", "_rowid_"}


def unknown_columns(tree: exp.Expr, relations: Sequence[Relation]) -> list[exp.Column]:
    """The columns that no table or subquery in reach has, in the order of the query."""
    missing: list[exp.Column] = []
    for scope in _scopes(tree):
        columns = _own_columns(scope)
        missing += [column for column in columns if not _is_column(column, scope, relations)]
    return missing


def complaints(tree: exp.Expr, relations: Sequence[Relation]) -> list[str]:
    """What is wrong with the columns of a query, a sentence each."""
    sentences = []
    for column in unknown_columns(tree, relations):
        relation = _relation_of(column, relations)
        where = f"table {relation.name}" if relation else "any table of the query"
        columns = ", ".join(each.name for each in relation.table.columns) if relation else ""
        has = f"; it has: {columns}" if columns else ""
        others = [each.name for each in relations if each != relation and _has(each, column.name)]
        elsewhere = f"; there is one in {', '.join(others)}" if others else ""
        sentences.append(f"there is no column {column.name} in {where}{has}{elsewhere}")
    return list(dict.fromkeys(sentences))


def joins(tree: exp.Expr, relations: Sequence[Relation]) -> list[Joined]:
    """Which columns of the set's tables a query joins by, one entry for each pair of tables."""
    joined: dict[tuple[str, str], tuple[TableId, TableId, list[tuple[str, str]]]] = {}
    for scope in _scopes(tree):
        for one, other in _equalities(scope):
            ends = []
            for column in (one, other):
                alias, relation = _table_of(column, scope, relations)
                if relation is not None:
                    ends.append((relation.table.id, alias, _spelled(column, relation)))
            if len(ends) == 2 and ends[0][1] != ends[1][1]:
                (left, first, a), (right, second, b) = sorted(ends)
                entry = joined.setdefault((first, second), (left, right, []))
                entry[2].append((a, b))
    edges = [Joined(left, right, tuple(dict.fromkeys(on))) for left, right, on in joined.values()]
    return sorted(dict.fromkeys(edges), key=lambda edge: (edge.left, edge.right, edge.columns))


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


def _is_column(column: exp.Column, scope: Scope, relations: Sequence[Relation]) -> bool:
    name = fold(column.name)
    if not column.table and (name in _aliases(scope) or name in _ROW_NAMES):
        return True
    current: Scope | None = scope
    while current is not None:
        for alias, source in current.sources.items():
            if column.table and fold(alias) != fold(column.table):
                continue
            names = _columns(source, relations)
            if names is None or name in names or name in _ROW_NAMES:
                return True
        current = current.parent
    return False


def _aliases(scope: Scope) -> set[str]:
    query = scope.expression
    if isinstance(query, exp.SetOperation):
        return {fold(name) for name in query.named_selects}
    return {fold(each.alias) for each in getattr(query, "selects", ()) if each.alias}


def _columns(source: exp.Table | Scope, relations: Sequence[Relation]) -> set[str] | None:
    """The columns of a source; None where that takes more than reading the query."""
    if isinstance(source, exp.Table):
        relation = _named(source, relations)
        names = None if relation is None else [column.name for column in relation.table.columns]
    else:
        query = source.expression
        renamed = getattr(query.parent, "alias_column_names", None)
        names = renamed or getattr(query, "named_selects", None)
        if names is not None and ("*" in names or getattr(query, "is_star", False)):
            return None
    return None if names is None else {fold(name) for name in names}


def _named(table: exp.Table, relations: Sequence[Relation]) -> Relation | None:
    name = fold(".".join(part.name for part in table.parts))
    return next((each for each in relations if fold(each.name) == name), None)


def _table_of(
    column: exp.Column, scope: Scope, relations: Sequence[Relation]
) -> tuple[str, Relation | None]:
    """The table of the set that a column is read from, and what the query calls it there."""
    current: Scope | None = scope
    while current is not None:
        for alias, source in current.sources.items():
            if column.table and fold(alias) != fold(column.table):
                continue
            if fold(column.name) in (_columns(source, relations) or ()):
                relation = _named(source, relations) if isinstance(source, exp.Table) else None
                return alias, relation
        current = current.parent
    return "", None


def _has(relation: Relation, name: str) -> bool:
    return any(fold(column.name) == fold(name) for column in relation.table.columns)


def _relation_of(column: exp.Column, relations: Sequence[Relation]) -> Relation | None:
    """The table that a column claims to be of, or the only one that it can be of."""
    select = column.find_ancestor(exp.Select)
    if select is not None and not column.table:
        read = list(select.find_all(exp.Table))
        return _named(read[0], relations) if len(read) == 1 else None
    while column.table and select is not None:
        for table in select.find_all(exp.Table):
            if fold(table.alias_or_name) == fold(column.table):
                return _named(table, relations)
        select = select.find_ancestor(exp.Select)
    return None


def _equalities(scope: Scope) -> Iterator[tuple[exp.Column, exp.Column]]:
    query = scope.expression
    if not isinstance(query, exp.Select):
        return
    clauses = [join.args.get("on") for join in query.args.get("joins") or ()]
    clauses.append(query.args.get("where"))
    for clause in clauses:
        for equal in clause.find_all(exp.EQ) if clause else ():
            sides = equal.this, equal.expression
            inside = equal.find_ancestor(exp.Select) is query
            if inside and all(isinstance(side, exp.Column) for side in sides):
                yield sides
    for join in query.args.get("joins") or ():
        for name in join.args.get("using") or ():
            first = next(iter(scope.sources), "")
            yield (
                exp.column(name.name, table=first),
                exp.column(name.name, table=join.alias_or_name),
            )


def _spelled(column: exp.Column, relation: Relation) -> str:
    """A column's name as its table spells it."""
    folded = fold(column.name)
    spelled = (each.name for each in relation.table.columns if fold(each.name) == folded)
    return next(spelled, column.name)
