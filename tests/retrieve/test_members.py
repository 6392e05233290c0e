"""Sets over logical tables: one member each, or those that a question names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dovetail
from dovetail.retrieve.members import with_members
from dovetail.retrieve.trace import ranked, table_set
from tests.support.pile import EVENTS, PEOPLE, SETTINGS, Pile, catalog_of, events, people

QUESTION = "How many events"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    rows = people(80, 1)
    old = [(1, "2015-03-01", "k1", 1.5), *events(2015)]
    return catalog_of(
        Path(tmp_path_factory.mktemp("pile")),
        crm={
            "people": (PEOPLE, rows),
            "people_bak": (PEOPLE, rows[:60]),
            "stg_people": (PEOPLE, rows[20:]),
            **{f"events_{year}": (EVENTS, events(year)) for year in range(2018, 2024)},
            "receipts": (EVENTS.replace("kind", "till"), events(2022)),
            "receipts_archive_2015": (EVENTS.replace("kind", "till"), old),
        },
        acquired={"people": (PEOPLE, people(80, 2))},
    )


def first(
    catalog: dovetail.Catalog, question: str, k: int, *, among: str = ""
) -> dovetail.TableSet:
    """The first `k` logical tables of the search, with the members that are meant."""
    searcher = catalog.searcher
    if among:
        searcher = searcher.among(table for table in catalog.ids if table.source == among)
    chosen = ranked(searcher.search(question, k), "search", "search ranking")
    result = with_members(table_set(question, searcher.joins, chosen, []), searcher)
    return replace(result, details=tuple(catalog[table] for table in result.ids))


def names(found: dovetail.TableSet) -> list[str]:
    return [chosen.name for chosen in found if "event" in chosen.name or "receipt" in chosen.name]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("", ["events_2023"]),
        ("in 2020", ["events_2020"]),
        ("from 2019 to 2021", ["events_2019", "events_2020", "events_2021"]),
        ("in March 2022", ["events_2022"]),
        ("in 2020 and 2022", ["events_2020", "events_2022"]),
        ("in 1999", ["events_2023"]),
        ("in events_2018", ["events_2018"]),
    ],
)
def test_a_question_names_its_slices(
    catalog: dovetail.Catalog, time: str, expected: list[str]
) -> None:
    found = first(catalog, f"{QUESTION} {time}?", 1)
    assert names(found) == expected
    assert found.connected


def test_the_one_that_stands_for_all_says_so(catalog: dovetail.Catalog) -> None:
    (found,) = first(catalog, f"{QUESTION}?", 1)
    assert found.reason.endswith("; stands for 6 partitions, 2018 to 2023")
    assert [table.name for table in found.also] == [f"events_{year}" for year in range(2018, 2023)]


def test_slices_are_told_to_be_combined(catalog: dovetail.Catalog) -> None:
    found = first(catalog, f"{QUESTION} from 2019 to 2020?", 1)
    assert [one.part_of for one in found] == ["events_*", "events_*"]
    assert "the question names 2019" in found[0].reason
    assert "-- parts of one table: events_2019, events_2020\n" in found.ddl()
    assert "UNION ALL" in found.ddl()
    assert found.to_dict()["tables"][0]["part_of"] == "events_*"


def test_a_table_that_holds_the_time_stands_before_its_archive(catalog: dovetail.Catalog) -> None:
    assert names(first(catalog, "receipts of each till", 1)) == ["receipts"]
    assert names(first(catalog, "till receipts in 2022", 1)) == ["receipts"]
    away = first(catalog, "till receipts in 2015", 1)
    assert names(away) == ["receipts_archive_2015"]


def test_copies_are_told_beside_the_table_and_take_no_place(catalog: dovetail.Catalog) -> None:
    found = first(catalog, "people and their email", 2)
    assert [str(one.id) for one in found] == ["acquired::people", "crm::people"]
    assert [table.name for table in found[1].also] == ["people_bak", "stg_people"]
    assert found[0].also == (), "a twin is a table of its own"
    assert found.to_dict()["tables"][1]["also"] == ["crm::people_bak", "crm::stg_people"]
    assert "also: people_bak, stg_people" in found._repr_html_()


def test_without_the_setting_every_table_stands_for_itself(catalog: dovetail.Catalog) -> None:
    plain = dovetail.open(catalog.folder, SETTINGS.but(families=False))
    found = first(plain, f"{QUESTION} in 2020?", 6)
    assert len(names(found)) == 6
    assert all(one.also == () and one.part_of == "" for one in found)


def test_among_some_sources_the_first_member_there_stands(catalog: dovetail.Catalog) -> None:
    found = first(catalog, "people", 3, among="acquired")
    assert [str(one.id) for one in found] == ["acquired::people"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the keg price of each beer?", "price_list"),
        ("Since when is the keg price valid?", "price_list_hist"),
        ("Show the history of the keg price", "price_list_hist"),
        ("What is the keg price to date?", "price_list"),
    ],
)
def test_a_question_about_the_past_means_the_history(
    tmp_path: Path, question: str, expected: str
) -> None:
    now = [(f"B{n:02}", 60.0 + n) for n in range(30)]
    states = [
        (code, price - step, f"20{20 + step}-01-01") for code, price in now for step in (0, 1)
    ]
    pile: Pile = {
        "price_list": ("beer_code TEXT, keg_price REAL", now),
        "price_list_hist": ("beer_code TEXT, keg_price REAL, valid_from_date DATE", states),
    }
    found = first(catalog_of(tmp_path, erp=pile), question, 1)
    assert [one.name for one in found] == [expected]
