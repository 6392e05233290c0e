"""How tables are used in past queries: what each log counted, and all of them together.

The counts of every log are kept apart, so that a log that grew takes the place of its older self
and one can be forgotten. Of a query nothing is kept but one sample for each join, without its
literals.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import Part
from dovetail.domain import TableId
from dovetail.ports import Json
from dovetail.text import count

_FILE = "queries.json"

Columns = tuple[tuple[str, str], ...]
Join = tuple[TableId, TableId, Columns]


@dataclass(frozen=True, slots=True)
class JoinUse:
    """In how many queries two tables are joined by some columns, the lesser table first.

    `example` is one of them without its literals, `last` when the latest ran, if the log says so.
    """

    left: TableId
    right: TableId
    columns: Columns
    queries: int
    example: str = ""
    last: str = ""


@dataclass(frozen=True, slots=True)
class TableUse:
    """In how many queries a table stands, and when the latest ran, if a log says so."""

    queries: int
    last: str = ""


@dataclass(frozen=True, slots=True)
class QueryExample:
    """A question with the SQL that answered it, and the tables which that reads."""

    question: str
    sql: str
    tables: tuple[TableId, ...]


@dataclass(frozen=True, slots=True)
class LearntLog:
    """What one log counted. `content` is a digest of it, `known` one of the tables it was held
    against; `queries` were read in full, `others` are no queries or about other tables, and
    `broken` could not be parsed."""

    name: str
    content: str
    known: str
    queries: int
    others: int
    broken: int
    tables: Mapping[TableId, TableUse] = field(default_factory=dict)
    joins: tuple[JoinUse, ...] = ()
    together: Mapping[tuple[TableId, TableId], int] = field(default_factory=dict)
    examples: tuple[QueryExample, ...] = ()

    def to_dict(self) -> Json:
        """The log as JSON has it; a table is its source and its name."""
        return {
            "name": self.name,
            "content": self.content,
            "known": self.known,
            "counts": [self.queries, self.others, self.broken],
            "tables": [[_pair(table), use.queries, use.last] for table, use in self.tables.items()],
            "joins": [
                [_pair(j.left), _pair(j.right), list(j.columns), j.queries, j.example, j.last]
                for j in self.joins
            ],
            "together": [[_pair(a), _pair(b), count] for (a, b), count in self.together.items()],
            "examples": [[e.question, e.sql, [*map(_pair, e.tables)]] for e in self.examples],
        }

    @classmethod
    def from_dict(cls, data: Json) -> LearntLog:
        """The log that `to_dict` wrote."""
        read, others, broken = map(int, data["counts"])
        joins = (
            JoinUse(_id(a), _id(b), tuple((str(x), str(y)) for x, y in columns), *rest)
            for a, b, columns, *rest in data["joins"]
        )
        examples = (
            QueryExample(str(question), str(sql), tuple(map(_id, tables)))
            for question, sql, tables in data["examples"]
        )
        return cls(
            str(data["name"]),
            str(data["content"]),
            str(data["known"]),
            read,
            others,
            broken,
            {_id(table): TableUse(int(count), str(last)) for table, count, last in data["tables"]},
            tuple(joins),
            {(_id(a), _id(b)): int(count) for a, b, count in data["together"]},
            tuple(examples),
        )


def _pair(table: TableId) -> list[str]:
    return [table.source, table.name]


def _id(pair: Sequence[str]) -> TableId:
    source, name = pair
    return TableId(str(source), str(name))


@dataclass(frozen=True)
class Usage:
    """All that was learnt from past queries."""

    logs: tuple[LearntLog, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.logs)

    @classmethod
    def read(cls, part: Part) -> Usage:
        """What a generation has learnt."""
        try:
            return cls(tuple(map(LearntLog.from_dict, part.json(_FILE))))
        except DAMAGE as error:
            raise part.damaged(_FILE, repr(error)) from None

    def write(self, folder: Path) -> None:
        """Write what was learnt into the folder of a part."""
        logs = [log.to_dict() for log in self.logs]
        (folder / _FILE).write_text(json.dumps(logs, ensure_ascii=False), "utf-8")

    @cached_property
    def digest(self) -> str:
        """A digest of all that was learnt; empty if nothing was."""
        logs = json.dumps([log.to_dict() for log in self.logs])
        return hashlib.sha256(logs.encode()).hexdigest()[:16] if self.logs else ""

    @cached_property
    def tables(self) -> dict[TableId, TableUse]:
        """How often each table stands in a query, the tables in order."""
        counts: Counter[TableId] = Counter()
        last: dict[TableId, str] = {}
        for table, use in (item for log in self.logs for item in log.tables.items()):
            counts[table] += use.queries
            last[table] = max(last.get(table, ""), use.last)
        return {table: TableUse(counts[table], last[table]) for table in sorted(counts)}

    @cached_property
    def joins(self) -> dict[Join, JoinUse]:
        """The joins that queries made, with how often they did."""
        joins: dict[Join, JoinUse] = {}
        for use in (join for log in self.logs for join in log.joins):
            key = (use.left, use.right, use.columns)
            earlier = joins.get(key)
            if earlier is not None:
                queries, last = earlier.queries + use.queries, max(earlier.last, use.last)
                use = JoinUse(*key, queries, earlier.example or use.example, last)
            joins[key] = use
        return joins

    @cached_property
    def together(self) -> Counter[tuple[TableId, TableId]]:
        """In how many queries two tables stand together, the lesser first."""
        counts: Counter[tuple[TableId, TableId]] = Counter()
        for log in self.logs:
            counts.update(log.together)
        return counts

    @property
    def examples(self) -> tuple[QueryExample, ...]:
        """The questions with their SQL."""
        return tuple(example for log in self.logs for example in log.examples)

    @cached_property
    def joins_digest(self) -> str:
        """A digest of the joins and how often they were made; empty if there are none."""
        if not self.joins:
            return ""
        counted = sorted((*key, use.queries) for key, use in self.joins.items())
        return hashlib.sha256(repr(counted).encode()).hexdigest()[:12]

    def share(self, table: TableId) -> float:
        """How much a table is used, from 0 for never to 1 for the most used one, by digits."""
        use = self.tables.get(table)
        return use.queries.bit_length() / self._peak.bit_length() if use and self._peak else 0.0

    @cached_property
    def _peak(self) -> int:
        return max((use.queries for use in self.tables.values()), default=0)

    def lines(self, table: TableId) -> list[str]:
        """What there is to know of the use of a table, in a line each."""
        use = self.tables.get(table)
        if use is None:
            others = len(self.tables)
            return [f"never queried, while {others:,} other tables are"] if others else []
        when = f", last {use.last}" if use.last else ""
        lines = [f"in {count(use.queries, 'query')}{when}"]
        together = {
            pair[pair[0] == table]: count for pair, count in self.together.items() if table in pair
        }
        frequent = sorted(together.items(), key=lambda item: (-item[1], item[0]))[:5]
        if frequent:
            listed = ", ".join(f"{other.name} ({count:,})" for other, count in frequent)
            lines.append(f"queried together with {listed}")
        return lines


NO_USAGE = Usage()


def digest_of_tables(tables: Iterable[TableId]) -> str:
    """A digest of which tables there are: a log that was held against others may say more now."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(f"{table}\0".encode(errors="replace"))
    return digest.hexdigest()[:16]
