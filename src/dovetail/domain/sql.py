"""Tables and joins as text for a query, a prompt or a reader: names, conditions, DDL, Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dovetail.domain.joins import JoinEdge, transform_words, transformed_sql
from dovetail.domain.tables import Column, Kind, Table, TableId
from dovetail.text import cut, escape, one_line

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WIDTH = 40
_COMMENT = 120
# Characters of a cell in Markdown.
WIDTH = 100
# Words that SQL does not take for the name of a table or column unless they are quoted: those that
# DuckDB 1.5 and SQLite 3 refuse, and those that sqlglot reads as something else. A test tries every
# keyword of both engines, so a new version that reserves another word is noticed.
_WORDS = """
add all alter analyse analyze and anti any array as asc asof asymmetric at authorization
autoincrement between binary both by case cast check collate collation column commit concurrently
constraint create cross current_date current_time current_timestamp default deferrable delete desc
describe distinct do drop else end escape except exists false fetch for force foreign freeze from
full glob grant group having if ilike in index initially inner insert install intersect into is
isnull join lambda lateral leading left like limit map natural not nothing notnull null offset on
only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify
raise references regexp returning revoke right rollback select semi set show similar some
summarize symmetric table tablesample then to trailing transaction true union unique unpack
unpivot update using values variadic verbose when where window with
"""
_RESERVED = frozenset(_WORDS.split())


def ddl(
    tables: Sequence[Table],
    joins: Iterable[JoinEdge] = (),
    *,
    names: Mapping[TableId, str] | None = None,
    examples: int = 3,
    dialect: str = "duckdb",
) -> str:
    """`CREATE TABLE` for each table, with example values, and then how they join.

    Keys that a source declares stand as SQL has them, its comments among the remarks.
    Names, types, comments and values come from the sources and are data: none can begin a line of
    its own, and marks by which chat templates tell whose turn it is are broken up.
    """
    called = names or query_names(table.id for table in tables)
    parts = [_table(table, called, examples) for table in tables]
    parts += [_union(group, called) for group in slices(tables)]
    told = [edge for edge in joins if {edge.left, edge.right} <= called.keys()]
    lines = [_join(edge, called, dialect) for edge in told]
    if lines:
        parts.append("\n".join(["-- joins", *lines]))
    return "\n\n".join(parts) + "\n" if parts else ""


def slices(tables: Sequence[Table]) -> list[list[Table]]:
    """Tables of one source whose names differ in numbers alone, and that share most columns."""
    groups: dict[tuple[str, str], list[Table]] = {}
    for table in tables:
        groups.setdefault((table.id.source, re.sub(r"\d+", "#", table.name)), []).append(table)
    return [group for group in groups.values() if len(group) > 1 and _shared(group)]


def _shared(group: Sequence[Table]) -> list[str]:
    """The columns that all of some tables have, in the order of the first; few are none."""
    common = set.intersection(*({column.name for column in table.columns} for table in group))
    shared = [column.name for column in group[0].columns if column.name in common]
    return shared if 2 * len(shared) > max(len(table.columns) for table in group) else []


def _union(group: Sequence[Table], names: Mapping[TableId, str]) -> str:
    """How slices of one logical table are queried together."""
    listed = ", ".join(_shown(names[table.id]) for table in group)
    columns = ", ".join(map(_shown, _shared(group)))
    return (
        f"-- parts of one table: {listed}\n-- combine them: SELECT {columns} FROM each, UNION ALL"
    )


def query_names(ids: Iterable[TableId]) -> dict[TableId, str]:
    """What to call tables in a query: by their own names; those that share one get aliases.

    An alias begins with the source. The order of the ids makes no difference.

    >>> names = query_names([TableId("erp.db", "t"), TableId("shop.db", "T"), TableId("x", "u")])
    >>> {str(table): name for table, name in names.items()}
    {'x::u': 'u', 'erp.db::t': 'erp_t', 'shop.db::T': 'shop_T'}
    """
    wanted = sorted(set(ids))
    times = Counter(table.name.casefold() for table in wanted)
    names = {table: table.name for table in wanted if times[table.name.casefold()] == 1}
    taken = {name.casefold() for name in names.values()}
    for table in wanted:
        if table in names:
            continue
        brief = alias = f"{_stem(table.source)}_{table.name}"
        number = 2
        while alias.casefold() in taken:
            alias, number = f"{brief}_{number}", number + 1
        taken.add(alias.casefold())
        names[table] = alias
    return names


def quoted(name: str) -> str:
    """A name as SQL takes it; quotes only where they are needed.

    >>> quoted("order_no"), quoted("order no"), quoted("order")
    ('order_no', '"order no"', '"order"')
    """
    plain = _PLAIN.fullmatch(name) and name.lower() not in _RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


def _shown(name: str) -> str:
    return one_line(quoted(name))


def _table(table: Table, called: Mapping[TableId, str], examples: int) -> str:
    said = f"; {_comment(table.comment)}" if table.comment else ""
    lines = [f"CREATE TABLE {_shown(called[table.id])} (  -- {table.rows:,} rows{said}"]
    wide = list(_wide_keys(table, called))
    last = len(table.columns) - 1
    for at, column in enumerate(table.columns):
        comma = "," if at < last or wide else ""
        key = _key(table, column.name, called)
        remark = _remark(column, table.rows, examples, declared="PRIMARY" in key or "UNIQUE" in key)
        shown = f"  -- {remark}" if remark else ""
        lines.append(f"  {_shown(column.name)} {one_line(column.type)}{key}{comma}{shown}")
    lines += [f"  {key}{',' if at < len(wide) - 1 else ''}" for at, key in enumerate(wide)]
    return "\n".join([*lines, ");"])


def _key(table: Table, column: str, called: Mapping[TableId, str]) -> str:
    """What is declared of a column by itself."""
    words = ""
    if table.keys.is_key(column):
        words += " PRIMARY KEY" if table.keys.primary == (column,) else " UNIQUE"
    for key in table.keys.foreign:
        to = called.get(TableId(key.source or table.id.source, key.table))
        if to and key.columns == (column,):
            words += f" REFERENCES {_shown(to)} ({_shown(key.key_columns[0])})"
    return words


def _wide_keys(table: Table, called: Mapping[TableId, str]) -> Iterator[str]:
    """The declared keys of several columns."""
    for columns in table.keys.candidate_keys:
        if len(columns) > 1:
            word = "PRIMARY KEY" if columns == table.keys.primary else "UNIQUE"
            yield f"{word} ({', '.join(map(_shown, columns))})"
    for key in table.keys.foreign:
        to = called.get(TableId(key.source or table.id.source, key.table))
        if to and len(key.columns) > 1:
            own, other = (", ".join(map(_shown, each)) for each in (key.columns, key.key_columns))
            yield f"FOREIGN KEY ({own}) REFERENCES {_shown(to)} ({other})"


def _comment(text: str) -> str:
    return '"' + one_line(cut(text, _COMMENT)).replace('"', "'") + '"'


def _remark(column: Column, rows: int, examples: int, *, declared: bool) -> str:
    profile = column.profile
    words = [_comment(column.comment)] if column.comment else []
    if profile.unique and not declared:
        words.append("unique")
    if declared and not profile.unique and rows > profile.nulls:
        words.append("declared, but its values repeat")
    if profile.nulls and rows:
        words.append(f"{profile.nulls / rows:.0%} null")
    shown = [_example(text, profile.kind) for text in profile.examples[:examples]]
    if shown:
        words.append("e.g. " + ", ".join(shown))
    return "; ".join(words)


def _example(text: str, kind: Kind) -> str:
    text = one_line(" ".join(text.split()))
    text = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
    return text if kind in (Kind.INTEGER, Kind.REAL, Kind.BOOLEAN) else f"'{text}'"


def _join(edge: JoinEdge, names: Mapping[TableId, str], dialect: str) -> str:
    after = f", {transform_words(edge.transform)}" if edge.transform else ""
    condition = one_line(join_condition(edge, names, dialect))
    return f"-- {condition}  ({edge.cardinality}{after})"


def join_condition(
    edge: JoinEdge, names: Mapping[TableId, str] | None = None, dialect: str = "duckdb"
) -> str:
    """The condition of a join in SQL, with the transform that it needs, if any.

    >>> orders, items = TableId("s", "orders"), TableId("s", "items")
    >>> edge = JoinEdge(items, orders, (("no", "no"),), 1.0, "n:1", 1.0, {}, "zeros")
    >>> join_condition(edge, dialect="sqlite").partition(" = ")[0]
    "CAST(nullif(trim(items.no), '') AS INTEGER)"
    """
    called = names or query_names((edge.left, edge.right))
    left, right = quoted(called[edge.left]), quoted(called[edge.right])
    pairs = [(f"{left}.{quoted(a)}", f"{right}.{quoted(b)}") for a, b in edge.columns]
    sides = [[transformed_sql(edge.transform, side, dialect) for side in pair] for pair in pairs]
    return " AND ".join(f"{one} = {other}" for one, other in sides)


def join_sql(
    tables: Sequence[TableId],
    joins: Iterable[JoinEdge],
    *,
    names: Mapping[TableId, str] | None = None,
    dialect: str = "duckdb",
) -> str:
    """A `FROM` clause over tables along their surest joins; a table that none connects is left out.

    The first table comes first; each other follows as soon as a join connects it.
    """
    called = names or query_names(tables)
    edges = sorted(joins, key=lambda edge: (-edge.score, edge.left, edge.right, edge.columns))
    clause, reached = [f"FROM {quoted(called[table])}" for table in tables[:1]], set(tables[:1])
    while True:
        able = (e for e in edges if len(reached & {e.left, e.right}) == 1 and e.left != e.right)
        edge = next((e for e in able if {e.left, e.right} <= called.keys()), None)
        if edge is None:
            return "\n".join(clause)
        table = edge.right if edge.left in reached else edge.left
        reached.add(table)
        condition = join_condition(edge, called, dialect)
        clause.append(f"JOIN {quoted(called[table])} ON {condition}")


def _stem(source: str) -> str:
    """The last part of a source's label in letters that need no quotes."""
    last = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    stem = re.sub(r"\W+", "_", last.rpartition(".")[0] or last).strip("_")
    return stem if stem and not stem[0].isdigit() else f"t{stem}"


def markdown(table: Table, *, width: int = WIDTH, columns: int | None = None) -> str:
    """Write a table's name, header row, alignment row and sample.

    Cells are cut to `width` characters; of more than `columns` columns the first are shown, and
    how many there are beyond them.
    """
    shown = table.columns[:columns]
    rows = [
        [column.name for column in shown],
        ["---"] * len(shown),
        *([cell or "" for cell in row[: len(shown)]] for row in table.sample),
    ]
    lines = [
        f"Table: {escape(cut(table.name, width))}",
        "",
        *("| " + " | ".join(escape(cut(cell, width)) for cell in row) + " |" for row in rows),
    ]
    if beyond := len(table.columns) - len(shown):
        lines += ["", f"({beyond} more columns)"]
    return "\n".join(lines)
