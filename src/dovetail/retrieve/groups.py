"""Groups of candidates that belong together, and which of them a question means.

A catalog pools tables of many databases and often does not say which is whose. Joins say it, and
so do naming conventions: the tables of one database spell names alike, and no two have one name.
Where names have a schema or a folder (`sales.orders`), that is evidence too; so is the source
(`crm.sqlite`), if it may be used.

Each group is a reading of the question by itself. The likeliest is the one that is meant; another
is dropped from the set and reported as an alternative, unless it covers words of the question that
the first does not, and the first words that it does not: then the question needs both, though
nothing joins them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.arrays import Float32s
from dovetail.domain import TableId
from dovetail.names.table_name import qualifier
from dovetail.retrieve.match import WHOLE_WORD, QueryMatch
from dovetail.search.method_cache import method_cache
from dovetail.search.searcher import Searcher

# What a unit of each piece of evidence adds to the logit that two tables belong together. Fitted by
# logistic regression on candidates of MMQA's questions, without the databases of Spider's dev set.
WEIGHTS = {"path": 5.56, "spelling": -1.90, "same_name": -5.83}
BIAS = -2.93
# Tables that belong together share a source and schema so often.
_SAME_SCHEMA = 0.9
_LEAST_CHANCE, _MOST_CHANCE = 0.02, 0.9
_TABLES_KEPT = 4096
# Below this probability of belonging together two candidates are of different groups. It is small,
# since a table without rows joins nothing: tables that only seem apart must not be torn apart.
_TOGETHER = 0.1
# The share of a question that two groups must each cover beyond the other for both to be meant.
_BOTH_ADD = 0.02
# How much the likelier of two groups is preferred: fitted so that the probabilities hold.
_SHARPNESS = 1.5


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


class Belonging:
    """How likely the tables of a catalog belong together: to one database, one application.

    `use_sources`: that two tables are of one source counts as well.
    """

    def __init__(self, searcher: Searcher, *, use_sources: bool = False) -> None:
        self._searcher = searcher
        self._schema = schema_of if use_sources else _qualifier_of
        self._spelled = method_cache(self._spelling, _TABLES_KEPT)

    def pairs(self, tables: Sequence[TableId]) -> Pairs:
        """What there is between each two of the tables."""
        joins, paths = self._searcher.joined(tables), self._searcher.joined_by_path(tables)
        spelled = np.array([self._spelled(table) for table in tables], dtype=np.float32)
        names = np.array([table.name.casefold() for table in tables])
        same_name = (names[:, None] == names[None]).astype(np.float32)
        np.fill_diagonal(same_name, 0)
        apart = np.abs(spelled[:, None] - spelled[None]).sum(axis=2)
        together = belonging(paths, apart, same_name, self._by_schema(tables))
        return Pairs(joins, paths, apart, same_name, together)

    def _spelling(self, table: TableId) -> tuple[float, ...]:
        columns = self._searcher.catalog[table].columns
        return spelling([table.name, *(column.name for column in columns)])

    def _by_schema(self, tables: Sequence[TableId]) -> Float32s:
        """What sources and schemas add to the logit of each two tables."""
        schemas = np.array([self._schema(table) for table in tables])
        same, different = self._schema_ratios
        equal = schemas[:, None] == schemas[None]
        ratios: Float32s = np.where(equal, same, different).astype(np.float32)
        return ratios

    @cached_property
    def _schema_ratios(self) -> tuple[float, float]:
        """The log-likelihood ratios of one schema, and of two.

        Two tables that have nothing to do with each other share a schema by chance, the more often
        the fewer schemas there are; where all tables are in one, it says nothing.
        """
        counts = Counter(map(self._schema, self._searcher.catalog.ids)).values()
        chance = sum((count / sum(counts)) ** 2 for count in counts)
        chance = min(max(chance, _LEAST_CHANCE), _MOST_CHANCE)
        return math.log(_SAME_SCHEMA / chance), math.log((1 - _SAME_SCHEMA) / (1 - chance))


def belonging(
    paths: Float32s, apart: Float32s, same_name: Float32s, more: Float32s | float = 0
) -> Float32s:
    """The probability that each two tables belong together; `more` adds to its logit."""
    logit = BIAS + more + WEIGHTS["path"] * paths
    logit = logit + WEIGHTS["spelling"] * apart + WEIGHTS["same_name"] * same_name
    together: Float32s = (1 / (1 + np.exp(-logit))).astype(np.float32)
    np.fill_diagonal(together, 1)
    return together


def schema_of(table: TableId) -> str:
    """A table's source, and the schema or folder that its name begins with.

    >>> schema_of(TableId("erp", "sales.orders")), schema_of(TableId("crm.sqlite", "orders"))
    ('erp::sales', 'crm.sqlite::')
    """
    return f"{table.source}::{_qualifier_of(table)}"


def _qualifier_of(table: TableId) -> str:
    """The folder that a table's name begins with, else the schema."""
    return qualifier(table.name)


