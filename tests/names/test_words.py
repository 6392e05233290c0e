"""What the words of names say: identifiers, copies, names of other scripts."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.names.table_name import CopyMarks, copy_marks
from dovetail.names.words import identifies, words


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("Customer ID (ERP)", True), ("persnr", True), ("customer_nk", True), ("Days (net)", False)],
)
def test_an_id_word_may_be_glued_or_followed_by_a_remark(name: str, identifier: bool) -> None:
    assert identifies(name) is identifier


@pytest.mark.parametrize(
    ("table", "marks"),
    [
        ("orders", set()),
        ("erp.orders_bak_2021", {"bak", "2021"}),
        ("stg_orders", {"stg"}),
        ("orders_v2", {"v2"}),
        ("price_list_hist", {"hist"}),
        ("work_orders", set()),  # a word that marks copies elsewhere, and names a thing here
        ("archive", set()),  # says nothing else: it is not a copy of anything
        ("staging.orders", {"staging"}),  # where tables are made from those of others
        ("exports/orders (1)", {"(n)"}),
        ("coldplay", set()),
    ],
)
def test_copies_are_told_by_what_people_add_to_a_name(table: str, marks: set[str]) -> None:
    assert copy_marks(table) == marks


def test_a_copy_is_referred_to_by_copies_of_its_kind_alone() -> None:
    names = ["orders", "stg_orders", "stg_customers", "bak_items_2021", "items_2021", "orders_v2"]
    child, parent = np.indices((len(names), len(names))).reshape(2, -1)
    expected = [
        bool(copy_marks(names[p])) and not copy_marks(names[p]) <= copy_marks(names[c])
        for c, p in zip(child.tolist(), parent.tolist(), strict=True)
    ]
    assert CopyMarks.of(names).copied(child, parent).tolist() == expected
    assert {False, True} == set(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("größe", ("große",)),
        ("GRÖSSE_NR", ("grosse", "nr")),
        ("ÄnderungsDatum", ("anderung", "datum")),
    ],
)
def test_letters_of_other_alphabets_do_not_end_a_word(name: str, expected: tuple[str, ...]) -> None:
    assert words(name) == expected
