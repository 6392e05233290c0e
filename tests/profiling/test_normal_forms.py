"""Keys as they look elsewhere, against the same told value by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from dovetail.domain.sql import CASE, PREFIX, PUNCTUATED, PUNCTUATION, ZEROS
from dovetail.hashing import hash_values
from dovetail.profile.blocks import hash_columns
from dovetail.profile.normal_forms import NormalForms

Views = dict[str, tuple[int, dict[int, int]]]

COLUMNS: dict[str, Callable[[int], str]] = {
    "codes": lambda n: f"ABC-{n % 700:04d}",
    "codes that repeat": lambda n: f"kind {n % 7}",
    "in any case": lambda n: ("sku" if n % 3 else "SKU") + f"{n:03d}",
    "padded": lambda n: f"{n:012d}",
    "of 18 digits": lambda n: f"x{10**17 + n * 7_919_999_999:018d}",
    "of 19 digits": lambda n: f"x{10**18 + n}",
    "of eight and nine digits": lambda n: str(99_999_000 + n),
    "digits alone": lambda n: str(n * n),
    "prefix of seven letters": lambda n: f"invoice{n}",
    "two prefixes": lambda n: f"{'ab'[n % 2]}{n}",
    "letters after the digits": lambda n: f"A{n}B",
    "digits in the prefix": lambda n: f"A1B{n}",
    "prefix beyond ASCII": lambda n: f"é{n}",
    "a lone prefix": lambda n: f"AB{n}" if n != 900 else "AB",
    "with a byte of 0": lambda n: f"A\0{n}",
    "nothing but punctuation": lambda n: "--" if n == 900 else f"A-{n}",
    "mail": lambda n: f"User{n % 50}@Example.com",
    "one that is no mail": lambda n: f"u{n}@example.com" if n != 900 else "u900.example.com",
    "two signs": lambda n: f"u{n}@@example.com",
    "too long": lambda n: f"A{n}".ljust(49, "x") + "1",
    "words": lambda n: "mixed bag"[: 3 + n % 4],
}


def expected(values: Sequence[str]) -> Views:
    """The views of a column, told by plain Python; days apart."""
    if max(map(len, (value.encode() for value in values))) > 48:
        return {}
    signs = {value.count("@") for value in values}
    mail = signs == {1}
    if not mail and signs != {0}:
        return {}
    mail = mail or not all(any(c in "0123456789" for c in value) for value in values[:32])
    dropped = "\0" if mail else "\0" + PUNCTUATION
    gone = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", dropped)
    folded = [value.translate(gone) for value in values]
    if not all(folded):
        return {}
    found: Views = {}
    if folded != list(values):
        found[CASE if mail else PUNCTUATED] = 0, _counted(pa.array(folded))
    prefixes = {value.rstrip("0123456789") for value in folded}
    prefix = prefixes.pop()
    digits = [value[len(prefix) :] for value in folded]
    alike = not prefixes and len(prefix) <= 6 and (not prefix or prefix.isascii())
    alike = alike and (not prefix or prefix.isalpha())
    if mail or not alike or not all(0 < len(text) <= 18 for text in digits):
        return found
    stripped = any(len(one) < len(other) for one, other in zip(folded, values, strict=True))
    padded = any(text[0] == "0" and len(text) > 1 for text in digits)
    if prefix or stripped or padded:
        numbers = list(map(int, digits))
        name = PREFIX if prefix or stripped else ZEROS
        found[name] = max(numbers), _counted(pa.array(numbers))
    return found


def _counted(values: pa.Array) -> dict[int, int]:
    return dict(Counter(hash_values(values).tolist()))


def views_of(values: Sequence[str], batches: int) -> Views:
    forms = NormalForms()
    for part in np.array_split(np.arange(len(values)), batches):
        array = pa.array([values[place] for place in part.tolist()])
        (column,) = hash_columns([array])
        forms.add(column)
    return {
        name: (
            maximum,
            {
                int(key): int(rows)
                for hashes, counts in runs
                for key, rows in zip(hashes, counts, strict=True)
            },
        )
        for name, maximum, runs in forms.forms()
    }


@pytest.mark.parametrize("times", [1, 3], ids=["once", "thrice"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_views_are_those_told_value_by_value(kind: str, times: int) -> None:
    values = [COLUMNS[kind](n) for n in range(1, 1_001)] * times
    assert views_of(values, 1) == expected(values)
    assert views_of(values, 3) == expected(values)


def test_the_columns_have_every_kind_of_view() -> None:
    found = [expected([make(n) for n in range(1, 1_001)]) for make in COLUMNS.values()]
    assert {name for views in found for name in views} == {CASE, PUNCTUATED, PREFIX, ZEROS}
    assert any(not views for views in found)
