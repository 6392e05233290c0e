"""What two tables of like columns share, in exact counts of their distinct values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Kind
from dovetail.families.pair_counts import PairCounts
from dovetail.families.tables import FamilyTable, plain
from dovetail.joins.column_arrays import CatalogPasses

# A column says something if it has so many distinct values in both tables; so many are compared.
_DISTINCT, _COMPARED = 12, 5
# Shares of the smaller table's values, on average over the columns: nearly all, and enough to tell.
_ALL, _SOME = 0.8, 0.2
# Whole numbers that fill at least this share of their range are counted through.
_DENSE = 0.5


class Verdict(StrEnum):
    """What the contents of two tables say of each other."""

    SAME = "same"  # nearly all values of the smaller one are in the larger one
    OVERLAP = "overlap"
    APART = "apart"  # hardly any value is shared, or their dates do not meet
    UNKNOWN = "unknown"  # too few rows to tell


@dataclass(frozen=True, slots=True)
class Compared:
    """The verdict, and what it rests on: a column and how many of its values are shared.

    `times` is a column of dates whose ranges do not meet. `proven` says that more than numbers
    counted through were compared: those of two strangers are equal too.
    """

    verdict: Verdict
    column: str = ""
    shared: int = 0
    total: int = 0
    times: str = ""
    proven: bool = False
    share: float = 0.0


class Contents:
    """Compares the tables of a catalog by the hashes of their values."""

    def __init__(self, catalog: CatalogReader, passes: CatalogPasses | None = None) -> None:
        columns = catalog.records.columns
        self._names: list[str] = columns["name"].to_pylist()
        self._kind: list[str] = columns["kind"].to_pylist()
        self._low: list[str] = columns["minimum"].to_pylist()
        self._high: list[str] = columns["maximum"].to_pylist()
        self._counts = PairCounts(catalog, passes)
        self._distinct = self._counts.distinct

    def count_noted(self) -> bool:
        """Have workers count what comparisons needed and lacked; whether there was anything."""
        return self._counts.count_noted()

    def compare(self, one: FamilyTable, other: FamilyTable) -> Compared:
        """Compare two tables by the columns that have the same name in both."""
        small, large = sorted((one, other), key=lambda table: (table.rows, table.id))
        parted = next(_parted(small, large), "")
        parted = self._written(small, parted) if parted else ""
        shares: list[tuple[bool, float, int, int, str]] = []
        for name in self._worth_comparing(small, large):
            total = self._distinct[_at(small, name)]
            shared = self._counts.shared(_at(small, name), _at(large, name))
            serial, written = self._counted_through(small, name), self._written(small, name)
            shares.append((serial, shared / total, shared, total, written))
        if not shares:
            return Compared(Verdict.APART if parted else Verdict.UNKNOWN, times=parted)
        proven = [share for share in shares if not share[0]]
        counted = proven or shares
        mean = sum(share for _, share, *_ in counted) / len(counted)
        verdict = _verdict(mean)
        key = max(counted, key=lambda share: (share[3], share[1]))
        apart = parted or self._other_keys(small, large, shares)
        if apart and verdict is not Verdict.SAME:
            verdict = Verdict.APART
        return Compared(verdict, key[4], key[2], key[3], parted, bool(proven), mean)

    def _other_keys(
        self, one: FamilyTable, other: FamilyTable, shares: list[tuple[bool, float, int, int, str]]
    ) -> bool:
        """Whether a column that is unique in both tables has no value in common.

        Then no row of one is in the other, however alike amounts and names are.
        """
        for _, _, shared, total, written in shares:
            name = plain(written)
            unique = total == one.rows and self._distinct[_at(other, name)] == other.rows
            if unique and not shared:
                return True
        return False

    def equal(self, one: FamilyTable, other: FamilyTable) -> Compared | None:
        """The comparison of two tables whose columns hold equal sets of values; else None."""
        told = self._worth_comparing(one, other)
        for name in told:
            if not self._counts.equal(_at(one, name), _at(other, name)):
                return None
        if not told or all(self._counted_through(one, name) for name in told):
            return None
        count, name = self._distinct[_at(one, told[0])], self._written(one, told[0])
        return Compared(Verdict.SAME, name, count, count, proven=True, share=1.0)

    def distinct(self, table: FamilyTable) -> tuple[int, ...]:
        """The number of distinct values of each column, by the columns' plain names."""
        return tuple(self._distinct[_at(table, name)] for name in sorted(table.columns))

    def _worth_comparing(self, one: FamilyTable, other: FamilyTable) -> list[str]:
        """The columns that are worth comparing, those of most distinct values first."""
        distinct = self._distinct
        sized = [
            (min(distinct[_at(one, name)], distinct[_at(other, name)]), name)
            for name in one.columns.keys() & other.columns.keys()
        ]
        enough = sorted((-size, name) for size, name in sized if size >= _DISTINCT)
        return [name for _, name in enough[:_COMPARED]]

    def _counted_through(self, table: FamilyTable, name: str) -> bool:
        at = _at(table, name)
        if self._kind[at] != Kind.INTEGER:
            return False
        low, high = float(self._low[at]), float(self._high[at])
        return self._distinct[at] >= _DENSE * (high - low + 1)

    def _written(self, table: FamilyTable, name: str) -> str:
        """A column's name as its table has it."""
        return self._names[_at(table, name)]


def _at(table: FamilyTable, name: str) -> int:
    """The number of a column among those of all tables."""
    return table.first + table.columns[name]


def _verdict(mean: float) -> Verdict:
    if mean >= _ALL:
        return Verdict.SAME
    return Verdict.OVERLAP if mean >= _SOME else Verdict.APART


def _parted(one: FamilyTable, other: FamilyTable) -> Iterator[str]:
    """The columns of dates whose ranges do not meet in the two tables."""
    for name in sorted(one.times.keys() & other.times.keys()):
        (low, high), (first, last) = one.times[name], other.times[name]
        if high < first or last < low:
            yield name
