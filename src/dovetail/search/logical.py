"""Search over logical tables: of every family one member stands in the ranking, for all of them.

What a question says of any member counts for that one: words of columns, values in cells, and the
joins of copies. Words that only the names of other members have (`bak`) say nothing of the logical
table, and neither do the dates and numbers in its own: the times that a question names are held
against all members once the set is chosen. How rare a word or value is, is counted in logical
tables, so that a year of daily tables does not make its words common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Flags, Ints, firsts
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.families.family import Families, Role
from dovetail.joins.graph import JoinGraph
from dovetail.names.words import plain
from dovetail.search.lexical import Lexical
from dovetail.search.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class LogicalTables:
    """For the number of every table, that of the table that represents it in the ranking.

    `copies` flags the tables that are copies of it. Their joins are its joins; those of a slice are
    its own, since a year of tables joins by chance with whatever holds a few of the same values.
    """

    representative: Ints
    copies: Flags

    @classmethod
    def of(
        cls, families: Families, ids: Sequence[TableId], allowed: Flags | None = None
    ) -> LogicalTables | None:
        """The logical tables of a catalog, among those allowed; None where each table is its own.

        Where the canonical member of a family is not allowed, the first that is represents it.
        """
        if not families:
            return None
        number_of = {table: number for number, table in enumerate(ids)}
        representative = np.arange(len(ids))
        copies = np.zeros(len(ids), dtype=np.bool_)
        for family in families:
            members = [one for one in family.members if one.role is not Role.TWIN]
            numbers = [number_of[one.id] for one in members]
            kept = [allowed is None or bool(allowed[number]) for number in numbers]
            if sum(kept) > 1:
                first = numbers[kept.index(True)]
                representative[numbers] = np.where(kept, first, numbers)
                copies[numbers] = [one.role is Role.COPY for one in members]
                copies[first] = False
        if (representative == np.arange(len(ids))).all():
            return None
        return cls(representative, copies & (representative != np.arange(len(ids))))

    @property
    def alone(self) -> Flags:
        """Which tables stand for themselves."""
        flags: Flags = self.representative == np.arange(len(self.representative))
        return flags

    def lexical(self, words: Lexical) -> Lexical:
        """The postings of logical tables."""
        representative = self.representative[words.table]
        own = representative == words.table
        word = np.repeat(np.arange(len(words.starts) - 1), np.diff(words.starts))
        number = np.fromiter(map(str.isdigit, words.words), np.bool_, len(words.words))[word]
        slot = number & words.named & np.isin(representative, self.representative[~self.alone])
        kept = (own & ~slot) | ~words.named
        # A word of the name goes before the same word of a column, and that before comments.
        rank = np.where(words.named, 0, 1 + words.told)
        order = np.lexsort((rank[kept], representative[kept], word[kept]))
        word, table = word[kept][order], representative[kept][order]
        named, told = words.named[kept][order], words.told[kept][order]
        first = firsts(word * len(self.representative) + table)
        return replace(
            words,
            starts=np.searchsorted(word[first], np.arange(len(words.starts))),
            table=table[first].astype(np.int32),
            named=named[first],
            told=told[first],
            documents=int(self.alone.sum()),
        )

    def neighbours(self, joined: Neighbours) -> Neighbours:
        """The joins of logical tables: the best of those of the table and its copies."""
        itself = np.arange(len(joined))  # every table is its own neighbour
        counts = self.alone | self.copies
        one, other = np.repeat(itself, np.diff(joined.starts)), joined.other.astype(np.int64)
        within = counts[one] & counts[other]
        one, other = self.representative[one], self.representative[other]
        apart = within & (one != other)
        return Neighbours.of(
            np.concatenate([one[apart], itself]),
            np.concatenate([other[apart], itself]),
            np.concatenate([joined.score[apart], np.ones(len(joined), dtype=np.float32)]),
            len(joined),
        )


class LogicalJoinGraph(JoinGraph):
    """A join graph whose edges lead to the tables that stand for families.

    `stands` names the table that stands for each copy. An edge of a copy is told of that table if
    it has the columns and it is not forbidden there; the surest of several between the same columns
    counts. Edges are looked up when they are asked for.
    """

    def __init__(
        self,
        catalog: CatalogReader,
        graph: JoinGraph,
        stands: Mapping[TableId, TableId],
        forbids: Callable[[JoinEdge], bool],
    ) -> None:
        super().__init__(catalog.ids, ())
        self.edges = graph.edges
        self._catalog, self._graph, self._stands = catalog, graph, stands
        self._forbids = forbids
        self._members: dict[TableId, list[TableId]] = {}
        for member, table in stands.items():
            self._members.setdefault(table, []).append(member)
        self._edges_of: dict[TableId, list[JoinEdge]] = {}

    def _edges_at(self, table: TableId) -> Iterator[JoinEdge]:
        if table not in self._edges_of:
            self._edges_of[table] = sorted(self._moved(table), key=lambda edge: -edge.score)
        return iter(self._edges_of[table])

    def _moved(self, table: TableId) -> list[JoinEdge]:
        """The edges of a table and of all members that it stands for."""
        best: dict[object, JoinEdge] = {}
        for member in (table, *self._members.get(table, ())):
            for edge in self._graph.joins(member, least=0.0):
                moved = self._told_of_it(edge)
                if moved is None:
                    continue
                key = (moved.left, moved.right, moved.columns)
                if key not in best or moved.score > best[key].score:
                    best[key] = moved
        return list(best.values())

    def _told_of_it(self, edge: JoinEdge) -> JoinEdge | None:
        """The edge between the tables that stand; None within a family, or without the columns."""
        left = self._stands.get(edge.left, edge.left)
        right = self._stands.get(edge.right, edge.right)
        if (left, right) == (edge.left, edge.right):
            return edge
        if left == right:
            return None
        pairs = [(self._named(left, a), self._named(right, b)) for a, b in edge.columns]
        if not all(a and b for a, b in pairs):
            return None
        called = self._catalog.query_names
        names = called[left], called[right]
        moved = replace(edge, left=left, right=right, columns=tuple(pairs), names=names)
        return None if self._forbids(moved) else moved

    def _named(self, table: TableId, column: str) -> str:
        """What a table calls a column of another member; nothing where it has none such."""
        wanted = plain(column)
        names = (own.name for own in self._catalog[table].columns)
        return next((name for name in names if plain(name) == wanted), "")
