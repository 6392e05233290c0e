"""Joins through a transform: keys that match once both sides are folded, stripped or cut alike.

The catalog keeps normalized values of columns that a transform changes (`domain/sql.py`);
a column that it would not change does as it is. Every rung is searched and weighed as the columns
as they are; as a transform widens what matches, nearly all rows must be found, and an edge costs a
nat. Each pair of columns counts at the lowest rung that finds its rows and cannot be chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints
from dovetail.catalog.records import StoredForm
from dovetail.domain.sql import CASE, CUT, DAY, PREFIX, PUNCTUATED, ZEROS, rung
from dovetail.joins.candidates import Candidates, concatenate, find_candidates, own_source_only
from dovetail.joins.columns import ColumnArrays, ValueSets
from dovetail.joins.features import (
    Features,
    PairFeatures,
    UpperBounds,
    local_logits,
    value_information,
)

# Normal forms: transforms that are one function, or agree where a column needs less of it.
FORMS = ((CASE,), (PUNCTUATED,), (ZEROS, PREFIX), (DAY,), (CUT,))
# What a column reads as beside those of a form which it has not, if not as it is: one without a
# prefix beside one whose prefix is cut, letters without punctuation beside those that have some.
_BESIDE = {CUT: (CASE, PUNCTUATED, ZEROS), PUNCTUATED: (CASE,)}
# The share of the child's rows that must be found, and distinct values on both sides, at least.
LEAST_ROWS, _FEWEST = 0.9, 2
# Distinct values that say something by themselves.
_MANY = 10
# Words of a master, and tables of its own system that refer to it, at least.
_MANY_WORDS, _SEVERAL_TABLES = 20, 2
# How much larger than the most of its numbers the largest is, for it to be far out.
_FAR_OUT = 1.5
# The share of all numbers between its ends that a key of sparse numbers has, at most.
_SPARSE = 0.25
# A rung of the ladder must find more rows than this share of them that a lower one finds.
ENOUGH = 0.98


def all_candidates(
    arrays: ColumnArrays, normalized: Sequence[tuple[int, StoredForm]]
) -> list[WeighedCandidates]:
    """The candidates of each rung of the ladder, the lowest first."""
    conventions = arrays.conventions()
    as_is = NormalizedColumns(arrays, np.arange(len(arrays)), [""] * len(arrays))
    rungs = [as_is] + [
        NormalizedColumns.of(arrays, normalized, form)
        for form in FORMS
        if any(rung(each.transform) in form for _, each in normalized)
    ]
    first = search(rungs[0], conventions)
    known = masters(arrays, first)
    if known.any():
        own = PairFeatures.of_columns(arrays, value_information(arrays), conventions, masters=known)
        first = replace(first, features=own.of(first.candidates))
    return [first, *(search(each, conventions, known[each.column]) for each in rungs[1:])]


def masters(arrays: ColumnArrays, found: WeighedCandidates) -> Flags:
    """Keys of many words that several tables of their own system surely refer to.

    Such words are codes, wherever they stand: the logins of users, which each system writes down.
    What many tables hold says little by itself, and of a key that many refer to nothing else is to
    be expected.
    """
    child, parent, said = found.candidates.child, found.candidates.parent, found.features
    sure = (local_logits(said) > 0) & (said.source > 0) & (said.day == 0)
    sure &= arrays.words[parent] & arrays.key[parent] & (arrays.distinct[parent] >= _MANY_WORDS)
    sure &= arrays.table[child] != arrays.table[parent]
    tables = np.unique(np.stack([parent[sure], arrays.table[child[sure]]]), axis=1)[0]
    flags: Flags = np.bincount(tables, minlength=len(arrays)) >= _SEVERAL_TABLES
    return flags


@dataclass(frozen=True, slots=True)
class NormalizedColumns:
    """Columns in one normal form: those that have values of their own there, and those that read so
    as they are."""

    arrays: ColumnArrays
    column: Ints  # the number of each column among all
    transform: Sequence[str]  # the one that changes it, empty where it is as it is

    @property
    def changed(self) -> Flags:
        """Which columns have normalized values of their own."""
        return np.array([bool(name) for name in self.transform], dtype=np.bool_)

    @classmethod
    def of(
        cls,
        arrays: ColumnArrays,
        normalized: Sequence[tuple[int, StoredForm]],
        form: tuple[str, ...],
    ) -> NormalizedColumns:
        """The columns in a form; `normalized` are value sets with their numbers."""

        def in_forms(names: tuple[str, ...]) -> dict[int, tuple[int, StoredForm]]:
            return {
                stored.column: (number, stored)
                for number, stored in reversed(normalized)
                if rung(stored.transform) in names
            }

        own = in_forms(form)
        beside = in_forms(_BESIDE[form[0]]) if form[0] in _BESIDE else {}
        sets = arrays.values.numbers.copy()
        for forms in (beside, own):
            sets[list(forms)] = [number for number, _ in forms.values()]
        as_is = arrays.distinct >= _FEWEST
        if ZEROS in form:  # text that reads as a number is one
            as_is &= arrays.number | np.isfinite(arrays.low)
        elif CUT not in form:  # long numbers are written in groups: 35-674242-105650-4
            as_is &= ~arrays.number | (arrays.codes & (PUNCTUATED in form))
        as_is[list(own)] = False
        column = np.sort(np.append(np.flatnonzero(as_is), np.array(list(own), dtype=np.int64)))
        transforms = [own[number][1] if number in own else None for number in column.tolist()]
        values = ValueSets(arrays.values.passes, sets[column])
        numbers = np.full(len(column), ZEROS in form)
        if CUT in form:
            cut = [each.maximum > 0 if each else None for each in transforms]
            numbers = np.array(
                [
                    bool(arrays.number[at]) if number is None else number
                    for at, number in zip(column.tolist(), cut, strict=True)
                ]
            )
        under = _in_form(arrays, values, column, transforms, numbers)
        return cls(under, column, [each.transform if each else "" for each in transforms])


def _in_form(
    arrays: ColumnArrays,
    values: ValueSets,
    column: Ints,
    normalized: Sequence[StoredForm | None],
    numbers: Flags,
) -> ColumnArrays:
    """Some columns by themselves, with their values in a normal form."""
    distinct, filled = values.sizes, arrays.filled[column]
    high = arrays.high[column].copy()
    for at, each in enumerate(normalized):
        # Text ends as letters do (L9 behind L130), and a few numbers far out do not say how far the
        # others go.
        if numbers[at] and each is not None:
            short = bool(arrays.prefix[column[at]]) and high[at] < each.maximum
            if short or not high[at] <= _FAR_OUT * each.maximum:
                high[at] = each.maximum
    # Text that reads as numbers does not say how far these go: it counts as dense.
    high = np.where(numbers & np.isnan(high), distinct, high)
    low = np.nan_to_num(arrays.low[column])
    thresholds = arrays.thresholds
    key = (distinct > 0) & (distinct >= thresholds.unique * filled)
    held = replace(
        arrays.take(column),
        number=numbers,
        distinct=distinct,
        unique=distinct == filled,
        key=key,
        low=low,
        high=high,
        values=values,
        thresholds=replace(thresholds, rows=max(thresholds.rows, LEAST_ROWS)),
    )
    sparse = numbers & (distinct >= _MANY) & (distinct < _SPARSE * (high - low + 1))
    codes = np.where(numbers, sparse, arrays.codes[column])
    return replace(held, codes=codes)


@dataclass(frozen=True, slots=True)
class WeighedCandidates:
    """Candidates by the numbers of all columns, with their features, and the transform of each."""

    candidates: Candidates
    features: Features
    transform: Sequence[str]

    def take(self, chosen: Ints) -> WeighedCandidates:
        """Some of them."""
        transform = [self.transform[at] for at in chosen.tolist()]
        return WeighedCandidates(
            self.candidates.take(chosen), self.features.take(chosen), transform
        )


def together(parts: Sequence[WeighedCandidates]) -> WeighedCandidates:
    """Weighed candidates one after the other."""
    return WeighedCandidates(
        concatenate([part.candidates for part in parts]),
        Features(
            *(
                np.concatenate([getattr(part.features, field.name) for part in parts])
                for field in fields(Features)
            )
        ),
        [name for part in parts for name in part.transform],
    )


def search(
    columns: NormalizedColumns, conventions: Floats, masters: Flags | None = None
) -> WeighedCandidates:
    """The candidates among columns in one normal form, with their features."""
    arrays, changed = columns.arrays, columns.changed
    information = value_information(arrays)
    features = PairFeatures.of_columns(arrays, information, conventions, masters=masters)
    as_is = not changed.any()
    bounds = UpperBounds(features, running=bool(arrays.thresholds.sources))
    if as_is:
        found = find_candidates(
            arrays, bounds, source_only=own_source_only(arrays, information.common)
        )
    else:
        children, keys = arrays.children, arrays.key
        cut = any(rung(name) == CUT for name in columns.transform)
        # Of two prefixes each means something: without both, other things would look the same.
        parents = keys & ~changed if cut else keys
        chosen = [(children & changed, parents), (children & ~changed, keys & changed)]
        found = find_candidates(arrays, bounds, chosen)
    found = found.sorted()
    said = features.of(found)
    # Numbers behind different letters are of different things, unless names say otherwise.
    same = ~_other_letters(columns, found) & ~features.own_letters(found.child, found.parent)
    said = replace(
        said,
        value=said.value * same,
        prefix=said.prefix * same,
        code=said.code * same,
        fit=said.fit * same,
    )
    ends = found.child.tolist(), found.parent.tolist()
    return WeighedCandidates(
        replace(found, child=columns.column[found.child], parent=columns.column[found.parent]),
        said,
        [_name(columns, child, parent) for child, parent in zip(*ends, strict=True)],
    )


def _other_letters(columns: NormalizedColumns, candidates: Candidates) -> Flags:
    """Whether two columns have letters before their numbers, and other ones."""
    arrays, (child, parent) = columns.arrays, (candidates.child, candidates.parent)
    letters = Encoded.of(arrays.prefix).codes
    some = arrays.number & np.array([bool(each) for each in arrays.prefix], dtype=np.bool_)
    differ: Flags = (letters[child] != letters[parent]) & some[child] & some[parent]
    return differ


def _name(columns: NormalizedColumns, child: int, parent: int) -> str:
    """The transform that both sides take: the one that does more, if they need different ones."""
    names = {columns.transform[child], columns.transform[parent]} - {""}
    return PREFIX if PREFIX in names else next(iter(names), "")
