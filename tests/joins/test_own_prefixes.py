"""Systems that put the name of each table in front of its columns, and whose tables begin alike."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.joins.test_conditional import Tables, built

Join = tuple[str, tuple[tuple[str, str], ...]]


def students(random: Random) -> Tables:
    """Terms whose codes read as months in part, sections that are numbered anew in each, and ten
    lists of codes that all begin with the same two letters."""
    terms = [f"{year}{part}" for year in range(2019, 2024) for part in (10, 20, 30)]
    autumns = [term for term in terms if term.endswith("10")]
    sections = [(term, 10_000 + n) for term in terms for n in range(60)]
    grades = [(n, *random.choice(sections), n % 90 + 1) for n in range(1, 900)]
    lists: Tables = {
        name: ((f"{name}_CODE", f"{name}_DESC"), [(f"{name[2:5]}{n}", f"{name} {n}") for n in few])
        for name in ("CVCAMPUS", "CVCOLLEG", "CVDEPTCD", "CVGRADEC", "CVHOLDTY", "CVLEVELC",
                     "CVMAJORS", "CVNATION", "CVSUBJCT", "CVTESTCD")
        for few in [range(1, 8)]
    }  # fmt: skip
    return {
        "CVTERMCD": (
            ("CVTERMCD_CODE", "CVTERMCD_DESC"),
            [(term, f"Term {term}") for term in terms],
        ),
        **lists,
        "SSSECTNS": (
            ("SSSECTNS_TERM_CODE", "SSSECTNS_CRN", "SSSECTNS_DEPT_CODE"),
            [(*section, f"DEP{n % 7 + 1}") for n, section in enumerate(sections)],
        ),
        "SHGRADES": (
            ("SHGRADES_UID", "SHGRADES_TERM_CODE", "SHGRADES_CRN", "SHGRADES_SEQ_NO"),
            [(uid, term, number, n % 3 + 1) for n, term, number, uid in grades],
        ),
        "SAAPPLIC": (
            ("SAAPPLIC_UID", "SAAPPLIC_TERM_CODE_ENTRY"),
            [(n, random.choice(autumns)) for n in range(1, 200)],
        ),
    }


@pytest.fixture(scope="module")
def joins(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Join]:
    folder: Path = tmp_path_factory.mktemp("students")
    catalog = built(folder, students(Random(7)), files=False)
    return {
        (edge.left.name, edge.right.name): (edge.cardinality, edge.columns)
        for edge in catalog.joins()
    }


def test_keys_of_several_columns_match_behind_the_names_of_their_tables(
    joins: dict[tuple[str, str], Join],
) -> None:
    assert joins["SHGRADES", "SSSECTNS"] == (
        "n:1",
        (("SHGRADES_TERM_CODE", "SSSECTNS_TERM_CODE"), ("SHGRADES_CRN", "SSSECTNS_CRN")),
    )


def test_lists_are_known_without_the_letters_that_all_of_them_begin_with(
    joins: dict[tuple[str, str], Join],
) -> None:
    department = (("SSSECTNS_DEPT_CODE", "CVDEPTCD_CODE"),)
    assert joins["SSSECTNS", "CVDEPTCD"] == ("n:1", department)


def test_codes_that_read_as_months_find_their_list_by_a_name_with_a_role_behind(
    joins: dict[tuple[str, str], Join],
) -> None:
    entry = (("SAAPPLIC_TERM_CODE_ENTRY", "CVTERMCD_CODE"),)
    assert joins["SAAPPLIC", "CVTERMCD"] == ("n:1", entry)
