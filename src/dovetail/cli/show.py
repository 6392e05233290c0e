"""The commands that show a table, which tables join, which are one logical table, and which columns
hold the same identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import (
    console,
    note,
    open_catalog,
    print_json,
    print_line,
    print_rows,
    rich_table,
    sureness,
)
from dovetail.domain import PERSON
from dovetail.domain.sql import transform_words
from dovetail.errors import NotFoundError
from dovetail.text import count, cut

if TYPE_CHECKING:
    from dovetail.answer.join_check import JoinCheck
    from dovetail.api.catalog import Catalog
    from dovetail.domain import Column, DeclaredKeys, Description, JoinEdge, Table, TableId

# Characters of a sample query that a line shows, and the score above which joins are shown.
_SAMPLE, _USUAL = 120, 0.5


def show(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table by name, or as source::name.")
    ],
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Show a table: description, columns with their profiles, a few rows."""
    opened = open_catalog(catalog)
    shown = opened.show(table)
    if as_json:
        print_json(shown)
        return
    details = opened[table]
    family = opened.families().of(details.id)
    in_dbt = opened.reader.dbt.tables.get(details.id)
    lines = [
        f"{details.id}  {details.rows:,} rows",
        _estimated(details),
        _sketched(details),
        details.comment,
        _described_by(
            opened.description(details),
            [each.column for each in opened.notes.remarks_on(details.id)],
        ),
        *_wide_keys(details.keys),
        _masked(details),
        *(in_dbt.lines if in_dbt else ()),
        *opened.reader.usage.lines(details.id),
        family.words(details.id) if family else "",
        *shown["domains"],
        *shown["calendars"],
    ]
    for line in filter(None, lines):
        print_line(line)
    screen = console()
    extra = [*(["key"] if details.keys else []), *(["comment"] if _commented(details) else [])]
    columns = rich_table("column", "type", *extra, "nulls", "distinct", "range", "examples")
    for column in details.columns:
        about = {"key": _key_of(details.keys, column.name), "comment": column.comment}
        columns.add_row(*_column_cells(column, [about[name] for name in extra]))
    screen.print(columns)
    if details.sample:
        names = [column.name for column in details.columns]
        print_rows(names, [[cell or "" for cell in cells] for cells in details.sample])


def families(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only the family of this table.")
    ] = None,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Show which tables are one logical table: partitions, copies, histories, views, and twins."""
    opened = open_catalog(catalog, families=True)
    every = opened.families()
    wanted = list(every)
    if table is not None:
        family = every.of(opened[table].id)
        wanted = [] if family is None else [family]
    if as_json:
        listed = [family.to_dict() for family in wanted]
        print_json({"catalog": str(opened.folder), "families": listed})
        return
    if not wanted:
        print_line(f"{opened[table].id} stands alone." if table else "No table is part of another.")
        return
    listing = rich_table("family", "table", "role", "label", "why")
    for family in wanted:
        for number, member in enumerate(family.members):
            name = "" if number else family.name
            role = member.role.value if number else f"{member.role.value} *"
            listing.add_row(name, str(member.id), role, member.label, member.evidence)
    console().print(listing)
    members = sum(len(family.tables) for family in wanted)
    print_line(f"{len(wanted):,} families of {members:,} tables; * stands for the family")


def joins(
    table: options.JoinedTable = None,
    other: options.OtherTable = None,
    path: options.JoinPath = None,
    least: options.Least = _USUAL,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Show which tables join, by which columns, how surely and why."""
    opened = open_catalog(catalog)
    for line in opened.notes.warnings:
        note(line)
    notes: list[str] = []
    checks: Sequence[JoinCheck | None] = ()
    if path is not None:
        start, end = (opened[name].id for name in path)
        edges = _path(opened, start, end, least)
        notes = opened.path_notes(edges, start)
    else:
        edges = _with_calendars(opened, table, least)
    if other is not None:
        edges = _joins_with(opened, str(table), opened[other].id, edges, least)
        with opened:
            checks = [opened.check_join(edge) for edge in edges]
    checked = list(zip_longest(edges, checks))
    if as_json:
        about = {
            "catalog": str(opened.folder),
            "joins": [_join_json(edge, opened, check) for edge, check in checked],
        }
        print_json(about if path is None else {**about, "notes": notes})
        return
    listing = rich_table("score", "join", "kind", "match rate", "why")
    for edge in edges:
        rate = f"{edge.match_rate:.0%}"
        why = _join_reasons(edge, opened)
        listing.add_row(sureness(edge.score), edge.brief(), edge.cardinality, rate, why)
    console().print(listing)
    for edge, check in checked:
        _print_check(edge, check)
    for each in notes:
        print_line(f"Note: {each}.")


