"""Notes: what a person says of a catalog's joins, tables and terms, read from a file and written.

Tables and columns are named as people call them. A name that means no table, or several, is a
problem of its line; the other lines count. A new note is checked against the catalog first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dovetail.catalog.lookup import find_table
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, Table, TableId
from dovetail.errors import NotFoundError, TableNotFoundError, UsageError
from dovetail.joins.edges import stored_edges
from dovetail.joins.graph import JOINABLE
from dovetail.notes.file import (
    ABOUT,
    DOMAINS,
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
_NO_MATCH = "no row of {} matches, in any normal form; it counts all the same"
_OF = re.compile(r"copy\s+of\s+(.+)", re.IGNORECASE)
_AND = re.compile(r"(?<!\s)\s++and\s++", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


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
    """What a term means: other words, the tables that it is about, and columns of these.

    A column is the table and its name; its table is among the tables.
    """

    term: str
    text: str
    tables: tuple[TableId, ...] = ()
    columns: tuple[tuple[TableId, str], ...] = ()

    def __str__(self) -> str:
        columns = [f"{table.name}.{column}" for table, column in self.columns]
        return f"{self.term}: {', '.join(filter(None, (self.text, *columns)))}"

    def columns_of(self, table: TableId) -> list[str]:
        """The columns of a table that the term means."""
        return [column for owner, column in self.columns if owner == table]


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
class DomainNote:
    """What a column holds: the identifiers of a domain by this name, which are made in it; without
    a name, those of no domain."""

    table: TableId
    column: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """All that a file of notes says of a catalog, and the lines of it that cannot be used.

    `doubts` are about lines that count although the data does not bear them out.
    """

    file: Path | None = None
    pins: tuple[JoinEdge, ...] = ()
    bans: tuple[Ban, ...] = ()
    marks: tuple[Mark, ...] = ()
    definitions: tuple[Definition, ...] = ()
    remarks: tuple[Remark, ...] = ()
    answered: tuple[Answered, ...] = field(default=())
    domains: tuple[DomainNote, ...] = ()
    problems: tuple[Problem, ...] = ()
    doubts: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        joins = (self.pins, self.bans, self.domains)
        return any((*joins, self.marks, self.definitions, self.remarks, self.answered))

    @property
    def ignored(self) -> frozenset[TableId]:
        """The tables that are to be ignored."""
        return frozenset(mark.table for mark in self.marks if mark.role == IGNORE)

    def forbids(self, edge: JoinEdge) -> bool:
        """Whether an edge is a join that is banned."""
        return any(ban.forbids(edge) for ban in self.bans)

    def remarks_on(self, table: TableId) -> tuple[Remark, ...]:
        """What is said of a table and its columns."""
        return tuple(remark for remark in self.remarks if remark.table == table)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The problems and doubts as lines for a person, with the file's name."""
        name = self.file.name if self.file else ""
        lines = sorted((*self.problems, *self.doubts), key=lambda problem: problem.line)
        return tuple(f"{name} {problem}" for problem in lines)

    def only_about(self, tables: Collection[TableId]) -> Notes:
        """Those about some tables and no other: what is shown to who sees these alone.

        A definition that names no table is about none of them; problems quote the file.
        """
        kinds = ("pins", "bans", "marks", "definitions", "remarks", "answered", "domains")
        own = frozenset(tables)
        kept = {
            kind: tuple(
                note for note in getattr(self, kind) if (about := _tables_of(note)) and about <= own
            )
            for kind in kinds
        }
        return Notes(**kept)  # type: ignore[arg-type]


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
    notes = _Reader(catalog).read(entries, [*problems])
    for each in notes.domains:
        if each.name:
            notes = _redirected(catalog, notes, each)
    return notes


