"""What a question gets: candidates, the set of tables chosen among them, and alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail import notebook
from dovetail.components import Components
from dovetail.domain.joins import JoinEdge, drawn_names, join_sql
from dovetail.domain.schema import ddl
from dovetail.domain.sql import query_names, table_sql
from dovetail.domain.tables import HasId, Table, TableId, short_sources
from dovetail.text import confidence_word, count, cut

# Characters of the question in a `repr`, tables and members of a family that are named in a line,
# and tables that are nearest where none fits.
_WIDTH, _NAMED, _NEAREST = 60, 6, 3
# The fact of a stage that says: a selector looked, and no table answers the question. Beside it may
# stand which tables come nearest, and the words of the question that no table covers. Under
# EXPLANATION the stage of `graph` says what decided, where that was asked for.
NOTHING_FITS, NEAREST, UNCOVERED = "nothing_fits", "nearest", "uncovered"
EXPLANATION = "explanation"
# What to look out for in the set, in sentences.
CAUTIONS = "cautions"


@dataclass(frozen=True, slots=True, repr=False)
class Candidate(HasId):
    """A table that search offers for a question.

    `relevance` is in [0, 1]: the probability that the question needs the table. `signals` are the
    parts of its score, by name: words, values, vectors, names, neighbours. `reasons` are those that
    `search(…, explain=True)` gives.

    >>> Candidate(TableId("shop.sqlite", "orders"), 0.75, {"dense": 0.5}).name
    'orders'
    """

    id: TableId
    relevance: float
    signals: Mapping[str, float]
    reasons: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Candidate {self.id}  ({self.relevance:.2f})>"

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON has it."""
        return {
            **self.id.to_dict(),
            "relevance": round(self.relevance, 4),
            "signals": {name: round(value, 4) for name, value in self.signals.items()},
            "reasons": list(self.reasons),
        }


class Ranked(list[Candidate]):
    """Candidates as a list, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        short = short_sources(one.source for one in self)
        told = (
            (one.name, short[one.source], f"{one.relevance:.2f}", "; ".join(one.reasons))
            for one in self
        )
        listed = notebook.table(["table", "source", "relevance", "why"], told)
        return notebook.block(count(len(self), "table"), listed)


@dataclass(frozen=True, slots=True, repr=False)
class Chosen(HasId):
    """A table in a set: at which stage it came in (search, select, connect, ...), and why.

    `also` names the other members of its family: copies, and slices that the question does not ask
    for; `dovetail families` says what each is. `part_of` is the family's name where the table is
    one of several slices that are wanted together.

    >>> chosen = Chosen(TableId("shop.sqlite", "orders"), 0.75, "select", "its names say orders")
    >>> chosen.name, chosen.stage, chosen.reason
    ('orders', 'select', 'its names say orders')
    """

    id: TableId
    relevance: float
    stage: str
    reason: str
    also: tuple[TableId, ...] = ()
    part_of: str = ""

    def __repr__(self) -> str:
        return f"<Chosen {self.id}  ({self.relevance:.2f}) {self.stage}: {self.reason}>"

    @property
    def connects(self) -> bool:
        """Whether it is there for the other tables alone, whatever the question says of it."""
        return self.stage == "connect"

    @property
    def why(self) -> str:
        """Why the table is in the set, and which other members of its family there are."""
        names = [table.name for table in self.also[:_NAMED]]
        names += [f"{len(self.also) - _NAMED} more"] if len(self.also) > _NAMED else []
        return f"{self.reason}; also: {', '.join(names)}" if names else self.reason

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON has it."""
        return {
            **self.id.to_dict(),
            "score": round(self.relevance, 6),
            "sureness": None if self.connects else confidence_word(self.relevance),
            "stage": self.stage,
            "reason": self.reason,
            "also": list(map(str, self.also)),
            "part_of": self.part_of,
        }


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another set of tables that a question could mean, and the F1 to expect of it (0 to 1).

    `probability` is that of this reading of the question, `reason` says in words what speaks for
    it.

    >>> other = Alternative((TableId("crm.sqlite", "orders"),), confidence=0.31)
    >>> [str(table) for table in other.tables]
    ['crm.sqlite::orders']
    """

    tables: tuple[TableId, ...]
    confidence: float
    probability: float = 0.0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The alternative as JSON has it."""
        return {
            "tables": list(map(str, self.tables)),
            "probability": self.probability,
            "sureness": confidence_word(self.confidence),
            "confidence": self.confidence,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, repr=False)
