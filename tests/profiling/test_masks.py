"""What detectors mask in what is shown of cells, and what they leave alone."""

from __future__ import annotations

import pytest

from dovetail.domain import Column, ColumnProfile, Kind
from dovetail.profile.masks import Masks

DETECT = Masks(detect=True)


@pytest.mark.parametrize(
    ("column", "text", "shown"),
    [
        ("contact", "ann.o'neil+work@mail.corp.example", "«e-mail»"),
        ("remark", "asked bob@example.org, then call", "asked «e-mail», then call"),
        ("remark", "call +49 30 9018 2000 or (030) 901-8200", "call «phone» or «phone»"),
        ("n", "+1 (555) 123-4567", "«phone»"),
        ("n", "555-123-4567", "«phone»"),
        ("n", "0049 30 90182000", "«phone»"),
        ("mobile_phone", "0301234567", "«phone»"),
        ("n", "4111 1111 1111 1111", "«card»"),
        ("n", "378282246310005", "«card»"),
        ("n", "DE89 3704 0044 0532 0130 00", "«card»"),
        ("n", "078-05-1120", "«national id»"),
        ("n", "AB 12 34 56 C", "«national id»"),
        ("n", "RSSMRA85T10A562S", "«national id»"),
        ("n", "123.456.789-09", "«national id»"),
        ("n", "12345678Z", "«national id»"),
        ("n", "131052-308T", "«national id»"),
        ("ssn", "078051120", "«national id»"),
        ("password", "abc", "«secret»"),
        ("n", "AKIAIOSFODNN7EXAMPLE", "«secret»"),
        ("n", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "«secret»"),
        ("n", "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9", "«secret»"),
        ("n", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "«secret»"),
        ("url", "postgresql://bob:hunter2@db/erp", "postgresql://«secret»@db/erp"),
        ("pem", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", "«secret»"),
    ],
)
def test_what_is_personal_or_secret_is_masked(column: str, text: str, shown: str) -> None:
    assert DETECT.text(column, text) == shown
    assert Masks(detect=False).text(column, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-02 10:11:12", "ORD-2024-00012", "192.168.100.123", "1234567890123456",
        "0012345678", "550e8400-e29b-41d4-a716-446655440000", "12345678A", "4111 1111 1111 1112",
        "A-10-B-2020", "1.234.567,89", "-12345678.25", "1992-2004", "978-3-16-148410-0",
        "Müller & Co", "@home",
    ],
)  # fmt: skip
def test_codes_dates_and_amounts_are_shown(text: str) -> None:
    assert DETECT.text("value", text) == text


def test_columns_are_denied_by_patterns_of_their_names() -> None:
    masks = Masks(detect=True, columns=["*Salary*", "dob"])
    assert masks.text("BASE_SALARY", "4200") == "«masked»"
    assert masks.rows(["id", "dob"], [("7", "1990-01-01"), ("8", None)]) == (
        ("7", "«masked»"),
        ("8", None),
    )
    born = ColumnProfile(
        Kind.DATE, 0, 2, True, "1990-01-01", "1991-01-01", None, None, ("1990-01-01", "1991-01-01")
    )
    shown = masks.column(Column("dob", "DATE", born)).profile
    assert (shown.minimum, shown.maximum, shown.examples) == (None, None, ("«masked»",))


def test_without_values_a_column_tells_at_most_that_it_holds_codes() -> None:
    masks = Masks(detect=True, no_values=True)
    codes = ColumnProfile(
        Kind.TEXT, 0, 9, True, "EMP-00817", "EMP-03352", 9, 9, ("EMP-00817", "EMP-03352")
    )
    words = ColumnProfile(Kind.TEXT, 0, 2, False, "north", "south", 5, 5, ("north", "south"))
    for profile, examples in ((codes, ("«code»",)), (words, ())):
        shown = masks.column(Column("c", "VARCHAR", profile)).profile
        assert (shown.minimum, shown.maximum, shown.examples) == (None, None, examples)
    assert masks.rows(["c"], [("north",)]) == ()