def _redirected(catalog: CatalogReader, notes: Notes, master: DomainNote) -> Notes:
    """The notes with joins by the columns of a domain leading to its noted master, not to another
    key of the master's source; only a key can be led to."""
    from dovetail.joins.domains import KeyDomains  # few notes need it, and it loads much

    made = (master.table, master.column)
    if not catalog[master.table].column(master.column).profile.unique:
        return notes
    sure = [e for e in stored_edges(catalog) if e.score > JOINABLE and not notes.forbids(e)]
    domains = KeyDomains(catalog, sure).of(master.table)
    members = {
        (column.table, column.name)
        for domain in domains
        if made in {(column.table, column.name) for column in domain.columns}
        for column in domain.columns
    }
    pins, bans = [], []
    joined = {_ends(edge) for edge in (*sure, *notes.pins)}
    for edge in sure:
        ends = _ends(edge)
        child = (edge.left, edge.columns[0][0])
        if len(edge.columns) > 1 or not ends <= members or made in ends:
            continue
        if edge.right.source != master.table.source or edge.left == master.table:
            continue
        new = frozenset((child, made))
        if new not in joined:
            sides = catalog[edge.left], catalog[master.table]
            pair = ((child[1], made[1]),)
            pin = _pin(catalog, *sides, pair)
            if not pin.match_rate:
                continue
            pins.append(pin)
            joined.add(new)
        bans.append(Ban(frozenset((edge.left, edge.right)), frozenset((ends,))))
    return replace(notes, pins=(*notes.pins, *pins), bans=(*notes.bans, *bans))


def _pin(
    catalog: CatalogReader, left: Table, right: Table, columns: tuple[tuple[str, str], ...]
) -> JoinEdge:
    """The join of two tables by columns, as a note states it."""
    from dovetail.joins.queried import in_normal_form, stated_edge  # loads much

    return in_normal_form(catalog, stated_edge(catalog, left, right, columns, {PINNED: 1.0}))


def _ends(edge: JoinEdge) -> frozenset[tuple[TableId, str]]:
    """The columns that an edge joins by, of both tables."""
    return frozenset(end for a, b in edge.columns for end in ((edge.left, a), (edge.right, b)))


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
        case Remark() | DomainNote():
            return frozenset((note.table,))
    raise TypeError(f"{note!r} is no note")