def system_of(table: TableId) -> str:
    """The system that keeps a table: its source, and in a folder the folder or file it lies in.

    Schemas of a database are one system.

    >>> system_of(TableId("erp", "sales.orders")), system_of(TableId("pile", "exports/orders"))
    ('erp::', 'pile::exports')
    """
    return f"{table.source}::{table.name.rpartition('/')[0]}"


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
    return tuple(sum(trait) / len(names) for trait in traits)


@dataclass(frozen=True, slots=True)
class Group:
    """Candidates that belong together, by their indices; `probability` that they are meant.

    `meant`: it is the likeliest group, or needed in addition to it.
    """

    indices: tuple[int, ...]
    probability: float
    meant: bool


def groups(probabilities: Float32s, pairs: Pairs, match: QueryMatch) -> list[Group]:
    """The groups of the candidates, the likeliest first; ties as the candidates come."""
    ranked: list[int] = np.argsort(-probabilities, kind="stable").tolist()
    parts = split(ranked, pairs.together)
    mass = np.array([float(probabilities[part].sum()) for part in parts])
    shares = mass**_SHARPNESS
    shares = shares / max(float(shares.sum()), 1e-9)
    order = sorted(range(len(parts)), key=lambda at: (-shares[at], parts[at][0]))
    covers = [_covered(match, parts[at]) for at in order]
    return [
        Group(
            tuple(parts[at]),
            round(float(shares[at]), 4),
            rank == 0 or _needs_both(covers[0], covers[rank]),
        )
        for rank, at in enumerate(order)
    ]


def split(order: Iterable[int], together: Float32s) -> list[list[int]]:
    """Candidates by group: each group is what belongs to the first candidate left in an order."""
    left = list(order)
    parts = []
    while left:
        first = left[0]
        parts.append([at for at in left if together[first, at] > _TOGETHER])
        left = [at for at in left if together[first, at] <= _TOGETHER]
    return parts


def _covered(match: QueryMatch, indices: Sequence[int]) -> Float32s:
    """The weight of each word that some candidates cover, as shares of the question.

    A word in a column's name is covered in full: that another group has a table of that name adds
    nothing. A value counts for the words it is made of, so none that a name says counts twice.
    """
    shares = match.word_weights / max(1e-6, float(match.word_weights.sum()))
    words = np.minimum(1, match.covers[:, list(indices)] / WHOLE_WORD)
    covered: Float32s = shares * words.max(axis=1, initial=0)
    return covered


def _needs_both(first: Float32s, second: Float32s) -> bool:
    """Whether each of two covers a part of the question that the other does not."""
    adds = np.maximum(0, second - first).sum()
    lacks = np.maximum(0, first - second).sum()
    return bool(min(adds, lacks) >= _BOTH_ADD)
