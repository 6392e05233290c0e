"""The nouns of notes: what each entry of the file says, by the tables of a catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dovetail.domain import JoinEdge, TableId
from dovetail.notes.file import Problem

CANONICAL, COPY, IGNORE = "canonical", "copy", "ignore"
PINNED = "pinned"

Pair = tuple[tuple[TableId, str], tuple[TableId, str]]


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
        said = (self.pins, self.bans, self.marks, self.definitions, self.remarks, self.answered)
        return any(said)

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
