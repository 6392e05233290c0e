"""How likely two candidates belong together: to one database, one application, one subject.

A catalog pools tables of many databases and often does not say which is whose. Joins say it, and
so do naming conventions: the tables of one database spell names alike, and no two have one name.
Where names say a schema or a folder (`sales.orders`), that is evidence too; so is the source
(`crm.sqlite`), if it may be used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.arrays import Float32s
from dovetail.domain import TableId
from dovetail.method_cache import method_cache
from dovetail.names.table_name import qualifier
from dovetail.search.searcher import Searcher

# What a unit of each piece of evidence adds to the logit that two tables belong together. Fitted by
# logistic regression on candidates of MMQA's questions, without the databases of Spider's dev set:
# `programs/fit_graph.py` prints them.
WEIGHTS = {"path": 5.56, "spelling": -1.90, "same_name": -5.83}
BIAS = -2.93
# Tables that belong together share a source and schema so often.
_SAME_PLACE = 0.9
_LEAST_CHANCE, _MOST_CHANCE = 0.02, 0.9
_TABLES_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Pairs:
    """What there is between each two candidates, a matrix each.

    `joins` is the score of the join or name link, `paths` the best product of scores along a path
    of up to four joins, `apart` how differently names are spelled, `same_name` whether two tables
    are called alike; `together` is the probability that they belong together. Each table is joined
    to itself at 1.
    """

    joins: Float32s
    paths: Float32s
    apart: Float32s
    same_name: Float32s
    together: Float32s

    def among(self, places: Sequence[int]) -> Pairs:
        """The same for some of the candidates."""
        kept = np.ix_(list(places), list(places))
        matrices = (self.joins, self.paths, self.apart, self.same_name, self.together)
        return Pairs(*(matrix[kept] for matrix in matrices))


class Belonging:
    """Says how likely the tables of a catalog belong together."""

    def __init__(self, searcher: Searcher, *, use_sources: bool = False) -> None:
        self._searcher = searcher
        self._use_sources = use_sources
        self._spelled = method_cache(self._spelling, _TABLES_KEPT)

    def pairs(self, tables: Sequence[TableId]) -> Pairs:
        """What there is between each two of some tables."""
        joins, paths = self._searcher.joined(tables), self._searcher.joined_by_path(tables)
        spelled = np.array([self._spelled(table) for table in tables], dtype=np.float32)
        names = np.array([table.name.casefold() for table in tables])
        same_name = (names[:, None] == names[None]).astype(np.float32)
        np.fill_diagonal(same_name, 0)
        apart = np.abs(spelled[:, None] - spelled[None]).sum(axis=2)
        together = belonging(paths, apart, same_name, self._by_place(tables))
        return Pairs(joins, paths, apart, same_name, together)

    def _spelling(self, table: TableId) -> tuple[float, ...]:
        columns = self._searcher.catalog[table].columns
        return spelling([table.name, *(column.name for column in columns)])

    def _place(self, table: TableId) -> str:
        """Where a table is kept, as far as that may be used: at least what its name says."""
        return place_of(table) if self._use_sources else qualifier(table.name)

    def _by_place(self, tables: Sequence[TableId]) -> Float32s:
        """What sources and schemas add to the logit of each two tables."""
        places = np.array([self._place(table) for table in tables])
        same, other = self._place_evidence
        found: Float32s = np.where(places[:, None] == places[None], same, other).astype(np.float32)
        return found

    @cached_property
    def _place_evidence(self) -> tuple[float, float]:
        """The log-likelihood ratios of the same place, and of two.

        Two tables that have nothing to do with each other share a place by chance, the more often
        the fewer places there are; where all tables are in one, it says nothing.
        """
        counted = Counter(map(self._place, self._searcher.catalog.ids)).values()
        chance = sum((count / sum(counted)) ** 2 for count in counted)
        chance = min(max(chance, _LEAST_CHANCE), _MOST_CHANCE)
        return math.log(_SAME_PLACE / chance), math.log((1 - _SAME_PLACE) / (1 - chance))


def belonging(
    paths: Float32s, apart: Float32s, same_name: Float32s, more: Float32s | float = 0
) -> Float32s:
    """The probability that each two tables belong together; `more` adds to its logit."""
    logit = BIAS + more + WEIGHTS["path"] * paths
    logit = logit + WEIGHTS["spelling"] * apart + WEIGHTS["same_name"] * same_name
    together: Float32s = (1 / (1 + np.exp(-logit))).astype(np.float32)
    np.fill_diagonal(together, 1)
    return together


def place_of(table: TableId) -> str:
    """Where a table is kept: its source, and the schema or folder that its name begins with.

    >>> place_of(TableId("erp", "sales.orders")), place_of(TableId("crm.sqlite", "orders"))
    ('erp::sales', 'crm.sqlite::')
    """
    return f"{table.source}::{qualifier(table.name)}"


def spelling(names: Sequence[str]) -> tuple[float, ...]:
    """The shares of names in lower case, in capitals, with `_`, with blanks, and Capitalised.

    >>> spelling(["order_no", "Total"])
    (0.5, 0.0, 0.5, 0.0, 0.5)
    """
    traits = (
        [name == name.lower() for name in names],
        [name == name.upper() != name.lower() for name in names],
        ["_" in name for name in names],
        [" " in name for name in names],
        [name[:1].isupper() and name != name.upper() for name in names],
    )
    return tuple(sum(found) / len(names) for found in traits)
