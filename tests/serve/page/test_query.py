"""From a question to rows and back: the sentence and its chips, rows, chart, joins, readings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as parquet
import pytest
from playwright.sync_api import Page, Route, expect

from dovetail.sources.warehouse_dialects import DIALECTS
from tests.serve.page.serving import QUESTION
from tests.serve.page.test_ask import AMBIGUOUS, ask

COUNTED = "How many orders are there?"
OF_SHOP = f"&set={quote('shop::orders')}"
WITHOUT = "Which customers have no orders?"
TWO_OF_SHOP = OF_SHOP + quote("\nshop::customers")


def chips(page: Page) -> list[str]:
    return page.locator(".chip .chip-text").all_inner_texts()


def add(page: Page, what: str, column: str, operator: str = "", value: str = "") -> None:
    """Add a part to the sentence by the form."""
    page.locator("#add-part").click()
    page.select_option("#part-what", what)
    if column:
        page.select_option("#part-column", column)
    if operator:
        page.select_option("#part-operator", operator)
    if value:
        page.fill("#part-value", value)
    page.locator(".part-form").get_by_role("button", name="Add").click()
    expect(page.locator(".part-form")).to_have_count(0)


def test_the_sentence_says_how_it_was_read_and_a_chip_is_removed(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    assert chips(page) == ["number of orders"]
    expect(page.locator("#rows tbody")).to_have_text("120")
    page.get_by_role("button", name="Remove number of orders").click()
    expect(page.locator("#reading")).to_contain_text("All columns of orders")
    expect(page.locator("#sql")).to_have_value("SELECT *\nFROM shop.orders\nLIMIT 100")
    page.go_back()
    expect(page.locator("#sql")).to_have_value("SELECT count(*)\nFROM shop.orders")
    expect(page.locator("#rows tbody")).to_have_text("120")


def test_what_is_grouped_by_stays_when_its_name_is_removed(page: Page, url: str) -> None:
    ask(page, url, "number of orders per customer", TWO_OF_SHOP)
    shown = page.locator(".chip .chip-text")
    expect(shown).to_have_text(["number of orders", "name", "customers"])
    rows = page.locator("#rows tbody tr")
    expect(rows).not_to_have_count(0)
    many = rows.count()
    page.get_by_role("button", name="Remove name", exact=True).click()
    expect(page.locator("#sql")).not_to_have_value(re.compile(r"customers\.name"))
    expect(shown).to_have_text(["number of orders", "customers"])
    expect(rows).to_have_count(many)
    assert many > 1
    page.locator(".chip.group .chip-x").click()
    expect(rows).to_have_count(1)


def test_a_word_without_a_part_is_told_until_the_query_is_changed(page: Page, url: str) -> None:
    ask(page, url, "How many orders were gigantic, per customer?")
    expect(page.locator("#open")).to_have_text("Open, and not in the query: what is 'gigantic'?")
    expect(page.locator("#sql")).to_have_value(re.compile("^-- open: what is 'gigantic'"))
    page.locator(".chip.group .chip-x").click()
    expect(page.locator("#open")).to_be_hidden()
    expect(page.locator("#sql")).not_to_have_value(re.compile("open"))
    page.go_back()
    expect(page.locator("#open")).to_be_visible()


def test_a_query_is_built_charted_sorted_and_survives_a_link(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    add(page, "group", "shop::orders\ncustomer_no")
    expect(page.locator("#sql")).to_have_value(
        "SELECT customer_no, count(*)\nFROM shop.orders\nGROUP BY customer_no"
    )
    add(page, "where", "shop::orders\ncustomer_no", "at most", "112")
    expect(page.locator("#reading")).to_contain_text("whose customer_no is at most 112")
    rows = page.locator("#rows tbody tr")
    expect(rows).to_have_count(12)
    add(page, "limit", "", value="5")
    expect(rows).to_have_count(5)
    page.locator("#rows th button").first.click()
    expect(page.locator("#rows th").first).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("#rows th").first).to_contain_text("integer")
    assert "sort=1" in page.url
    shown = page.locator("#rows").inner_text()
    page.reload()
    expect(rows).to_have_count(5)
    assert page.locator("#rows").inner_text() == shown


def test_a_filter_is_changed_and_offers_values(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    add(page, "where", "shop::orders\ncustomer_no", "is", "1 or 2")
    expect(page.locator("#reading")).to_contain_text("customer_no is 1 or 2")
    page.get_by_role("button", name="customer_no is 1 or 2", exact=True).click()
    expect(page.locator("#part-value")).to_have_value("1 or 2")
    expect(page.locator("#part-values option").first).to_be_attached()
    page.fill("#part-value", "3")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("#reading")).to_contain_text("customer_no is 3")
    assert "WHERE customer_no = 3" in page.locator("#sql").input_value()


def test_groups_are_kept_by_their_number_of_rows_and_that_is_changed(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    add(page, "group", "shop::orders\ncustomer_no")
    add(page, "having", "", "at least", "4")
    expect(page.locator("#reading")).to_contain_text("at least 4 rows each")
    expect(page.locator("#sql")).to_have_value(re.compile(r"HAVING count\(\*\) >= 4$"))
    page.get_by_role("button", name="at least 4 rows each", exact=True).click()
    expect(page.locator("#part-operator")).to_have_value("at least")
    expect(page.locator("#part-value")).to_have_value("4")
    page.fill("#part-value", "many")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator(".said")).to_contain_text("Give a number of rows")
    page.fill("#part-value", "1000")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("#rows")).to_contain_text("No row fits")


def test_rows_without_a_partner_are_asked_for_and_that_is_changed(page: Page, url: str) -> None:
    ask(page, url, WITHOUT, TWO_OF_SHOP)
    expect(page.locator("#sql")).to_have_value(re.compile("NOT EXISTS"))
    page.locator(".chip.absent .chip-text").click()
    expect(page.locator("#part-column")).to_have_value("shop::orders\n")
    page.select_option("#part-column", "shop::customers\nname")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator(".said")).to_contain_text("The query reads customers")
    page.locator(".part-form").get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Remove orders", exact=True).click()
    expect(page.locator("#sql")).not_to_have_value(re.compile("NOT EXISTS"))
    add(page, "absent", "shop::orders\n")
    expect(page.locator("#sql")).to_have_value(re.compile("NOT EXISTS"))


def test_rows_by_a_label_have_a_chart_that_back_keeps(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    add(page, "group", "shop::orders\nordered_on")
    add(page, "limit", "", value="9")
    expect(page.locator("#rows tbody tr")).to_have_count(9)  # no chart of the rows before these
    expect(page.locator(".chart .trend")).to_have_count(1)
    page.get_by_role("button", name="Bars").click()
    expect(page.locator(".chart rect")).to_have_count(9)
    assert "chart=bars" in page.url
    page.get_by_role("link", name="Tables").click()
    expect(page.locator("h1")).to_have_text("Tables")
    page.go_back()
    expect(page.locator(".chart rect")).to_have_count(9)


def test_while_the_next_query_is_written_its_parts_wait_and_a_chosen_chart_stays(
    page: Page, url: str
) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    add(page, "group", "shop::orders\nordered_on")
    add(page, "limit", "", value="9")
    expect(page.locator(".chart .trend")).to_have_count(1)
    held: list[Route] = []
    page.route("**/api/v1/query", lambda route: held.append(route))
    page.locator(".chip.limit .chip-x").click()
    expect(page.locator("#add-part")).to_be_disabled()
    page.get_by_role("button", name="Bars").click()
    expect(page.locator(".chart rect")).to_have_count(9)
    held.pop(0).continue_()
    expect(page.locator("#add-part")).to_be_enabled()
    expect(page.locator(".chip.limit")).to_have_count(0)
    expect(page.get_by_role("button", name="Bars")).to_have_attribute("aria-pressed", "true")
    assert page.locator(".chart rect").count() > 9


def test_rows_are_kept_as_parquet(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    expect(page.locator("#rows tbody")).to_have_text("120")
    with page.expect_download() as told:
        page.get_by_role("button", name="Parquet").click()
    kept = parquet.read_table(told.value.path())
    assert kept.to_pylist() == [{kept.column_names[0]: 120}]


def test_a_query_is_called_off(page: Page, url: str) -> None:
    page.route("**/api/v1/answer", lambda _: None)
    ask(page, url, COUNTED)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#rows-title + p")).to_have_text("Called off.")
    page.unroute("**/api/v1/answer")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#rows tbody")).to_be_visible()


def test_the_first_error_is_shown_with_what_was_meant(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    for sql, words in (
        ("SELECT * FROM ordrs", "did you mean"),
        ("SELECT ordered FROM shop.orders", "did you mean ordered_on or order_no"),
        ("SELECT * FROM shop.orders WHERE", "WHERE lacks what belongs to it"),
    ):
        page.fill("#sql", sql)
        page.get_by_role("button", name="Run").click()
        told = page.locator("#rows [role=alert]")
        expect(told).to_contain_text(words)
        assert not re.search(r"Error|Exception|class ", told.inner_text())


def test_sql_by_hand_is_in_the_link(page: Page, url: str) -> None:
    ask(page, url, COUNTED, OF_SHOP)
    page.fill("#sql", "SELECT count(*) AS weeks FROM weather")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#rows tbody")).to_have_text("9")
    page.reload()
    expect(page.locator("#rows tbody")).to_have_text("9")
    page.go_back()
    expect(page.locator("#rows tbody")).to_have_text("120")


def test_a_source_that_bills_waits_for_a_button(
    page: Page, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DIALECTS, "path", DIALECTS["snowflake"])
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if "/api/v1/answer" in one.url else None)
    ask(page, url, COUNTED, OF_SHOP)
    expect(page.locator("#rows")).to_contain_text("shop bills for queries, so none is run")
    expect(page.locator("#sql")).to_have_value("SELECT count(*)\nFROM shop.orders")
    assert sent == []
    page.locator("#run-billed").click()
    expect(page.locator("#rows tbody")).to_have_text("120")
    assert len(sent) == 1
    written = quote("SELECT count(*) FROM outlet.orders")
    ask(page, url, COUNTED, f"{OF_SHOP}&sql={written}")
    expect(page.locator("#rows")).to_contain_text("outlet and shop bill for queries")
    assert len(sent) == 1
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#rows tbody tr")).to_have_count(1)


def test_two_readings_stand_side_by_side(page: Page, url: str) -> None:
    ask(page, url, AMBIGUOUS)
    page.get_by_role("button", name="Side by side").first.click()
    beside = page.locator(".beside article")
    expect(beside).to_have_count(2)
    expect(beside.nth(1).locator("tbody tr").first).to_be_visible()
    sentence = page.locator(".alternative a").first.inner_text()
    expect(beside.nth(1)).to_contain_text(sentence)
    beside.nth(1).get_by_role("link", name="Take this one").click()
    expect(page.locator(".reading")).to_contain_text("You chose this set instead")


def test_a_join_is_checked_against_the_rows(page: Page, url: str) -> None:
    ask(page, url, QUESTION)
    page.locator(".edge[data-left='shop::orders']").press("Enter")
    page.get_by_role("button", name="Check against the rows").click()
    shown = page.locator(".evidence")
    expect(shown).to_contain_text("120 of 120 rows of orders find a partner")
    expect(shown.get_by_role("region", name="Joined rows")).to_contain_text("orders.order_no")


def test_a_table_is_dragged_and_its_lines_follow(page: Page, url: str) -> None:
    ask(page, url, QUESTION)
    expect(page.locator("#rows tbody tr").first).to_be_visible()
    node = page.locator(".node[data-table='shop::orders']")
    line = page.locator(".edge[data-left='shop::orders'] .stroke")
    before = line.get_attribute("d")
    box = node.locator(".head").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 40, steps=4)
    page.mouse.up()
    expect(node).to_have_attribute("transform", re.compile("translate"))
    moved = node.locator(".head").bounding_box()
    assert moved is not None
    assert (moved["x"] - box["x"], moved["y"] - box["y"]) == pytest.approx((40, 30), abs=1)
    assert line.get_attribute("d") != before
    assert "#/ask" in page.url


def test_a_drawing_that_is_a_little_too_wide_is_made_smaller(page: Page, url: str) -> None:
    ask(page, url, QUESTION, TWO_OF_SHOP + quote("\nshop::order_items"))
    over = "frame => frame.scrollWidth - frame.clientWidth"
    drawing = page.locator(".graph-frame")
    expect(drawing.locator(".node").first).to_be_visible()
    assert drawing.evaluate(over) == 0
    shown, whole = drawing.locator(".graph").evaluate(
        "svg => [svg.getBoundingClientRect().width, svg.viewBox.baseVal.width]"
    )
    assert 0.7 * whole - 1 <= shown < whole


def test_the_drawing_is_kept_as_svg(page: Page, url: str) -> None:
    ask(page, url, QUESTION)
    with page.expect_download() as told:
        page.get_by_role("button", name="Save as SVG").click()
    text = Path(told.value.path()).read_text()
    assert text.startswith("<svg")
    assert "order_items" in text


def test_a_link_that_makes_no_sense_is_said(page: Page, url: str) -> None:
    wrong = quote(json.dumps({"select": [{"table": "nowhere", "column": "a"}]}))
    ask(page, url, COUNTED, f"&parts={wrong}")
    expect(page.locator(".said")).to_contain_text("'nowhere' is no table of this set")
    expect(page.locator("#rows tbody")).to_be_visible()