class TableSet:
    """The tables that a question needs, in order, and how they join.

    Iterating gives the tables, each with its stage of entry and the reason for it; `found[0]` is
    the first, `len` counts them, and `"orders" in found` says whether one of that name is there.
    Where no table of the catalog fits, the set is empty and false.

    `confidence` is the F1 to expect of the set, or how sure a language model is that chose it;
    `answerable` is the probability that the catalog can answer the question at all. Both are from 0
    to 1, None where they are not known. `alternatives` are other sets that the question could
    mean, the likeliest first: groups of tables that compete for it among the candidates. `trace`
    holds one JSON-ready entry per stage: what went in, what came out, what it cost. `details` are
    the profiles of the tables, `names` what queries call them, where a catalog was asked;
    `skeleton` is then a query that the question seems to ask for, made without a model, `reading`
    how it was read for that, in words, and `parts` the same part by part.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", into="shop")
    >>> found = catalog.ask("Which products are in which orders?")
    >>> [table.name for table in found]
    ['products', 'orders', 'order_items']
    >>> print(found.joins[0])
    shop.sqlite::order_items.product_id = shop.sqlite::products.product_id  (0.98)
    >>> found[0].name, found[0].reason
    ('products', 'its names say products')
    >>> len(found), "orders" in found, bool(found), found.connected, found.warnings
    (3, True, True, True, ())
    """

    question: str
    tables: tuple[Chosen, ...]
    joins: tuple[JoinEdge, ...]
    trace: tuple[Mapping[str, object], ...] = ()
    confidence: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    answerable: float | None = None
    details: tuple[Table, ...] = field(default=(), compare=False)
    names: Mapping[TableId, str] = field(default_factory=dict, compare=False)
    skeleton: str = field(default="", compare=False)
    reading: str = field(default="", compare=False)
    parts: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def ids(self) -> tuple[TableId, ...]:
        """The ids of the tables, in order."""
        return tuple(chosen.id for chosen in self.tables)

    @property
    def sureness(self) -> str | None:
        """The confidence in one word: sure, likely, unsure, guess."""
        return None if self.confidence is None else confidence_word(self.confidence)

    def called(self, table: TableId) -> str:
        """What a query calls a table of the set, as SQL takes it."""
        return table_sql((self.names or query_names(self.ids))[table])

    @property
    def components(self) -> tuple[tuple[TableId, ...], ...]:
        """The connected components of the tables under the joins, in the set's order.

        Slices of one logical table belong together: they are combined, not joined.
        """
        first: dict[str, TableId] = {}
        slices = (
            (first.setdefault(one.part_of, one.id), one.id) for one in self.tables if one.part_of
        )
        joined = ((edge.left, edge.right) for edge in self.joins)
        return tuple(map(tuple, Components(self.ids, (*slices, *joined)).groups()))

    @property
    def connected(self) -> bool:
        """Whether the joins connect all tables of the set; an empty set is connected."""
        return len(self.components) <= 1

    @property
    def nothing_fits(self) -> bool:
        """Whether the set is empty because a selector says that no table answers the question."""
        return any(entry.get(NOTHING_FITS) is True for entry in self.trace)

    @property
    def nearest(self) -> tuple[str, ...]:
        """The ids of the tables that come nearest, where the trace has them.

        They are those that a selector names, else the first candidates of the search.
        """
        for entry in self.trace:
            if isinstance(named := entry.get(NEAREST), list):
                return tuple(map(str, named))
        for entry in self.trace:
            listed = entry.get("candidates")
            if entry.get("stage") == "search" and isinstance(listed, list):
                return tuple(str(candidate["table"]) for candidate in listed[:_NEAREST])
        return ()

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The words of the question that no table covers, where a selector names them."""
        for entry in self.trace:
            if isinstance(words := entry.get(UNCOVERED), list):
                return tuple(map(str, words))
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what to look out for before using the tables; empty if nothing."""
        lacking = ", ".join(self.uncovered)
        if not self:
            why = f" (no table covers: {lacking})" if lacking else ""
            nearest = ", ".join(self.nearest)
            more = f"; nearest: {nearest}" if nearest else ""
            return (f"nothing here seems to answer this{why}{more}", *self._cautions)
        uncovered = (f"nothing here covers: {lacking}",) if lacking else ()
        if self.connected:
            return (*uncovered, *self._cautions)
        parts = " | ".join(", ".join(map(str, part)) for part in self.components)
        faint = [chosen.name for chosen in self.tables if "faint evidence" in chosen.reason]
        sure = "no joins are known"
        if faint:  # a connector rests on evidence that is too weak for a join
            sure = f"no sure joins, only the faint ones of {', '.join(faint)}, are known"
        return (*uncovered, f"{sure} between these parts of the set: {parts}", *self._cautions)

    @property
    def _cautions(self) -> tuple[str, ...]:
        """What the stages of a selector say to look out for."""
        listed = (entry.get(CAUTIONS) for entry in self.trace)
        return tuple(str(one) for each in listed if isinstance(each, list) for one in each)

    @property
    def explanation(self) -> Mapping[str, Any] | None:
        """What decided over each table, and why the next one stayed out, as JSON has it.

        None unless it was asked for (`ask(…, explain=True)`) and `graph` chose.
        """
        last = self.trace[-1] if self.trace else {}
        explained = last.get(EXPLANATION)
        return explained if isinstance(explained, Mapping) else None

    def ddl(self) -> str:
        """A compact schema of the tables: example values in comments, and how they join."""
        return ddl(self.details, self.joins, names=self.names)

    def join_sql(self) -> str:
        """A `FROM` clause over the tables along their joins, transforms of keys included.

        It is DuckDB's, which `sql` and `answer` speak.
        """
        return join_sql(self.ids, self.joins, names=self.names)

    def to_dict(self) -> dict[str, Any]:
        """The set as JSON has it: what `dovetail ask --json` prints."""
        nearest = {NOTHING_FITS: True, NEAREST: list(self.nearest)} if self.nothing_fits else {}
        return {
            "question": self.question,
            "tables": [{**one.to_dict(), "sql": self.called(one.id)} for one in self.tables],
            "joins": [edge.to_dict() for edge in self.joins],
            "connected": self.connected,
            **nearest,
            "confidence": self.confidence,
            "sureness": self.sureness,
            "answerable": self.answerable,
            "uncovered": list(self.uncovered),
            "alternatives": [other.to_dict() for other in self.alternatives],
            "skeleton": self.skeleton,
            "reading": self.reading,
            "warnings": list(self.warnings),
            "trace": [dict(entry) for entry in self.trace],
        }

    def __iter__(self) -> Iterator[Chosen]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __getitem__(self, number: int) -> Chosen:
        return self.tables[number]

    def __contains__(self, table: object) -> bool:
        if isinstance(table, HasId | TableId):
            return table.id in self.ids
        return isinstance(table, str) and any(one.is_called(table) for one in self.ids)

    def __repr__(self) -> str:
        names = [chosen.name for chosen in self.tables[:_NAMED]]
        names += [f"{len(self) - _NAMED} more"] if len(self) > _NAMED else []
        sure = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        listed = f"{', '.join(names)}; {count(len(self.joins), 'join')}{sure}"
        return f"<TableSet {cut(self.question, _WIDTH)!r}: {listed if self else 'no table fits'}>"

    def _repr_html_(self) -> str:
        """The tables with reasons, the joins, and a drawing of both, for a notebook."""
        if not self:
            return notebook.block(self.question, *map(notebook.note, self.warnings))
        number = {table: at for at, table in enumerate(self.ids)}
        edges = [edge.drawn(number) for edge in self.joins]
        short = short_sources(table.source for table in self.ids)
        connectors = [at for at, chosen in enumerate(self) if chosen.connects]
        parts = [
            notebook.join_graph(drawn_names(self.ids), edges, connectors),
            notebook.table(
                ["table", "source", "score", "stage", "why"],
                ((t.name, short[t.source], _sure(t), t.stage, t.why) for t in self),
            ),
        ]
        if self.joins:
            rows = (
                (
                    notebook.Named(edge.condition(self.names or None), edge.pairs),
                    notebook.Sure(edge.score),
                    edge.cardinality,
                )
                for edge in self.joins
            )
            parts.append(notebook.table(["join", "score", "cardinality"], rows))
        if self.confidence is not None:
            parts.append(notebook.line("confidence: the F1 to expect", self.confidence))
        parts += [notebook.note(warning) for warning in self.warnings]
        if self.alternatives:
            more = (table for other in self.alternatives for table in other.tables)
            every = list(dict.fromkeys((*self.ids, *more)))
            called = dict(zip(every, drawn_names(every), strict=True))
            others = (
                (
                    notebook.Named(
                        ", ".join(called[table] for table in other.tables),
                        ", ".join(map(str, other.tables)),
                    ),
                    notebook.Sure(other.confidence),
                    other.reason,
                )
                for other in self.alternatives
            )
            parts.append(notebook.table(["or did you mean", "confidence", "why"], others))
        return notebook.block(self.question, *parts)


def _sure(chosen: Chosen) -> str | notebook.Sure:
    """How surely a table is needed; of a connector, which the others need, the number alone."""
    relevance = chosen.relevance
    return f"{relevance:.2f}" if chosen.connects else notebook.Sure(relevance)
