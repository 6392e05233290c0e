"""The tables as a list in a real browser, every view for everybody, and updates meanwhile."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

import dovetail
from tests.serve.page.serving import QUESTION, SETTINGS, serving
from tests.serve.page.test_around import serious
from tests.support.scripted import write_shop

# Every view, and what is there when it is.
VIEWS = {
    "#/ask": ".example",
    f"#/ask?q={quote(QUESTION)}": "#rows tbody tr",
    f"#/ask?q={quote('Which astronauts walked on the moon during eclipses?')}": ".refusal",
    "#/tables": ".browser tbody tr",
    "#/tables?find=customer": ".why",
    "#/table/shop%3A%3Aorders": ".node",
    "#/pile": "#pile[data-painted=yes]",
    "#/domains": "details.card",
    "#/notes": "main .notice",
}


def names(page: Page) -> list[str]:
    return page.locator(".browser tbody tr td:first-child > a").all_inner_texts()


def test_tables_are_listed_by_source_and_sorted(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role("link", name="Tables", exact=True).click()
    expect(page.locator(".browser")).to_contain_text("11 tables, 2 more folded into them")
    assert {"orders", "customers", "weather"} <= set(names(page))
    page.locator(".tree").get_by_role("link", name="outlet").click()
    expect(page.locator(".browser")).to_contain_text("4 tables of 13")
    assert "weather" not in names(page)
    page.get_by_role("button", name="Rows").click()
    expect(page.locator(".browser thead th").nth(2)).to_have_attribute("aria-sort", "descending")
    many = [
        int(text.replace(",", ""))
        for text in page.locator(".browser tbody td:nth-child(3)").all_inner_texts()
    ]
    assert many == sorted(many, reverse=True)
    page.reload()
    expect(page.locator(".browser")).to_contain_text("4 tables of 13")


def test_five_thousand_tables_are_browsed(page: Page, url: str) -> None:
    """The list is the server's but for its length: to index so many takes minutes."""
    many = 5_000
    ids = [f"{('shop', 'outlet')[n % 2]}::area{n // 50:03}.thing{n:05}" for n in range(many)]
    listing = {
        "ids": ids, "rows": list(range(many)), "columns": [3] * many, "joins": [1] * many,
        "also": [[]] * many, "total": many,
    }  # fmt: skip
    page.route("**/api/v1/listing", lambda route: route.fulfill(json=listing))
    page.goto(f"{url}/#/tables")
    rows = page.locator(".browser tbody tr")
    expect(rows).to_have_count(100)
    expect(page.locator(".browser")).to_contain_text("5,000 tables")
    page.get_by_role("button", name="Rows").click()
    expect(rows.first).to_have_attribute("data-table", ids[-1])
    page.get_by_role("button", name="Show more of 5,000 tables").click()
    expect(rows).to_have_count(1_100)
    page.locator(".tree").get_by_role("link", name="shop").click()
    expect(page.locator(".browser")).to_contain_text("2,500 tables of 5,000")
    page.locator(".tree").get_by_role("link", name="area042").click()
    expect(rows).to_have_count(25)
    page.fill("#tables-search", "thing02104")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(rows).to_have_count(1)
    page.go_back()
    expect(rows).to_have_count(25)


def test_a_folded_family_is_opened(page: Page, url: str) -> None:
    page.goto(f"{url}/#/tables?find=visits_2022")
    row = page.locator(".browser tbody tr")
    expect(row).to_have_count(1)
    row.locator("summary").click()
    row.get_by_role("link", name="visits_2022").click()
    expect(page.locator("h1")).to_have_text("visits_2022")


def test_columns_and_values_are_searched(page: Page, url: str) -> None:
    page.goto(f"{url}/#/tables")
    page.fill("#tables-search", "gate")
    page.keyboard.press("Enter")
    expect(page.locator(".why").first).to_contain_text("has gate")
    page.fill("#tables-search", "gate 3")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".why").first).to_contain_text("holds 'gate 3' in gate")
    page.fill("#tables-search", "no such thing at all")
    page.keyboard.press("Enter")
    expect(page.locator(".browser")).to_contain_text("No table has it")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_view(page: Page, url: str, scheme: str) -> None:
    page.emulate_media(
        color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce"
    )
    for place, shown in VIEWS.items():
        page.goto(f"{url}/{place}")
        expect(page.locator(shown).first).to_be_visible()
        assert serious(page) == [], place


def test_no_view_is_wider_than_a_telephone(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 375, "height": 740})
    for place, shown in VIEWS.items():
        page.goto(f"{url}/{place}")
        expect(page.locator(shown).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, place


def test_the_header_follows_an_update(page: Page, tmp_path: Path) -> None:
    shop = write_shop(tmp_path / "shop.sqlite")
    dovetail.build(f"shop={shop}", into=tmp_path / "catalog", settings=SETTINGS)
    with serving(tmp_path / "catalog") as running:
        page.goto(f"{running.url}/#/tables")
        expect(page.locator("#counts")).to_contain_text("7 tables")
        with closing(sqlite3.connect(shop)) as database, database:
            database.execute("CREATE TABLE depots (depot_no INTEGER, town TEXT)")
        dovetail.update(into=tmp_path / "catalog", settings=SETTINGS)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("#counts")).to_contain_text("8 tables")
        expect(page.locator(".said")).to_contain_text("The catalog was updated")


def test_sources_stand_by_their_short_name_on_every_view(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "archive" / "of" / "the" / "whole" / "company" / "until" / "last" / "year"
    folder.mkdir(parents=True)
    write_shop(folder / "shop.sqlite")
    built = dovetail.build(tmp_path / "archive", into=tmp_path / "catalog", settings=SETTINGS)
    (label,) = {table.source for table in built.ids}
    assert label.endswith("of/the/whole/company/until/last/year/shop.sqlite")
    views = {
        "#/domains": "details.card summary",
        f"#/table/{quote(label + '::orders', safe='')}": ".node",
        "#/tables": ".browser tbody tr",
        f"#/ask?q={quote(QUESTION)}": "#rows tbody tr",
    }
    with serving(tmp_path / "catalog") as running:
        for view, there in views.items():
            page.goto(f"{running.url}/{view}")
            expect(page.locator(there).first).to_be_visible()
            told = page.locator("main").inner_text()
            assert "shop" in told
            assert "whole/company" not in told, view
