"""What a describer is shown: tables of one schema in a batch, with what helps to read their names.

A table is shown by its name, what people wrote about it, its columns with a value or two, and the
tables that it joins: about 200 tokens. Of each family one member is shown, for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from dovetail.catalog.descriptions import laid_descriptions
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import DICTIONARY, PERSON, Column, Description, Kind, Table, TableId
from dovetail.families.family import Families, Role, read_families
from dovetail.joins.edges import stored_edges
from dovetail.joins.graph import JoinGraph
from dovetail.models.chat import estimate_tokens
from dovetail.names.table_name import qualifier
from dovetail.names.words import identifies
from dovetail.notes.apply import noted_table
from dovetail.notes.notes import read_notes
from dovetail.text import cut, fenced, one_line

# Tables of a batch, and below how many tables schemas share one.
MOST, FEW = 16, 8
# Tokens of a batch; of one table, as the ways to show its columns become shorter; and of the names
# of other tables in its schema.
_BATCH_TOKENS, _TABLE_TOKENS, _NEIGHBOUR_TOKENS = 4_000, 250, 200
# Columns of which at least the names are shown; characters of a name, of a value, and of a comment
# on a table and on a column.
_COLUMNS, _NAME, _VALUE, _COMMENT, _GLOSS = 80, 60, 24, 120, 60
_JOINS = 4
# Distinct values up to which they are codes, of which several are shown.
_CODES = 50


@dataclass(frozen=True, slots=True)
class Batch:
    """Logical tables that are described together: how each is called in `text`, which shows them.

    `text` is fenced: nothing in it ends the fence.
    """

    names: tuple[tuple[TableId, str], ...]
    text: str

    @property
    def tables(self) -> tuple[TableId, ...]:
        """The tables, in the order in which they are shown."""
        return tuple(table for table, _ in self.names)


class Shown:
    """A catalog's logical tables as a describer is shown them."""

    def __init__(self, catalog: CatalogReader) -> None:
        self.catalog = catalog
        self.families: Families = read_families(catalog)
        self.notes = read_notes(catalog)
        self._graph = JoinGraph(catalog.ids, stored_edges(catalog))
        # What a model wrote earlier is no evidence for the next.
        self._guessed = {
            table: each
            for table, each in laid_descriptions(catalog).items()
            if each.author != DICTIONARY
        }

    def logical(self) -> list[TableId]:
        """The tables that are described: one of each family, and all that are in none."""
        return [table for table in self.catalog.ids if self.families.canonical(table) == table]

    def members(self, table: TableId) -> tuple[TableId, ...]:
        """The tables that share what is said of a logical table, itself included."""
        family = self.families.of(table)
        return family.tables if family else (table,)

    def is_sliced(self, table: TableId) -> bool:
        """Whether a logical table is cut into slices."""
        family = self.families.of(table)
        return family is not None and bool(family.partitions)

    def batches(self, tables: Iterable[TableId], *, most: int = MOST) -> Iterator[Batch]:
        """Tables in batches, each of one schema, or of several that have few."""
        waiting: list[Table] = []
        groups = groupby(sorted(tables), _schema)
        for group in (list(map(self.catalog.__getitem__, each)) for _, each in groups):
            if len(group) >= FEW or len(waiting) + len(group) > most:
                yield from self._packed(waiting, most)
                waiting = []
            waiting += group
        yield from self._packed(waiting, most)

    def _packed(self, tables: Sequence[Table], most: int) -> Iterator[Batch]:
        """Some tables in as few batches as hold them, of about the same length."""
        texts = [(table, self._table(table)) for table in tables]
        sizes = [estimate_tokens(text) for _, text in texts]
        count = max(-(-len(tables) // most), -(-sum(sizes) // _BATCH_TOKENS))
        for number in range(count):
            share = slice(number * len(texts) // count, (number + 1) * len(texts) // count)
            if part := texts[share]:
                yield self._batch(part)

    def _batch(self, texts: Sequence[tuple[Table, str]]) -> Batch:
        several = len({table.name for table, _ in texts}) < len(texts)
        names = {table.id: self._named(table.id, full=several) for table, _ in texts}
        parts = []
        for (source, schema), group in groupby(texts, lambda each: _schema(each[0].id)):
            shown = list(group)
            parts.append(self._heading(source, schema, [table.id for table, _ in shown]))
            parts += [f"{names[table.id]}{text}" for table, text in shown]
        return Batch(tuple(names.items()), fenced("\n\n".join(parts)))

    def _heading(self, source: str, schema: str, tables: Sequence[TableId]) -> str:
        """Where tables are, and the names of other tables there."""
        where = f"System {one_line(cut(self.catalog.source_names[source], _NAME))}"
        where += f", schema {one_line(cut(schema, _NAME))}" if schema else ""
        present, listed, tokens = set(tables), [], 0
        for table in self.logical():
            if _schema(table) == (source, schema) and table not in present:
                name = one_line(cut(table.name, _NAME)).removeprefix(f"{schema}.")
                tokens += estimate_tokens(name) + 1
                if tokens > _NEIGHBOUR_TOKENS:
                    listed.append("…")
                    break
                listed.append(name)
        return f"# {where}" + (f"; also there: {', '.join(listed)}" if listed else "")

    def _table(self, table: Table) -> str:
        """A table as it is shown, after its name."""
        table = self.by_people(table)
        rows = f" ({table.rows:,} row{'s' * (table.rows != 1)}{self._family(table.id)})"
        rows += f": {_quoted(table.comment)}" if table.comment else ""
        joined = self._joined(table.id)
        text = ""
        for values in (3, 1, 0):
            listed = [_column(column, values) for column in table.columns[:_COLUMNS]]
            beyond = len(table.columns) - len(listed)
            listed += [f"and {beyond:,} more"] if beyond else []
            text = "\n".join(filter(None, (rows, f"  {'; '.join(listed)}", joined)))
            if estimate_tokens(text) <= _TABLE_TOKENS:
                break
        return text

    def by_people(self, table: Table) -> Table:
        """A table with no other comments than those that people and dictionaries wrote."""
        guessed = self._guessed.get(table.id, Description("", PERSON))
        columns = tuple(
            replace(each, comment="") if each.name in guessed.glosses else each
            for each in table.columns
        )
        comment = "" if guessed.text else table.comment
        return noted_table(replace(table, comment=comment, columns=columns), self.notes, None)

    def _family(self, table: TableId) -> str:
        family = self.families.of(table)
        if family is None:
            return ""
        kinds = [member.role for member in family.members if member.id != table]
        slices = kinds.count(Role.PARTITION)
        return f", one of {slices + 1} slices" if slices else ""

    def _joined(self, table: TableId) -> str:
        """The tables that a table joins, those that it refers to first."""
        listed: dict[TableId, str] = {}
        edges = sorted(
            self._graph.joins(table),
            key=lambda edge: (
                edge.left.source != edge.right.source, edge.left != table, -edge.score, edge.right
            ),
        )  # fmt: skip
        for edge in edges:
            own = 0 if edge.left == table else 1
            other = self.families.canonical(edge.left if own else edge.right)
            columns = ", ".join(one_line(cut(pair[own], _NAME)) for pair in edge.columns)
            if other != table:
                name = self._named(other, full=other.source != table.source)
                listed.setdefault(other, f"{name} ({columns})")
        return f"  joins {'; '.join(list(listed.values())[:_JOINS])}" if listed else ""

    def _named(self, table: TableId, *, full: bool = False) -> str:
        """A table's name, in full after the short name of its source, which tells no path."""
        where = f"{self.catalog.source_names[table.source]}::" if full else ""
        return one_line(cut(f"{where}{table.name}", 2 * _NAME))


def _schema(table: TableId) -> tuple[str, str]:
    return table.source, qualifier(table.name)


def _quoted(text: str, width: int = _COMMENT) -> str:
    return '"' + one_line(cut(" ".join(text.split()), width)).replace('"', "'") + '"'


def _column(column: Column, most: int) -> str:
    """A column's name, its comment, and at most so many values, where they tell something."""
    profile, name = column.profile, one_line(cut(column.name, _NAME))
    if not most:
        return name
    if profile.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN, Kind.BINARY):
        values = [profile.kind.value]
    else:
        wanted = most if profile.kind is Kind.TEXT and profile.distinct <= _CODES else 1
        if profile.kind is Kind.INTEGER and identifies(column.name):
            wanted = 0
        examples = profile.examples[:wanted]
        values = [one_line(cut(" ".join(each.split()), _VALUE)) for each in examples]
    shown = f"{name} {', '.join(values)}".rstrip()
    return f"{shown} {_quoted(column.comment, _GLOSS)}" if column.comment else shown