def _path(opened: Catalog, start: TableId, end: TableId, least: float) -> list[JoinEdge]:
    """The path of joins from one table to another; an error where none is that sure."""
    if edges := opened.path(start, end, least=least):
        return edges
    weakest = min((edge.score for edge in opened.path(start, end, least=0)), default=0.0)
    raise NotFoundError(f"no joins above {least} lead from {start} to {end}{_less_sure(weakest)}")


def _joins_with(
    opened: Catalog, table: str, other: TableId, edges: Iterable[JoinEdge], least: float
) -> list[JoinEdge]:
    """Those of a table's joins that lead to another one; an error where there is none."""
    if chosen := [edge for edge in edges if other in (edge.left, edge.right)]:
        return chosen
    every = opened.joins(table, least=0)
    between = (edge.score for edge in every if other in (edge.left, edge.right))
    led = "; --path shows a way" if opened.path(table, other, least=least) else ""
    raise NotFoundError(
        f"no join above {least} leads from {table} to {other}"
        f"{led}{_less_sure(max(between, default=0.0))}"
    )


def _with_calendars(opened: Catalog, table: str | None, least: float) -> list[JoinEdge]:
    """The joins that score above a bound, then those of days with calendars, if no more than the
    usual sureness was asked for."""
    edges = opened.joins(table, least=least)
    calendars = opened.calendar_joins(table) if least <= _USUAL else []
    return [*edges, *(edge for edge in calendars if edge not in edges)]


def _print_check(edge: JoinEdge, check: JoinCheck | None) -> None:
    """What the rows say of a join, and two that it joins."""
    if check is None:
        return
    lost = f"; without a partner: {', '.join(check.orphans)}" if check.orphans else ""
    print_line(edge.condition())
    print_line(
        f"{check.matched:,} of {check.rows:,} rows of {edge.left.name} find a partner, each about "
        f"{check.multiplied:,.1f}: {', '.join(check.matching)}{lost}"
    )
    if check.examples:
        heads = (f"row {n}" for n, _ in enumerate(check.examples, start=1))
        rows = rich_table("column", *heads, data=True)
        for column in check.examples[0]:
            rows.add_row(column, *(example[column] for example in check.examples))
        console().print(rows)


