"""Keys as they look elsewhere, against the same told value by value."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from dovetail.domain.sql import (
    ACCENTED,
    CASE,
    CUT,
    PREFIX,
    PUNCTUATED,
    PUNCTUATION,
    ZEROS,
    rung,
)
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
    "one prefix or none": lambda n: f"{'AB-' if n % 3 else ''}{n}",
    "names with accents": lambda n: "Érdï " + "ÂÇþÞÿŁ"[n % 6] + "a",
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
    "one in fifty unknown": lambda n: f"{n:08d}" if n % 50 else "n/a",
    "one in twenty behind other letters": lambda n: f"{'C' if n % 20 else 'KD'}-{n:06d}",
    "one in thirty a remark": lambda n: f"C{n:05d}" if n % 30 else f"see the letter of {n} " * 4,
    "one in five of another kind": lambda n: f"C-{n:05d}" if n % 5 else f"{n}-C-{n}",
    "phone numbers": lambda n: f"+46 70 {n:07d}",
    "differences in seconds": lambda n: f"+{n // 100}.{n % 100:02d}",
    "one difference": lambda n: f"+{n}.5" if n == 900 else f"+{n}",
    "half of them mail": lambda n: f"U{n}@example.com" if n % 2 else f"U{n}",
}


def expected(values: Sequence[str]) -> Views:
    """The views of a column, told by plain Python; days apart."""
    enough = 0.9 * len(values)
    short = [value for value in values if len(value.encode()) <= 48]
    mail = sum(value.count("@") == 1 for value in short) > 0.1 * len(short)
    left = [value for value in short if value.count("@") == mail]
    coded = [any(c in "0123456789" for c in value) for value in values[:32]]
    case_only = mail or sum(coded) < 0.9 * len(coded)
    dropped = "\0" if case_only else "\0" + PUNCTUATION
    capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + case_only * ACCENTED
    gone = str.maketrans(capitals, capitals.lower(), dropped)
    pairs = [(value.translate(gone), value) for value in left if value.translate(gone)]
    folded = [text for text, _ in pairs]
    found: Views = {}
    if len(folded) >= enough and any(text != value for text, value in pairs):
        found[CASE if case_only else PUNCTUATED] = 0, _counted(pa.array(folded))
    others = [text for text in folded if not re.fullmatch("[0-9]*", text)][:25]
    fronts = [re.fullmatch("([a-z]{1,6})[0-9]{1,18}", text) for text in others]
    prefixes = Counter(match[1] for match in fronts if match)
    prefix = prefixes.most_common(1)[0][0] if prefixes else ""
    differences = any(value.startswith("+") and value.count(".") == 1 for value in left)
    if case_only or differences:
        return found
    alike = [text for text in folded if re.fullmatch(f"({prefix})?[0-9]{{1,18}}", text)]
    read = [match for text in folded if (match := re.fullmatch("([a-z]*)([0-9]{1,18})", text))]
    stripped = any(len(text) < len(value) for text, value in pairs)
    stripped = stripped or any(match[1] != prefix for match in read)
    padded = any(re.fullmatch(f"({prefix})?0[0-9]+", text) for text in alike)
    if len(alike) >= enough and (prefix or stripped or padded):
        numbers = [int(match[2]) for match in read]
        name = PREFIX if prefix or stripped else ZEROS
        bits = sorted(number.bit_length() for number in numbers)[math.ceil(0.9 * len(numbers)) - 1]
        found[name] = min(max(numbers), 2**bits - 1), _counted(pa.array(numbers))
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
    for batches in (1, 3):
        views = views_of(values, batches)
        assert {name: views[name] for name in views if rung(name) != CUT} == expected(values)


def test_the_columns_have_every_kind_of_view() -> None:
    found = [expected([make(n) for n in range(1, 1_001)]) for make in COLUMNS.values()]
    assert {name for views in found for name in views} == {CASE, PUNCTUATED, PREFIX, ZEROS}
    assert any(not views for views in found)


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize(
    ("written", "name", "rest"),
    [
        ("FR-AB{0}", "cut:fr:", "ab{0}"),
        ("FR-RES-{0:06d}", "cut:fr:", "res{0:06d}"),
        ("H1/{0:06d}", "cut:h1:", "{0}"),
        ("{0:05d}-ES", "cut::es", "{0}"),
        ("HT{1}x{0}", "cut:ht:", "{1}x{0}"),
        ("{2}-{1}x{0}", "cut:es|fr:", "{1}x{0}"),
        ("{2}{1}x{0}", "cut:es|fr:", "{1}x{0}"),
        ("C-{0:06d}", "", ""),
        ("{1}-{0}", "", ""),
        ("invoice{0}", "", ""),
    ],
)
def test_what_all_values_begin_or_end_with_is_cut(
    written: str, name: str, rest: str, batches: int
) -> None:
    told = [(n, "abcdefghij"[n % 10], "EFSR"[n % 2 :: 2]) for n in range(1, 301)]
    views = views_of([written.format(*each) for each in told], batches)
    cut = {each: view for each, view in views.items() if rung(each) == CUT}
    if not name:
        assert not cut
        return
    numbers = [int(n) if rest == "{0}" else 0 for n, *_ in told]
    assert cut == {name: (max(numbers), _counted(pa.array([rest.format(*e) for e in told])))}


def test_a_few_numbers_far_out_do_not_make_running_numbers_sparse() -> None:
    running = [f"{number:05}/C" for number in range(1, 1_001)]
    far_out = [f"{number}/C" for number in range(90_000, 90_040)]
    (reach,) = (
        views[0] for name, views in views_of(running + far_out, 2).items() if rung(name) == CUT
    )
    assert reach == 1_023
