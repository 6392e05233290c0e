"""A CSV of very many columns is asked about its spellings in queries of few of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.sources import delimited, duck


@pytest.mark.parametrize("rows", [3, 1_200, 5_000])
def test_spellings_of_a_wide_file_are_found_by_all_of_its_rows(rows: int, tmp_path: Path) -> None:
    width = 250
    file = tmp_path / "wide.csv"
    lines = [";".join(f"c{at}" for at in range(width))]
    for row in range(rows):
        odd = "n/a" if row == rows - 1 else "1,5"
        cells = ["3.2.2020", "1.234,5", odd, "", f"{row}"] * (width // 5)
        lines.append(";".join(cells))
    file.write_text("\n".join(lines), "utf-8")
    dialect = delimited.dialect_of(str(file), tab=False)
    read = delimited.read_csv([str(file)], dialect, long_lines=False)
    plain = delimited.in_plain_spelling(read, dialect)
    assert plain.count("try_strptime") == plain.count("',', '.')") == width // 5
    first, *_ = duck.fetch(f"SELECT c0, c1, c2, c4 FROM {plain} WHERE c4 = '0'")
    assert first == ("2020-02-03", "1234.5", "1,5", "0")
