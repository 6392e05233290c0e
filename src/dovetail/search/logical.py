"""Search over logical tables: of every family one member stands in the ranking, for all of them.

What a question says of any member counts for that one: words of columns, values in cells, and the
joins of copies. Words that only the names of other members have (`bak`) say nothing of the logical
table, and neither do the dates and numbers in its own: the times that a question names are held
against all members once the set is chosen. How rare a word or value is, is counted in logical
tables, so that a year of daily tables does not make its words common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Flags, Ints
from dovetail.domain import TableId
from dovetail.families.family import Families, Role
from dovetail.search.lexical import Lexical
from dovetail.search.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class LogicalTables:
    """For the number of every table that of the one that stands for it.

    `copies` flags the tables that are copies of it. Their joins are its joins; those of a slice are
    its own, since a year of tables joins by chance with whatever holds a few of the same values.
    """

    stands: Ints
    copies: Flags

    @classmethod
    def of(
        cls, families: Families, ids: Sequence[TableId], allowed: Flags | None = None
    ) -> LogicalTables | None:
        """The logical tables of a catalog, among those allowed; None where each table is its own.

        Where the canonical member of a family is not allowed, the first member that is stands.
        """
        if not families:
            return None
        place = {table: number for number, table in enumerate(ids)}
        stands = np.arange(len(ids))
        copies = np.zeros(len(ids), dtype=np.bool_)
        for family in families:
            members = [one for one in family.members if one.role is not Role.TWIN]
            places = [place[one.id] for one in members]
            kept = [allowed is None or bool(allowed[place]) for place in places]
            if sum(kept) > 1:
                first = places[kept.index(True)]
                stands[places] = np.where(kept, first, places)
                copies[places] = [one.role is Role.COPY for one in members]
                copies[first] = False
        if (stands == np.arange(len(ids))).all():
            return None
        return cls(stands, copies & (stands != np.arange(len(ids))))

    @property
    def alone(self) -> Flags:
        """Which tables stand for themselves."""
        flags: Flags = self.stands == np.arange(len(self.stands))
        return flags

    def lexical(self, words: Lexical) -> Lexical:
        """The postings of logical tables."""
        stands = self.stands[words.table]
        own = stands == words.table
        word = np.repeat(np.arange(len(words.starts) - 1), np.diff(words.starts))
        number = np.fromiter(map(str.isdigit, words.words), np.bool_, len(words.words))[word]
        slot = number & words.named & np.isin(stands, self.stands[~self.alone])
        kept = (own & ~slot) | ~words.named
        # A word of the name goes before the same word of a column, and that before comments.
        place = np.where(words.named, 0, 1 + words.told)
        order = np.lexsort((place[kept], stands[kept], word[kept]))
        word, table = word[kept][order], stands[kept][order]
        named, told = words.named[kept][order], words.told[kept][order]
        first = np.ones(len(word), dtype=np.bool_)
        first[1:] = (word[1:] != word[:-1]) | (table[1:] != table[:-1])
        return replace(
            words,
            starts=np.searchsorted(word[first], np.arange(len(words.starts))),
            table=table[first].astype(np.int32),
            named=named[first],
            told=told[first],
            documents=int(self.alone.sum()),
            stored=None,
        )

    def neighbours(self, joined: Neighbours) -> Neighbours:
        """The joins of logical tables: the best of those of the table and its copies."""
        count = len(joined)
        inner = np.arange(count)  # every table is its own neighbour
        counts = self.alone | self.copies
        one, other = np.repeat(inner, np.diff(joined.starts)), joined.other.astype(np.int64)
        told = counts[one] & counts[other]
        one, other = self.stands[one], self.stands[other]
        apart = told & (one != other)
        one = np.concatenate([one[apart], inner])
        other = np.concatenate([other[apart], inner])
        score = np.concatenate([joined.score[apart], np.ones(count, dtype=np.float32)])
        order = np.lexsort((-score, other, one))
        one, other, score = one[order], other[order], score[order]
        first = np.ones(len(one), dtype=np.bool_)
        first[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
        return Neighbours(
            starts=np.searchsorted(one[first], np.arange(count + 1)),
            other=other[first].astype(np.int32),
            score=score[first],
        )