class _Reader:
    """Resolves entries against the tables of one catalog."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._catalog = catalog
        self._hints = _MOST_HINTS

    def read(self, entries: Iterable[Entry], problems: list[Problem]) -> Notes:
        by_kind: dict[str, list[object]] = {}
        doubts = []
        for entry in entries:
            try:
                kind, note = self.note(entry)
                by_kind.setdefault(kind, []).append(note)
                if isinstance(note, JoinEdge) and not note.match_rate:
                    doubts.append(Problem(entry.line, _NO_MATCH.format(note.pairs)))
            except (NotFoundError, ValueError) as error:
                problems.append(Problem(entry.line, str(error)))
        tuples = {kind: tuple(notes) for kind, notes in by_kind.items()}
        ordered = tuple(sorted(problems, key=lambda problem: problem.line))
        return Notes(problems=ordered, doubts=tuple(doubts), **tuples)  # type: ignore[arg-type]

    def note(self, entry: Entry) -> tuple[str, object]:
        """What an entry says, and which kind of note that is."""
        read: dict[str, Callable[[str, str], tuple[str, object]]] = {
            JOINS: self._join,
            TABLES: self._mark,
            TERMS: self._term,
            ABOUT: self._remark,
            QUESTIONS: self._question,
            DOMAINS: self._domain,
        }
        return read[entry.section](entry.key, entry.value)

    def _table(self, name: str) -> TableId:
        name = name.strip()
        if fitting := self._fitting(name):
            return fitting[0] if len(fitting) == 1 else find_table(fitting, _unquoted(name))
        if self._hints <= 0:
            raise TableNotFoundError(f"there is no table {name!r}")
        self._hints -= 1
        return self._catalog.names.find(name)

    def _fitting(self, name: str) -> list[TableId]:
        """The tables that a name fits, as it is or as SQL quotes it."""
        for written in dict.fromkeys((name, _unquoted(name))):
            if fitting := self._catalog.names.matches(written):
                return fitting
        return []

    def _tables(self, names: str) -> tuple[TableId, ...]:
        return tuple(self._table(name) for name in names.split(",") if name.strip())

    def _column(self, text: str) -> tuple[Table, str]:
        """The table and column that `table.column` stands for; the table's own name has dots."""
        text = text.strip()
        cuts = [at for at, char in enumerate(text) if char == "."][::-1]
        for at in cuts:
            table, column = text[:at].strip(), text[at + 1 :].strip()
            if not self._fitting(table):
                continue
            profile = self._catalog[self._table(table)]
            names = [one.name for one in profile.columns]
            by_name = {name.casefold(): name for name in names} | {name: name for name in names}
            for written in (column, column.casefold(), _unquoted(column)):
                if written in by_name:
                    return profile, by_name[written]
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
        return "pins", _pin(self._catalog, left, right, columns)

    def _whole(self, one: str, other: str) -> tuple[TableId, TableId] | None:
        """Two tables as a whole, where both sides name one."""
        if all(self._fitting(side.strip()) for side in (one, other)):
            return self._table(one), self._table(other)
        return None

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
        parts = [part for part in named.split(",") if part.strip()] if colon else []
        meant = [self._table_or_column(part.strip()) for part in parts]
        tables = tuple(dict.fromkeys(table for table, _ in meant))
        columns = tuple((table, column) for table, column in meant if column)
        return "definitions", Definition(key.strip(), text.strip(), tables, columns)

    def _remark(self, key: str, value: str) -> tuple[str, object]:
        return "remarks", Remark(*self._table_or_column(key), value)

    def _table_or_column(self, name: str) -> tuple[TableId, str]:
        """The table that a name stands for, and the column, where it names one of a table."""
        if self._fitting(name) or "." not in name:
            return self._table(name), ""
        table, column = self._column(name)
        return table.id, column

    def _question(self, key: str, value: str) -> tuple[str, object]:
        return "answered", Answered(key, self._tables(value))

    def _domain(self, key: str, value: str) -> tuple[str, object]:
        if value.casefold() == "none":
            table, column = self._column(key)
            return "domains", DomainNote(table.id, column)
        table, column = self._column(value)
        return "domains", DomainNote(table.id, column, key.strip())


def note(catalog: CatalogReader, section: str, key: str, value: str) -> tuple[Path, list[str]]:
    """Write an entry into the catalog's file of notes; an error says what is wrong with it.

    Returns the file, and what the data has against the entry.
    """
    file = file_of(catalog)
    notes = notes_of([Entry(0, section, key.strip(), value)], catalog)
    if notes.problems:
        raise UsageError(str(notes.problems[0]))
    for each in notes.domains:
        _require_joined(catalog, each)
    put_entry(file, section, key.strip(), value)
    return file, list(map(str, notes.doubts))


def _require_joined(catalog: CatalogReader, wanted: DomainNote) -> None:
    """Refuse a column that no join makes part of a domain, and to name one where joins are of
    another kind."""
    from dovetail.joins.domains import makes_domain  # few notes need it, and it loads much

    column = (wanted.table, wanted.column)
    every = (*read_notes(catalog).pins, *stored_edges(catalog))
    joins = [edge for edge in every if edge.score > JOINABLE and column in _ends(edge)]
    if not joins:
        raise UsageError(
            f"{wanted.table}.{wanted.column} is in no key domain, for no join is known of it; pin "
            "one with dovetail note pin first"
        )
    if wanted.name and not any(map(makes_domain, joins)):
        raise UsageError(
            f"{wanted.table}.{wanted.column} is in no key domain: it joins on a condition, with "
            f"other columns, by its name alone or by days, as in {joins[0].pairs}; pin a join by "
            "this column with dovetail note pin first"
        )


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


def _unquoted(name: str) -> str:
    """A name without the quotes that SQL puts around its parts.

    >>> _unquoted('sales."order 2024"'), _unquoted("orders")
    ('sales.order 2024', 'orders')
    """
    return _QUOTED.sub(lambda part: part[1].replace('""', '"'), name)
