"""Notes: what a person says of a catalog's joins, tables and terms, read from a file and written.

Tables and columns are named as people call them. A name that means no table, or several, is a
problem of its line; the other lines count. A new note is checked against the catalog first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dovetail.catalog.lookup import SEPARATOR, find_table, matches
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, Table, TableId
from dovetail.errors import NotFoundError, TableNotFoundError, UsageError
from dovetail.joins.queried import stated_edge
from dovetail.notes.file import (
    ABOUT,
    JOINS,
    QUESTIONS,
    SECTIONS,
    TABLES,
    TERMS,
    Entry,
    Problem,
    put_entry,
    read_entries,
    remove_entry,
)

CANONICAL, COPY, IGNORE = "canonical", "copy", "ignore"
PINNED = "pinned"
# Names that are nearly the one meant are looked for so often: it takes a look at every table.
_MOST_HINTS = 5
_OF = re.compile(r"copy\s+of\s+(.+)", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ban:
    """A join that is none: by these columns, or between two tables by any."""

    tables: frozenset[TableId]
    columns: frozenset[frozenset[tuple[TableId, str]]] = frozenset()

    def forbids(self, edge: JoinEdge) -> bool:
        """Whether an edge is the join that is banned."""
        if {edge.left, edge.right} != self.tables:
            return False
        own = {frozenset(((edge.left, a), (edge.right, b))) for a, b in edge.columns}
        return not self.columns or own == self.columns


@dataclass(frozen=True, slots=True)
class Mark:
    """What a table is: canonical, a copy (of another, if that is said), or to be ignored."""

    table: TableId
    role: str
    of: TableId | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """What a term means: other words, and the tables that it is about."""

    term: str
    text: str
    tables: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """What a person says of a table, or of one of its columns."""

    table: TableId
    column: str
    text: str

    def __str__(self) -> str:
        return f"{self.column}: {self.text}" if self.column else self.text


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, and the set of tables that was right for it."""

    question: str
    tables: tuple[TableId, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """All that a file of notes says of a catalog, and the lines of it that cannot be used."""

    file: Path | None = None
    pins: tuple[JoinEdge, ...] = ()
    bans: tuple[Ban, ...] = ()
    marks: tuple[Mark, ...] = ()
    definitions: tuple[Definition, ...] = ()
    remarks: tuple[Remark, ...] = ()
    answered: tuple[Answered, ...] = field(default=())
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        every = (self.pins, self.bans, self.marks, self.definitions, self.remarks, self.answered)
        return any(every)

    @property
    def ignored(self) -> frozenset[TableId]:
        """The tables that are to be ignored."""
        return frozenset(mark.table for mark in self.marks if mark.role == IGNORE)

    def remarks_on(self, table: TableId) -> tuple[Remark, ...]:
        """What is said of a table and its columns."""
        return tuple(remark for remark in self.remarks if remark.table == table)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The problems as lines for a person, with the file's name."""
        name = self.file.name if self.file else ""
        return tuple(f"{name} {problem}" for problem in self.problems)


NO_NOTES = Notes()


def read_notes(catalog: CatalogReader) -> Notes:
    """The notes on a catalog, from the file that its settings name; none without one."""
    return NO_NOTES if catalog.notes_file is None else notes_in(catalog.notes_file, catalog)


def notes_in(file: Path, catalog: CatalogReader) -> Notes:
    """The notes of a file, held against a catalog."""
    entries, problems = read_entries(file)
    return replace(notes_of(entries, catalog, problems), file=file)


def notes_of(
    entries: Iterable[Entry], catalog: CatalogReader, problems: Sequence[Problem] = ()
) -> Notes:
    """What entries say of a catalog; those that cannot be used are among the problems."""
    return _Reader(catalog).read(entries, [*problems])


def tables_of_entries(
    entries: Iterable[Entry], catalog: CatalogReader
) -> dict[Entry, frozenset[TableId]]:
    """The tables that each entry is about, of those entries that can be used."""
    reader = _Reader(catalog)
    about = {}
    for entry in entries:
        try:
            _, note = reader.note(entry)
        except (NotFoundError, ValueError):
            continue
        about[entry] = _tables_of(note)
    return about


def _tables_of(note: object) -> frozenset[TableId]:
    match note:
        case JoinEdge():
            return frozenset((note.left, note.right))
        case Ban() | Definition() | Answered():
            return frozenset(note.tables)
        case Mark():
            return frozenset((note.table, note.of or note.table))
        case Remark():
            return frozenset((note.table,))
    raise TypeError(f"{note!r} is no note")


class _Reader:
    """Resolves entries against the tables of one catalog."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._catalog = catalog
        self._hints = _MOST_HINTS
        # The tables by the last part of their names, whatever the case: all readings share it.
        self._by_last: dict[str, list[TableId]] = {}
        for table in catalog.ids:
            last = SEPARATOR.split(table.name)[-1].casefold()
            self._by_last.setdefault(last, []).append(table)

    def read(self, entries: Iterable[Entry], problems: list[Problem]) -> Notes:
        by_kind: dict[str, list[object]] = {}
        for entry in entries:
            try:
                kind, note = self.note(entry)
                by_kind.setdefault(kind, []).append(note)
            except (NotFoundError, ValueError) as error:
                problems.append(Problem(entry.line, str(error)))
        tuples = {kind: tuple(notes) for kind, notes in by_kind.items()}
        ordered = tuple(sorted(problems, key=lambda problem: problem.line))
        return Notes(problems=ordered, **tuples)  # type: ignore[arg-type]

    def note(self, entry: Entry) -> tuple[str, object]:
        """What an entry says, and which kind of note that is."""
        read: dict[str, Callable[[str, str], tuple[str, object]]] = {
            JOINS: self._join,
            TABLES: self._mark,
            TERMS: self._term,
            ABOUT: self._remark,
            QUESTIONS: self._question,
        }
        return read[entry.section](entry.key, entry.value)

    def _table(self, name: str) -> TableId:
        name = name.strip().strip('"')
        near = self._by_last.get(SEPARATOR.split(name)[-1].casefold(), [])
        if near and matches(near, name):
            return find_table(near, name)
        if self._hints <= 0:
            raise TableNotFoundError(f"there is no table {name!r}")
        self._hints -= 1
        return find_table(self._catalog.ids, name)

    def _tables(self, names: str) -> tuple[TableId, ...]:
        return tuple(self._table(name) for name in names.split(",") if name.strip())

    def _column(self, text: str) -> tuple[Table, str]:
        """The table and column that `table.column` stands for; the table's own name has dots."""
        text = text.strip()
        cuts = [at for at, char in enumerate(text) if char == "."][::-1]
        for at in cuts:
            table, column = text[:at], text[at + 1 :].strip().strip('"')
            near = self._by_last.get(SEPARATOR.split(table.strip())[-1].casefold(), [])
            if not matches(near, table.strip()):
                continue
            profile = self._catalog[self._table(table)]
            named = {one.name.casefold(): one.name for one in profile.columns}
            if column in (one.name for one in profile.columns):
                return profile, column
            if column.casefold() in named:
                return profile, named[column.casefold()]
            profile.column(column)  # raises, with the columns there are
        if not cuts:
            raise ValueError(f"{text!r} names no column: write table.column")
        self._table(text[: cuts[0]])  # raises, with the tables that are near
        raise ValueError(f"{text!r} names no column of a table")

    def _join(self, key: str, value: str) -> tuple[str, object]:
        verdict = value.casefold()
        if verdict not in ("pin", "ban"):
            raise ValueError(f"a join is pin or ban, not {value!r}")
        sides = [part.split("=") for part in _AND.split(key)]
        if any(len(part) != 2 for part in sides):
            raise ValueError(f"{key!r} is no join: write table.column = other.column")
        if verdict == "ban" and len(sides) == 1 and (pair := self._whole(*sides[0])):
            return "bans", Ban(frozenset(pair))
        pairs = [(self._column(one), self._column(other)) for one, other in sides]
        tables = {(one[0].id, other[0].id) for one, other in pairs}
        if len(tables) > 1:
            raise ValueError(f"{key!r} joins more than two tables; make it several entries")
        if verdict == "ban":
            banned = {frozenset(((a.id, x), (b.id, y))) for (a, x), (b, y) in pairs}
            return "bans", Ban(frozenset(next(iter(tables))), frozenset(banned))
        left, right = pairs[0][0][0], pairs[0][1][0]
        columns = tuple((x, y) for (_, x), (_, y) in pairs)
        return "pins", stated_edge(self._catalog, left, right, columns, {PINNED: 1.0})

    def _whole(self, one: str, other: str) -> tuple[TableId, TableId] | None:
        """Two tables as a whole, where both sides name one."""
        tables = []
        for side in (one.strip(), other.strip()):
            near = self._by_last.get(SEPARATOR.split(side)[-1].casefold(), [])
            if not matches(near, side):
                return None
            tables.append(find_table(near, side))
        return tables[0], tables[1]

    def _mark(self, key: str, value: str) -> tuple[str, object]:
        table = self._table(key)
        role = value.casefold()
        if role in (CANONICAL, COPY, IGNORE):
            return "marks", Mark(table, role)
        if named := _OF.fullmatch(value):
            return "marks", Mark(table, COPY, self._table(named[1]))
        raise ValueError(f"a table is canonical, copy, copy of TABLE, or ignore, not {value!r}")

    def _term(self, key: str, value: str) -> tuple[str, object]:
        text, colon, named = value.partition(":")
        if not text.strip() and not named.strip():
            raise ValueError(f"{key!r} is not defined: write words, and after a colon tables")
        tables = self._tables(named) if colon else ()
        return "definitions", Definition(key.strip(), text.strip(), tables)

    def _remark(self, key: str, value: str) -> tuple[str, object]:
        near = self._by_last.get(SEPARATOR.split(key)[-1].casefold(), [])
        if matches(near, key) or "." not in key:
            return "remarks", Remark(self._table(key), "", value)
        table, column = self._column(key)
        return "remarks", Remark(table.id, column, value)

    def _question(self, key: str, value: str) -> tuple[str, object]:
        return "answered", Answered(key, self._tables(value))


def note(catalog: CatalogReader, section: str, key: str, value: str) -> Path:
    """Write an entry into the catalog's file of notes; an error says what is wrong with it."""
    file = file_of(catalog)
    notes = notes_of([Entry(0, section, key.strip(), value)], catalog)
    if notes.problems:
        raise UsageError(str(notes.problems[0]))
    put_entry(file, section, key.strip(), value)
    return file


def forget(catalog: CatalogReader, key: str, sections: Sequence[str] = SECTIONS) -> list[str]:
    """Take the entries of a key out of the file; returns the sections they stood in."""
    file = file_of(catalog)
    gone = [section for section in sections if remove_entry(file, section, key)]
    if not gone:
        known = ", ".join(repr(entry.key) for entry in read_entries(file)[0][:8]) or "none"
        raise UsageError(f"{file.name} has no entry {key!r}; there are: {known}")
    return gone


def file_of(catalog: CatalogReader) -> Path:
    """The file of a catalog's notes, which need not be there yet."""
    if catalog.notes_file is None:
        raise UsageError("notes are not used (the setting use_notes); turn them on to write some")
    return catalog.notes_file
