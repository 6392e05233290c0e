"""Naming conventions: how the names of a table's columns, and its own, are spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np

from dovetail.arrays import Encoded, Floats, Ints, spans
from dovetail.names.words import Words, core, identifies, singular

# Letters as one small and one capital letter, digits as one digit; and an id at the end of a name.
_SHAPE = str.maketrans(ascii_lowercase + ascii_uppercase + digits, 26 * "a" + 26 * "A" + 10 * "0")
_LAST_ID = re.compile(r"(?<![A-Za-z])([Ii][Dd])[^A-Za-z]*\Z")


def naming_conventions(
    columns: Encoded[str], table: Ints, first_keys: Ints, tables: Sequence[str]
) -> Floats:
    """A row of unit length per table; the product of two rows says how alike their conventions are.

    Counted are the case, separators and form of 'id' of all names, whether keys are named after the
    table, and plurals; as in tf-idf, what few tables do weighs more.
    `columns` are the names of all columns, `table` the index of each column's table in `tables`,
    `first_keys` the columns that stand first in their table and are unique.
    """
    traits = [naming_convention(name) for name in columns.dictionary]
    keys = [_key_traits(name) for name in columns.dictionary]
    own = [_table_traits(name) for name in tables]
    every = sorted({trait for listed in (*traits, *keys, *own) for trait in listed})
    number = {trait: at for at, trait in enumerate(every)}
    times = np.zeros((len(tables), len(number)), dtype=np.int64)

    def count(rows: Ints, codes: Ints, lists: Sequence[Sequence[str]]) -> None:
        """Count, in each row, the traits that its code stands for."""
        lengths = np.array([len(listed) for listed in lists], dtype=np.int64)
        ends = np.cumsum(lengths)
        flat = np.array([number[trait] for listed in lists for trait in listed], dtype=np.int64)
        met = flat[spans((ends - lengths)[codes], ends[codes])]
        cells = np.repeat(rows, lengths[codes]) * times.shape[1] + met
        times.ravel()[:] += np.bincount(cells, minlength=times.size)

    count(table, columns.codes, traits)
    count(table[first_keys], columns.codes[first_keys], keys)
    count(np.arange(len(tables)), np.arange(len(tables)), own)
    logs = np.array([0.0, *(1 + np.log(n) for n in range(1, int(times.max(initial=0)) + 1))])
    # Row by row in memory: sums of the same numbers in another order may differ in the last bit.
    matrix = np.ascontiguousarray(logs[times[:, times.any(axis=0)]])
    matrix *= np.log(1 + len(matrix) / np.maximum((matrix > 0).sum(axis=0), 1))
    unit: Floats = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    return unit


def _key_traits(name: str) -> list[str]:
    """How a key is called: by an id-word alone, or with a name; nothing if by no id-word."""
    if not identifies(name):
        return []
    return ["key named" if core(name) else "key bare"]


def _table_traits(name: str) -> list[str]:
    """The traits of a table's name; whether it is in the plural counts double."""
    number = "table plural" if is_plural(name) else "table singular"
    return [*(f"table {trait}" for trait in naming_convention(name)), number, number]


@lru_cache(maxsize=1 << 17)
def is_plural(name: str) -> bool:
    """Whether the last word of a name is in the plural."""
    parts = re.findall("[A-Za-z]+", name)
    return bool(parts) and singular(parts[-1].lower()) != parts[-1].lower()


@lru_cache(maxsize=1 << 17)
def naming_convention(name: str) -> Words:
    """The convention a name follows: case of first and later words, separator, form of 'id'.

    >>> naming_convention("cust_id")
    ('first lower', 'later lower', 'between _', 'id as id')
    """
    traits = _convention_of_shape(name.translate(_SHAPE))
    last = _LAST_ID.search(name)
    return (*traits, f"id as {last[1]}") if last else traits


@lru_cache(maxsize=1 << 17)
def _convention_of_shape(name: str) -> Words:
    """The convention of names that have small and capital letters at the same offsets."""
    parts = re.findall(r"[A-Za-z]+", name)
    if not parts:
        return ()
    cases = [_case(part) for part in parts]
    traits = [f"first {cases[0]}", *(f"later {case}" for case in cases[1:])]
    camel = re.search(r"[a-z][A-Z]", name) is not None
    if len(parts) > 1 or camel:
        separator = "_" if "_" in name.strip("_") else " " if " " in name else ""
        traits.append(f"between {separator}{'camel' if camel else ''}")
    return tuple(traits)


def _case(part: str) -> str:
    if part.isupper() and len(part) > 1:
        return "upper"
    return "title" if part[0].isupper() else "lower"
