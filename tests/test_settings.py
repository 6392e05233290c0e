"""Settings: where each comes from, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail.settings import BOUNDS, FILE, Settings, load_settings


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("breadth = 0.2\nrefuse_below = 0.3\n")
    found = load_settings(tmp_path, {"DOVETAIL_REFUSE_BELOW": "0.5"})
    assert (found.breadth, found.refuse_below) == (0.2, 0.5)


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("bredth = 0.2\n")
    with pytest.raises(UsageError, match="setting 'bredth' is not known; there are: catalog, "):
        load_settings(tmp_path, {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("seed", "-1"), ("query_seconds", "nan"), ("query_seconds", "inf"), ("query_seconds", "0"),
        ("query_memory_mb", "-1"), ("query_rows", "0"), ("workers", "-3"), ("workers", "0"),
        ("sample_rows", "-1"), ("join_rows", "nan"), ("join_unique", "1.5"), ("breadth", "7.0"),
        ("refuse_below", "-0.1"), ("llm_workers", "0"), ("llm_context", "-1"),
        ("llm_price_in", "-inf"),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused_wherever_they_come_from(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / FILE).write_text(f"{name} = {text}\n")
    refused = f"setting '{name}' is .*; it must be from"
    with pytest.raises(UsageError, match=refused):
        load_settings(tmp_path, {})
    with pytest.raises(UsageError, match=refused):
        load_settings(tmp_path / "none", {f"DOVETAIL_{name.upper()}": text})
    with pytest.raises(UsageError, match=refused):
        Settings().but(**{name: float(text)})


def test_the_bounds_are_of_settings_and_let_the_defaults_through() -> None:
    assert BOUNDS.keys() <= {field.name for field in fields(Settings)}
    assert Settings() == Settings(**{name: getattr(Settings(), name) for name in BOUNDS})


def test_deep_nesting_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("x = " + "[" * 100_000)
    with pytest.raises(UsageError, match="nested too deeply to be settings"):
        load_settings(tmp_path, {})
