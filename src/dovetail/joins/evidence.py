"""Join evidence: which columns of a catalog's tables join, how sure that is, and why.

    candidates → scores → composite keys, self-references, junction tables → transforms

An update starts from the snapshot of the last generation: pairs of columns that did not change are
not counted again.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.arrays import Ints
from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import Part
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.usage import Usage
from dovetail.domain import JoinEdge
from dovetail.errors import DamagedError
from dovetail.joins.candidates import Candidates, CountedPairs
from dovetail.joins.columns import (
    DEFAULT_THRESHOLDS,
    CatalogPasses,
    CatalogValues,
    ColumnArrays,
    Thresholds,
    catalog_passes,
)
from dovetail.joins.declared import with_declared
from dovetail.joins.edges import in_order, write_edges
from dovetail.joins.parted import by_part, with_parts
from dovetail.joins.queried import with_queries
from dovetail.joins.rows import RowQuestions
from dovetail.joins.scoring import edges_of, foreign_key
from dovetail.joins.structure import structural_edges

_TABLES, _ARRAYS = "tables.json", "counted.npz"
_PAIRS = ("child", "parent", "shared", "rows")
_COUNTED = (*_PAIRS, "rarity", "searched")

# A table's contents, by source, name, digest and number of columns.
TableVersion = tuple[str, str, str, int]


def join_evidence(
    catalog: CatalogReader,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    before: Snapshot | None = None,
    passes: CatalogPasses | None = None,
) -> tuple[Snapshot, bool]:
    """The join evidence of a catalog, from that of `before` where there is any.

    With it comes whether every source could be read for it. `passes` run over the values of the
    catalog; without any, this process does.
    """
    with ExitStack() as stack:
        passes = passes or stack.enter_context(catalog_passes(catalog))
        arrays = ColumnArrays.of(catalog, thresholds, passes)
        every = with_parts(arrays, passes.values)
        now = table_versions(catalog, passes.values)
        known = before.counted_for(now) if before else {}
        scored, counted = foreign_key(every, passes.values.normalized, known)
        scored = by_part(every, scored, passes.values)
        rows = RowQuestions(passes)
        edges = structural_edges(arrays, edges_of(arrays, scored), rows)
        return Snapshot(now, in_order(edges), counted), rows.complete


def work_out(catalog: CatalogReader, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> list[JoinEdge]:
    """The edges of the join evidence of a catalog, made from nothing but its values."""
    return list(join_evidence(catalog, thresholds)[0].edges)


def with_what_people_wrote(
    catalog: CatalogReader, evidence: Sequence[JoinEdge], usage: Usage
) -> Sequence[JoinEdge]:
    """Evidence with what declared keys and past queries say of it."""
    return with_queries(catalog, with_declared(catalog, evidence), usage)


def table_versions(catalog: CatalogReader, values: CatalogValues) -> list[TableVersion]:
    """The tables of a catalog, as a snapshot knows them; after them those that are kept in parts,
    whose contents are those of all parts."""
    columns = (
        catalog.records.tables[name].to_pylist() for name in ("source", "name", "digest", "columns")
    )
    versions: list[TableVersion] = list(zip(*columns, strict=True))
    keys = Counter(number for number, _ in values.parted)
    for number, width in sorted(keys.items()):
        whole = values.parts[number]
        digest = " ".join(versions[table][2] for table in whole.tables)
        versions.append((whole.id.source, whole.id.name, digest, width))
        for table in whole.tables:  # a part that becomes a table of its own is another table
            source, name, contents, columns_of = versions[table]
            versions[table] = (source, name, f"{contents} {whole.id.name}", columns_of)
    return versions


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Edges, the tables that they were worked out from, and the pairs that were counted for them.

    The latter are by the number of a normal form, those of columns as they are by `AS_THEY_ARE`.
    """

    tables: Sequence[TableVersion]
    edges: Sequence[JoinEdge]
    counted: Mapping[int, CountedPairs]

    def write(self, folder: Path) -> None:
        """Write the snapshot into the folder of a part."""
        write_edges(self.edges, folder)
        (folder / _TABLES).write_text(json.dumps(self.tables), "utf-8")
        np.savez(folder / _ARRAYS, **_arrays(self.counted))

    @classmethod
    def read(cls, part: Part) -> Snapshot | None:
        """The snapshot in a part without its edges, which take longer than all the rest; None where
        it is damaged."""
        try:
            tables = [tuple(table) for table in part.json(_TABLES)]
            with np.load(io.BytesIO(part.content(_ARRAYS)), allow_pickle=False) as stored:
                return cls(tables, (), _counted(stored))
        except (*DAMAGE, DamagedError):
            return None

    def counted_for(self, now: Sequence[TableVersion]) -> dict[int, CountedPairs]:
        """The counted pairs of columns that are still there, by the column numbers of now."""
        number = _renumbered(self.tables, now)
        size = sum(table[3] for table in now)
        return {form: pairs.renumbered(number, size) for form, pairs in self.counted.items()}


def _renumbered(before: Sequence[TableVersion], now: Sequence[TableVersion]) -> Ints:
    """The number now of each column of before, -1 for one that is gone."""
    starts = np.cumsum([0, *(table[3] for table in now)])
    first = dict(zip(now, starts.tolist(), strict=False))
    widths = np.array([table[3] for table in before], dtype=np.int64)
    place = np.array([first.get(table, -1) for table in before], dtype=np.int64)
    within = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
    spread = np.repeat(place, widths)
    return np.where(spread >= 0, spread + within, -1)


def _arrays(counted: Mapping[int, CountedPairs]) -> dict[str, Any]:
    """Counted pairs as arrays, each named by its form and what it is."""
    arrays: dict[str, Any] = {}
    for form, pairs in counted.items():
        parts = [getattr(pairs.candidates, name) for name in _PAIRS]
        named = zip(_COUNTED, [*parts, pairs.rarity, pairs.searched], strict=True)
        arrays |= {f"{form}_{name}": array for name, array in named}
    return arrays


def _counted(arrays: Mapping[str, Any]) -> dict[int, CountedPairs]:
    """The same from stored arrays."""
    counted = {}
    for form in {int(name.partition("_")[0]) for name in arrays}:
        *pairs, rarity, searched = (arrays[f"{form}_{name}"] for name in _COUNTED)
        counted[form] = CountedPairs(Candidates(*pairs), rarity, searched)
    return counted
