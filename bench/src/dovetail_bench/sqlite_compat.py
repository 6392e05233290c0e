"""Rewrites a query of SQLite's dialect so that DuckDB returns the rows that SQLite returns.

SQLite reads a quoted name that is no column as a text; takes columns that are not grouped from any
row of the group, or from the row of the only MIN or MAX; LIKE does not mind case; whole numbers
divide to whole numbers; and text meets numbers: it is added up as the number it reads as, and
compared by the column's affinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dovetail.answer.relations import Relation, fold
from dovetail.answer.scopes import typed_columns, unknown_columns

# As `Executor.run` takes it.
LIKE_SQLITE = "dovetail_bench.sqlite_compat:like_sqlite"
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_WHOLE, "DOUBLE", "FLOAT", "DECIMAL")


def like_sqlite(tree: exp.Expr, relations: Sequence[Relation]) -> exp.Expr:
    """The query rewritten for DuckDB, with the meaning that it has in SQLite."""
    for column in unknown_columns(tree, relations):
        if not column.table and isinstance(column.this, exp.Identifier) and column.this.quoted:
            column.replace(exp.Literal.string(column.name))
    for like in list(tree.find_all(exp.Like)):
        like.replace(exp.ILike(**like.args))
    kinds = {id(column): kind for column, kind in typed_columns(tree, relations)}
    for column in list(tree.find_all(exp.Column)):
        kind = kinds.get(id(column), "")
        if kind == "VARCHAR":
            _meet_numbers(column)
        elif kind.startswith(_NUMBERS):
            _look_among_text(column, kinds)
    for division in list(tree.find_all(exp.Div)):
        if _is_whole(division.this, kinds) and _is_whole(division.expression, kinds):
            division.replace(exp.IntDiv(this=division.this, expression=division.expression))
    for select in list(tree.find_all(exp.Select)):
        _settle_bare_columns(select)
    return tree


def _meet_numbers(column: exp.Column) -> None:
    """A column of text among numbers: as a number in a sum, and numbers as text beside it."""
    parent = column.parent
    if isinstance(parent, (exp.Sum, exp.Avg)):
        number = exp.TryCast(this=column.copy(), to=exp.DataType.build("DOUBLE"))
        filled = exp.Coalesce(this=number, expressions=[exp.Literal.number(0)])
        present = column.copy().is_(exp.null()).not_()
        column.replace(exp.Case().when(present, filled))
    elif isinstance(parent, (exp.Predicate, exp.Between, exp.In)):
        for literal in parent.find_all(exp.Literal):
            if literal.parent is parent and not literal.is_string:
                literal.replace(exp.Literal.string(literal.this))


def _look_among_text(column: exp.Column, kinds: dict[int, str]) -> None:
    """A number that is looked for among texts is found where they read as numbers."""
    parent = column.parent
    query = parent.args.get("query") if isinstance(parent, exp.In) else None
    inner = query.this if isinstance(query, exp.Subquery) else query
    if isinstance(inner, exp.Select) and len(inner.expressions) == 1:
        value = inner.expressions[0].unalias()
        if kinds.get(id(value)) == "VARCHAR":
            cast = exp.TryCast(this=value.copy(), to=exp.DataType.build("DOUBLE"))
            inner.set("expressions", [cast])


def _is_whole(node: exp.Expr, kinds: dict[int, str]) -> bool:
    """Whether an expression is sure to be a whole number."""
    if isinstance(node, exp.Column):
        return kinds.get(id(node), "") in _WHOLE
    if isinstance(node, exp.Literal):
        return node.is_int
    if isinstance(node, exp.Cast):
        return node.is_type(*exp.DataType.INTEGER_TYPES)
    if isinstance(node, (exp.Count, exp.Length, exp.StrPosition)):
        return True
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return _is_whole(node.this, kinds) and _is_whole(node.expression, kinds)
    if isinstance(node, (exp.Paren, exp.Neg, exp.Sum, exp.Min, exp.Max, exp.IntDiv)):
        return _is_whole(node.this, kinds)
    return False


def _settle_bare_columns(select: exp.Select) -> None:
    group = select.args.get("group")
    holders = [
        *select.expressions,
        *(select.args[name] for name in ("having", "order") if select.args.get(name)),
    ]
    found = [aggregate for holder in holders for aggregate in _aggregates(holder)]
    if group is None and not found:
        return
    grouped = list(group.expressions) if group else []
    extremes = [each for each in found if isinstance(each, (exp.Min, exp.Max))]
    extreme = extremes[0] if len(extremes) == 1 else None
    aliases = {fold(each.alias) for each in select.expressions if each.alias}
    for number, holder in enumerate(holders):
        projected = number < len(select.expressions)
        if projected and _is_grouped(holder, number, grouped):
            continue
        for column in list(_bare(holder)):
            named = not projected and not column.table and fold(column.name) in aliases
            if not named and not any(_same(column, key) for key in grouped):
                _wrap(column, extreme, projected=projected)


def _wrap(column: exp.Column, extreme: exp.Expr | None, *, projected: bool) -> None:
    """Take a column from the row of the extreme, or from any row, under the name it had."""
    value = column.copy()
    chosen: exp.Expr = exp.First(this=value)
    if extreme is not None:
        kind = exp.ArgMin if isinstance(extreme, exp.Min) else exp.ArgMax
        chosen = kind(this=value, expression=extreme.this.copy())
    if projected and isinstance(column.parent, exp.Select):
        chosen = exp.alias_(chosen, column.name, quoted=True)
    column.replace(chosen)


def _aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    """The aggregates of a query's own, not those of windows and subqueries in it."""
    if isinstance(node, (exp.Window, exp.Query)):
        return
    if isinstance(node, exp.AggFunc):
        yield node
        return
    for child in node.iter_expressions():
        yield from _aggregates(child)


def _bare(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns that stand outside of aggregates."""
    if isinstance(node, exp.Column):
        if not isinstance(node.this, exp.Star):
            yield node
    elif not isinstance(node, (exp.AggFunc, exp.Window, exp.Query)):
        for child in node.iter_expressions():
            yield from _bare(child)


def _is_grouped(projection: exp.Expr, number: int, grouped: list[exp.Expr]) -> bool:
    value = projection.unalias()
    for key in grouped:
        if isinstance(key, exp.Literal) and key.is_int and int(key.this) == number + 1:
            return True
        named = isinstance(key, exp.Column) and not key.table
        if named and fold(projection.alias) == fold(key.name):
            return True
        if key == value:
            return True
    return False


def _same(column: exp.Column, key: exp.Expr) -> bool:
    if not isinstance(key, exp.Column) or fold(column.name) != fold(key.name):
        return False
    tables = {fold(each.table) for each in (column, key) if each.table}
    return len(tables) < 2
