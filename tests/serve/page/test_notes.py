"""Notes in a real browser: corrections beside what they correct, and the list of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.serve.page.serving import QUESTION, serving
from tests.serve.page.test_around import serious


@pytest.fixture(scope="module")
def noting(pile: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that lets notes be written, over a catalog of its own."""
    folder = tmp_path_factory.mktemp("noting") / "catalog"
    shutil.copytree(pile, folder)
    with serving(folder, notes=True) as running:
        yield running.url


def test_a_join_is_banned_where_it_is_seen_and_the_ban_taken_back(page: Page, noting: str) -> None:
    page.goto(f"{noting}/#/ask?q={quote(QUESTION)}")
    expect(page.locator("[data-stage=set].done")).to_be_visible()
    edge = page.locator(".edge[data-left='shop::orders'][data-right='shop::customers']")
    edge.press("Enter")
    page.locator(".edge").first.hover(force=True)  # on the way to the button
    page.get_by_role("button", name="Ban this join").click()
    expect(page.locator(".said")).to_contain_text("Join banned")
    expect(edge).to_have_count(0)
    page.get_by_role("link", name="Notes", exact=True).click()
    note = page.locator(".notes li")
    expect(note).to_contain_text("shop::orders.customer_no = shop::customers.customer_no is ban")
    assert serious(page) == []
    note.get_by_role("button").click()
    expect(page.locator("main")).to_contain_text("There are no notes yet")


def test_a_ban_is_undone_where_it_is_said(page: Page, noting: str) -> None:
    page.goto(f"{noting}/#/ask?q={quote(QUESTION)}")
    edge = page.locator(".edge[data-left='shop::orders'][data-right='shop::customers']")
    edge.press("Enter")
    page.get_by_role("button", name="Ban this join").click()
    expect(edge).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(edge).to_have_count(1)


def test_a_word_is_taught_and_counts_at_once(page: Page, noting: str) -> None:
    page.goto(f"{noting}/#/notes?section=terms&key=rainmakers")
    expect(page.locator("#note-key")).to_have_value("rainmakers")
    page.fill("#note-value", "suppliers: shop::suppliers")
    page.keyboard.press("Enter")
    expect(page.locator(".notes")).to_contain_text("rainmakers means suppliers")
    page.goto(f"{noting}/#/ask?q=rainmakers")
    expect(page.locator("[data-stage=set].done")).to_be_visible()
    page.locator(".considered > summary").click()
    expect(page.locator(".candidate").first).to_have_attribute("data-table", "shop::suppliers")


def test_a_note_that_says_nothing_is_refused_in_words(page: Page, noting: str) -> None:
    page.goto(f"{noting}/#/notes")
    page.select_option("#note-section", "tables")
    page.fill("#note-key", "custmers")
    page.fill("#note-value", "ignore")
    page.get_by_role("button", name="Note it").click()
    expect(page.locator(".said")).to_contain_text("did you mean")
    expect(page.locator("#note-key")).to_have_value("custmers")


def test_without_leave_nothing_can_be_written(page: Page, url: str) -> None:
    page.goto(f"{url}/#/notes")
    expect(page.locator("main")).to_contain_text("dovetail serve --notes")
    expect(page.locator("#note-key")).to_have_count(0)
    page.goto(f"{url}/#/ask?q={quote(QUESTION)}")
    expect(page.locator("[data-stage=set].done")).to_be_visible()
    expect(page.get_by_role("button", name="Ban this join")).to_have_count(0)
