"""Index segments whose parts workers make, a range of hashes each; this process joins them on disk.

What the parts come to is in files from the first to the last, mapped: memory need not hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.joins.distributed.distributed_columns import PARTS, ValuePasses
from dovetail.joins.value_index.index_part import IndexPart
from dovetail.joins.value_index.index_segment import IndexSegment
from dovetail.joins.value_index.make_segment import assembled, gathered
from dovetail.joins.value_index.segment_store import columns_of, make_of_tables

# Below so many values, a segment is made here: an update of a few tables passes over no others.
# What a column costs besides its values, in values.
_FEW, _EACH = 1 << 20, 64


@dataclass(frozen=True, slots=True)
class DistributedSegments:
    """Makes the segments of a catalog with the workers of some passes."""

    passes: ValuePasses

    def __call__(
        self, catalog: CatalogReader, keys: Sequence[str], places: Sequence[int]
    ) -> IndexSegment:
        """A segment of the tables at some places of a catalog."""
        columns, table = columns_of(catalog, places)
        if int((self.passes.values.distinct[columns] + _EACH).sum()) < _FEW:
            return make_of_tables(catalog, keys, places)
        sample = self.passes.sampled(columns)
        parts = [
            IndexPart(**{name: part[name] for name in PARTS})
            for part in self.passes.index_parts(columns, table, sample[0])
        ]  # mapped, and let go of as they are written
        held = gathered(parts, len(columns), self.passes.folder())
        chosen = [keys[place] for place in places]
        facts, distinct = self.passes.facts, self.passes.values.distinct[columns]
        return assembled(chosen, table, distinct, sample, held, facts.smallest[columns])
