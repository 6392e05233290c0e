"""The result of `ask`: tables, why each is there, how they join, and what to look out for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dovetail import notebook
from dovetail.catalog.lookup import matches
from dovetail.domain import Alternative, Chosen, JoinEdge, Table, TableId, TableSet
from dovetail.domain.joins import transform_words
from dovetail.domain.sql import ddl, join_sql, quoted
from dovetail.ports import Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.trace import EXPLANATION
from dovetail.text import cut, fenced

# Characters of the question in a `repr`, and tables named there.
_WIDTH, _NAMED = 60, 6
# Stages that add tables in order to connect a set.
_CONNECTING = ("connect", "adjust")


@dataclass(frozen=True, slots=True, repr=False)
class AskResult:
    """The tables that a question needs, and how they join.

    Iterating gives the tables in order, each with its stage of entry and the reason for it;
    `found[0]` is the first, `len` counts them, and `"orders" in found` says whether one of that
    name is there. Where no table of the catalog fits, the result is empty and false. `table_set`
    is the same result by ids alone, to be kept, compared or sent; `details` are the profiles of
    its tables.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", into="shop")
    >>> found = catalog.ask("Which products are in which orders?")
    >>> [table.name for table in found]
    ['products', 'order_items', 'orders']
    >>> print(found.joins[0])
    shop.sqlite::order_items.product_id = shop.sqlite::products.product_id  (0.98)
    >>> found[0].name, found[0].reason
    ('products', 'its names say products')
    >>> len(found), "orders" in found, bool(found), found.connected, found.warnings
    (3, True, True, True, ())
    """

    table_set: TableSet
    details: tuple[Table, ...]

    @property
    def question(self) -> str:
        """The question that was asked."""
        return self.table_set.question

    @property
    def tables(self) -> tuple[Chosen, ...]:
        """The tables in order, each with its stage of entry and why it is here."""
        return self.table_set.tables

    @property
    def ids(self) -> tuple[TableId, ...]:
        """The ids of the tables, in order."""
        return self.table_set.ids

    @property
    def joins(self) -> tuple[JoinEdge, ...]:
        """How the tables join: by which columns, how surely, and on what evidence."""
        return self.table_set.joins

    @property
    def connected(self) -> bool:
        """Whether the joins connect all of the tables."""
        return self.table_set.connected

    @property
    def confidence(self) -> float | None:
        """The F1 to expect of this set, from 0 to 1, where the selector `graph` chose it.

        None where it is not known: a language model chose, or all candidates were taken.
        """
        return self.table_set.confidence

    @property
    def answerable(self) -> float | None:
        """The probability that the catalog can answer the question, where `graph` was asked.

        Below the setting `refuse_below` the result is empty.
        """
        return self.table_set.answerable

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what to look out for before using the tables; empty if nothing."""
        if not self:
            lacking = ", ".join(self.table_set.uncovered)
            why = f" (no table covers: {lacking})" if lacking else ""
            nearest = ", ".join(self.table_set.nearest)
            more = f"; nearest: {nearest}" if nearest else ""
            return (f"nothing here seems to answer this{why}{more}",)
        if self.connected:
            return ()
        parts = " | ".join(", ".join(map(str, part)) for part in self.table_set.components)
        faint = [chosen.name for chosen in self.tables if "faint evidence" in chosen.reason]
        sure = "no joins are known"
        if faint:  # a connector stands on evidence that is too weak for a join
            sure = f"no sure joins, only the faint ones of {', '.join(faint)}, are known"
        return (f"{sure} between these parts of the set: {parts}",)

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other sets that the question could mean, the likeliest first.

        They are the groups of tables that compete for the question among the candidates of the
        selector `graph`, each with its probability, the F1 to expect of it and what speaks for it.
        Empty where one group stands out, and where another selector chose.
        """
        return self.table_set.alternatives

    @property
    def trace(self) -> tuple[Mapping[str, object], ...]:
        """One JSON-ready entry per stage: what went in, what came out, what it cost."""
        return self.table_set.trace

    @property
    def explanation(self) -> Mapping[str, object] | None:
        """What decided over each table, and why the next one stayed out, as JSON has it.

        None unless it was asked for (`ask(…, explain=True)`) and `graph` chose.
        """
        last = self.trace[-1] if self.trace else {}
        found = last.get(EXPLANATION)
        return found if isinstance(found, Mapping) else None

    def ddl(self) -> str:
        """A compact schema of the tables: example values in comments, and how they join."""
        return ddl(self.details, self.joins)

    def join_sql(self, dialect: str = "duckdb") -> str:
        """A `FROM` clause over the tables along their joins, transforms of keys included.

        `dialect` is `duckdb`, which `sql` and `answer` speak, or `sqlite`.
        """
        return join_sql(self.ids, self.joins, dialect=dialect)

    def prompt(self) -> str:
        """The schema and the question, for a language model that writes SQL."""
        filled = read_prompt("set").fill(schema=fenced(self.ddl().strip()), question=self.question)
        return filled[0].content

    def to_dict(self) -> Json:
        """The result as JSON has it: what `dovetail ask --json` prints."""
        found = self.table_set.to_dict()
        trace = found.pop("trace")
        return found | {"warnings": list(self.warnings), "trace": trace}

    def __iter__(self) -> Iterator[Chosen]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __getitem__(self, place: int) -> Chosen:
        return self.tables[place]

    def __contains__(self, table: object) -> bool:
        if isinstance(table, Chosen):
            return table in self.tables
        name = table.id if isinstance(table, Table) else table
        return isinstance(name, str | TableId) and bool(matches(self.ids, name))

    def __repr__(self) -> str:
        names = [chosen.name for chosen in self.tables[:_NAMED]]
        names += [f"{len(self) - _NAMED} more"] if len(self) > _NAMED else []
        sure = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        found = f"{', '.join(names)}; {notebook.count(len(self.joins), 'join')}{sure}"
        return f"<AskResult {cut(self.question, _WIDTH)!r}: {found if self else 'no table fits'}>"

    def _repr_html_(self) -> str:
        """The tables with reasons, the joins, and a drawing of both, for a notebook."""
        if not self:
            return notebook.block(self.question, *map(notebook.note, self.warnings))
        place = {table: number for number, table in enumerate(self.ids)}
        edges = [(place[edge.left], place[edge.right], _condition(edge)) for edge in self.joins]
        connectors = [place for place, t in enumerate(self) if t.stage in _CONNECTING]
        parts = [
            notebook.join_graph([table.name for table in self.ids], edges, connectors),
            notebook.table(
                ["table", "source", "score", "stage", "why"],
                ((t.name, t.id.source, f"{t.relevance:.2f}", t.stage, why(t)) for t in self),
            ),
        ]
        if self.joins:
            rows = (
                (_condition(edge), f"{edge.score:.2f}", edge.cardinality) for edge in self.joins
            )
            parts.append(notebook.table(["join", "score", "cardinality"], rows))
        if self.confidence is not None:
            parts.append(notebook.line(f"confidence {self.confidence:.2f}: the F1 to expect"))
        parts += [notebook.note(warning) for warning in self.warnings]
        if self.alternatives:
            others = (
                (", ".join(map(str, other.tables)), f"{other.probability:.2f}", other.reason)
                for other in self.alternatives
            )
            parts.append(notebook.table(["or did you mean", "probability", "why"], others))
        return notebook.block(self.question, *parts)


def why(chosen: Chosen) -> str:
    """Why a table is in the set, and which other members of its family there are."""
    names = [table.name for table in chosen.also[:_NAMED]]
    names += [f"{len(chosen.also) - _NAMED} more"] if len(chosen.also) > _NAMED else []
    return f"{chosen.reason}; also: {', '.join(names)}" if names else chosen.reason


def _condition(edge: JoinEdge) -> str:
    left, right = quoted(edge.left.name), quoted(edge.right.name)
    pairs = " AND ".join(f"{left}.{quoted(a)} = {right}.{quoted(b)}" for a, b in edge.columns)
    return f"{pairs} {transform_words(edge.transform)}".rstrip()
