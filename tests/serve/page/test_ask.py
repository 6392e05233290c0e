"""The ask view in a real browser: stages, the set, the graph, alternatives, refusals, SQL."""

from __future__ import annotations

from urllib.parse import quote

from playwright.sync_api import Page, expect

from dovetail.text import confidence_word
from tests.serve.page.serving import HOSTILE, QUESTION

REFUSED = "Which astronauts walked on the moon during eclipses?"
AMBIGUOUS = "How many orders does each customer have?"


def ask(page: Page, url: str, question: str, more: str = "") -> None:
    page.goto(f"{url}/#/ask?q={quote(question)}{more}")
    expect(page.locator("[data-stage=set].done")).to_be_visible()


def test_a_question_from_the_box_shows_stages_candidates_and_set(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#counts")).to_contain_text("13 tables")
    expect(page.locator(".example").first).to_contain_text("Which ")
    page.fill("#question", QUESTION)
    page.keyboard.press("Enter")
    stages = page.locator(".stages li.done")
    expect(stages).to_have_count(3)
    assert [text.split()[0] for text in stages.all_inner_texts()] == ["Search", "Joins", "Set"]
    chosen = page.locator(".chosen-table")
    ids = {each.get_attribute("data-table") for each in chosen.all()}
    assert {"shop::orders", "shop::order_items", "shop::products"} <= ids
    word, number = page.locator(".confidence").inner_text().split()
    assert word == confidence_word(float(number))
    page.locator(".considered > summary").click()
    first = page.locator(".candidate").first
    expect(first.locator(".parts li").first).to_contain_text("words")
    assert "q=Which+customers" in page.url


def test_an_example_is_asked_by_a_click(page: Page, url: str) -> None:
    page.goto(url)
    example = page.locator(".example").first
    text = example.inner_text()
    example.click()
    expect(page.locator("[data-stage=set].done")).to_be_visible()
    expect(page.locator("#question")).to_have_value(text)


def test_the_graph_lights_the_set_and_shows_evidence(page: Page, url: str) -> None:
    ask(page, url, QUESTION)
    node = page.locator(".node[data-table='shop::orders']")
    expect(node).to_have_class("node table")
    edge = page.locator(".edge[data-left='shop::order_items'][data-right='shop::orders']")
    expect(edge.locator(".label")).to_have_text("n:1")
    expect(node.locator(".key").first).to_have_text("order_no")
    edge.press("Enter")
    expect(edge).to_have_class("edge lit shown")
    shown = page.locator(".evidence")
    for words in (
        "order_items → orders",
        "containment",
        "uniqueness",
        "n:1",
        "transform",
        "not declared",
    ):
        expect(shown).to_contain_text(words)
    other = page.locator(".edge[data-left='shop::orders'][data-right='shop::customers']")
    other.hover(force=True)
    expect(shown).to_contain_text("order_items → orders")
    other.press(" ")
    expect(shown).to_contain_text("orders → customers")
    assert "join=shop" in page.url
    page.reload()
    expect(shown).to_contain_text("orders → customers")
    node.press("Enter")
    expect(page.locator("h1")).to_have_text("orders")


def test_a_table_shows_columns_and_rows_on_demand(page: Page, url: str) -> None:
    ask(page, url, QUESTION)
    card = page.locator(".chosen-table[data-table='shop::orders']")
    card.locator("summary").click()
    expect(card.locator("table").first).to_contain_text("customer_no")
    expect(card.locator("table").nth(1)).to_contain_text("2024-01-")


def test_an_alternative_can_be_taken(page: Page, url: str) -> None:
    ask(page, url, AMBIGUOUS)
    other = page.locator(".alternative a").first
    expect(page.locator("#alternatives-title")).to_have_text("Or did you mean …")
    named = page.locator(".alternative").first.inner_text()
    other.click()
    expect(page.locator(".reading")).to_contain_text("You chose this set instead")
    ids = [str(each.get_attribute("data-table")) for each in page.locator(".chosen-table").all()]
    assert ids
    assert all(one.split("::")[1] in named for one in ids)
    page.reload()
    expect(page.locator(".reading")).to_contain_text("You chose this set instead")


def test_a_refusal_names_the_nearest(page: Page, url: str) -> None:
    ask(page, url, REFUSED)
    expect(page.locator("#set-title")).to_have_text("Nothing here seems to answer this")
    expect(page.locator("[data-stage=set]")).to_contain_text("nothing fits")
    expect(page.locator("#sql")).to_have_count(0)


def test_breadth_is_part_of_the_link(page: Page, url: str) -> None:
    ask(page, url, QUESTION, "&breadth=0")
    few = page.locator(".chosen-table").count()
    expect(page.locator("#breadth")).to_have_value("0")
    page.locator("#breadth").fill("1")
    expect(page.locator(".dial output")).to_have_text("1.00")
    page.locator("#breadth").dispatch_event("change")
    page.wait_for_url("**breadth=1**")
    expect(page.locator("[data-stage=set].done")).to_be_visible()
    assert page.locator(".chosen-table").count() > few


def test_sql_runs_pages_and_exports(page: Page, url: str) -> None:
    ask(page, url, QUESTION)
    assert "JOIN" in page.locator("#sql").input_value()
    rows = page.locator("#rows tbody tr")
    expect(rows).to_have_count(25)
    page.get_by_role("button", name="Later").click()
    expect(page.locator("#rows")).to_contain_text("26\u201350 of")
    with page.expect_download() as told:
        page.get_by_role("button", name="CSV").click()
    lines = told.value.path().read_text().splitlines()
    assert len(lines) == 301
    page.fill("#sql", "SELECT count(*) AS n FROM weather")
    page.locator("#sql").press("Control+Enter")
    expect(page.locator("#rows tbody")).to_have_text("9")
    page.fill("#sql", "DROP TABLE orders")
    page.locator("#sql").press("Control+Enter")
    expect(page.locator("#rows [role=alert]")).to_be_visible()


def test_schema_prompt_sql_and_link_are_copied(page: Page, url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    ask(page, url, QUESTION)
    for button, held in (
        ("Copy schema", "CREATE TABLE"), ("Copy prompt", QUESTION),
        ("Copy SQL", "SELECT shop.customers.name"), ("Copy link", "#/ask?q="),
    ):  # fmt: skip
        page.get_by_role("button", name=button).click()
        expect(page.locator(".said")).to_contain_text("copied")
        assert held in page.evaluate("navigator.clipboard.readText()")


def test_hostile_names_are_text(page: Page, url: str) -> None:
    ask(page, url, "Which lighthouse has which keeper?")
    card = page.locator(".chosen-table").first
    expect(card.locator("h3")).to_contain_text(HOSTILE)
    card.locator("summary").click()
    expect(card.locator("table").nth(1)).to_contain_text("<script>alert(")
    card.locator("h3 a").click()
    expect(page.locator("h1")).to_have_text(HOSTILE)
    expect(page.locator("table").first).to_contain_text("<b>keeper</b>")
    assert page.locator("main img, main script, main b").count() == 0