def domains(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only the domains of this table.")
    ] = None,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Show which columns hold the same identifiers, and where these are made.

    A name or a master that is wrong: dovetail note domain.
    """
    opened = open_catalog(catalog)
    matching = opened.domains(table)
    if as_json:
        listed = [domain.to_dict() for domain in matching]
        print_json({"catalog": str(opened.folder), "domains": listed})
        return
    for domain in matching:
        made = f"{len(domain.columns)} columns, made in {domain.master.together}"
        print_line(f"{domain.name}: {made}; they match {domain.normal_form}")
        masters = {
            f"{table}.{name}"
            for master in domain.masters.values()
            for table, name in (*master.parts, (master.table, master.name))
        }
        listing = rich_table("column", "refers to", "match rate", "without a partner")
        for column in domain.columns:
            refers = column.refers_to
            to = f"{refers[0]}.{refers[1]} {transform_words(column.transform)}" if refers else ""
            if to.strip() == str(domain.master) or refers in domain.master.parts:
                to = "it"
            lacking = (
                f"{column.missing:,} {' '.join(column.examples[:3])}" if column.missing else ""
            )
            if str(column) in masters:
                to = f"master {to}"
            rate = f"{column.match_rate:.0%}" if refers else ""
            listing.add_row(str(column), to.strip(), rate, lacking.strip())
        console().print(listing)


def _column_cells(column: Column, extra: Sequence[str]) -> list[str]:
    profile = column.profile
    span = f"{_short(profile.minimum)} … {_short(profile.maximum)}" if profile.minimum else ""
    examples = ", ".join(_short(example) for example in profile.examples[:3])
    distinct = f"{profile.distinct:,}" + (" unique" if profile.unique else "")
    return [column.name, column.type, *extra, f"{profile.nulls:,}", distinct, span, examples]


def _masked(table: Table) -> str:
    """Which columns hold what is not shown."""
    columns = (f"{name} ({', '.join(kinds)})" for name, kinds in table.masked.items())
    return f"masked: {', '.join(columns)}" if table.masked else ""


def _commented(table: Table) -> bool:
    return any(column.comment for column in table.columns)


def _key_of(keys: DeclaredKeys, column: str) -> str:
    """What is declared of a column by itself, or as a part of the primary key."""
    words = []
    if column in keys.primary:
        words.append("primary" if len(keys.primary) == 1 else "primary, in part")
    elif keys.is_key(column):
        words.append("unique")
    words += [
        f"refers to {key.table}.{key.key_columns[0]}"
        for key in keys.foreign
        if key.columns == (column,)
    ]
    return ", ".join(words)


def _wide_keys(keys: DeclaredKeys) -> list[str]:
    """The declared keys of several columns, in a line each."""
    unique = [key for key in keys.unique if len(key) > 1]
    wide = [key for key in keys.foreign if len(key.columns) > 1]
    return [*(f"unique together: {', '.join(key)}" for key in unique), *map(str, wide)]


def _short(text: str | None) -> str:
    return cut(text or "", 24)


def _described_by(description: Description | None, remarks: Sequence[str]) -> str:
    """Who wrote what is said of a table and its columns, where that is no comment in a source."""
    if description is None:
        return ""
    by = "" if description.author == PERSON else f"described by {description.author}"
    glossed = ", ".join(description.glosses)
    noted = ", ".join(dict.fromkeys(column or "the table" for column in remarks))
    words = (by, glossed and f"glosses, not comments: {glossed}", noted and f"your notes: {noted}")
    return "; ".join(filter(None, words))


def _estimated(table: Table) -> str:
    if table.estimate is None:
        return ""
    return f"estimated: {table.rows:,} of about {table.estimate.rows:,} rows were read"


def _sketched(table: Table) -> str:
    sketched = [one for one in table.columns if one.profile.kept < one.profile.distinct]
    if not sketched:
        return ""
    names = ", ".join(column.name for column in sketched)
    return f"kept by a sketch of {sketched[0].profile.kept:,} values: {names}"


def _less_sure(score: float) -> str:
    """How to see a join that is less sure than was asked for, if there is one."""
    return f"; --least 0 shows one of {score:.2f}" if score else ""


def _join_json(edge: JoinEdge, opened: Catalog, check: JoinCheck | None) -> dict[str, object]:
    """An edge as JSON has it, with a sample of the queries that made it, and what rows say."""
    use = opened.query_use(edge)
    more = {"example": use.example, "last_queried": use.last or None} if use else {}
    return {**edge.to_dict(), **more, **({"check": check.to_dict()} if check else {})}


def _join_reasons(edge: JoinEdge, opened: Catalog) -> str:
    """The evidence that moved the score most, in a few words."""
    evidence = edge.evidence
    use = opened.query_use(edge)
    sample = f", e.g. {use.example[:_SAMPLE]}" if use and use.example else ""
    missing = evidence.get("values_without_partner", 0)
    several = evidence.get("values_with_several_partners", 0)
    orphans = 1 - evidence.get("row_containment", 1)
    words = [
        ("pinned" in evidence, "you pinned this"),
        ("declared" in evidence, "declared in dbt" if "dbt" in evidence else "declared"),
        ("comment" in evidence, "its comment says so"),
        ("queries" in evidence, f"joined in {count(evidence.get('queries', 0), 'query')}{sample}"),
        (missing > 0, f"{count(missing, 'value')} without a partner"),
        (several > 0, f"{count(several, 'value')} with several partners"),
        (bool(edge.when), "what it refers to depends on another column"),
        ("names_only" in evidence, "by name only"),
        ("composite" in evidence, "unique together only"),
        ("self" in evidence, "self-reference"),
        (edge.by_days, "days of a calendar"),
        (evidence.get("part", 0) > 0, "one of several parts"),
        (evidence.get("name", 0) >= 0.5, "named after it"),
        (evidence.get("value", 0) >= 0.5, "distinctive values"),
        (evidence.get("key", 0) >= 0.7, "its key"),
        (orphans > 0, f"{orphans:.1%} orphans"),
        (evidence.get("competitors", 0) >= 0.5, "has competitors"),
        (evidence.get("jaccard", 0) >= 0.5, "values overlap"),
    ]
    return ", ".join(word for holds, word in words if holds)
