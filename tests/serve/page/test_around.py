"""Themes, narrow screens, accessibility, tokens, and what is said when something goes wrong."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from dovetail.serve.guarded import Access, Caller, RequestLimits
from tests.serve.page.serving import QUESTION, serving
from tests.support.served import digest

ASKED = f"#/ask?q={quote(QUESTION)}"


def serious(page: Page, **options: object) -> list[str]:
    """What axe-core finds that keeps people out: rule and the first place."""
    wanted = {"resultTypes": ["violations"], **options}
    found = Axe().run(page, options=wanted).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html']}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def test_axe_finds_nothing_serious_in_either_theme(page: Page, url: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{url}/#/table/{quote('shop::orders', safe='')}")
    expect(page.locator("h1")).to_have_text("orders")
    assert serious(page) == []
    page.goto(f"{url}/{ASKED}")
    expect(page.locator("[data-stage=set].done")).to_be_visible()
    page.locator(".chosen-table summary").first.click()
    expect(page.locator("#rows table")).to_be_visible()
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    assert serious(page, runOnly=["color-contrast"]) == []


def test_the_theme_follows_the_system_until_one_is_chosen(page: Page, url: str) -> None:
    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page.emulate_media(color_scheme="light")
    page.goto(url)
    light = ground()
    page.emulate_media(color_scheme="dark")
    dark = ground()
    assert light != dark
    page.get_by_role("button", name="Switch to the light theme").click()
    assert ground() == light
    page.reload()
    assert ground() == light


def test_a_narrow_screen_needs_no_sideways_scrolling(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    places = {
        ASKED: "[data-stage=set].done",
        "#/table/shop%3A%3Aorders": ".node",
        "#/ask": ".example",
    }
    for place, shown in places.items():
        page.goto(f"{url}/{place}")
        expect(page.locator(shown).first).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, place


def test_a_token_is_asked_for_and_kept_for_the_tab_alone(page: Page, pile: Path) -> None:
    with serving(pile, Access({digest("open-sesame"): Caller("reader", ("shop::*",))})) as running:
        page.goto(running.url)
        page.fill("#token", "wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("dialog [role=alert]")).to_contain_text("not known")
        page.fill("#token", "open-sesame")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#counts")).to_contain_text("7 tables")
        assert page.evaluate("Object.values(sessionStorage)") == ["open-sesame"]
        assert page.evaluate("Object.values(localStorage)") == []
        page.goto(f"{running.url}/{ASKED}")
        expect(page.locator("[data-stage=set].done")).to_be_visible()
        assert "outlet" not in page.locator("main").inner_text()


def test_nobody_has_to_give_a_token(page: Page, pile: Path) -> None:
    with serving(pile, Access({"0" * 64: Caller("reader")})) as running:
        page.goto(running.url)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("alert")).to_contain_text("needs a token")


def test_a_server_that_is_gone_is_said(page: Page, pile: Path) -> None:
    with serving(pile) as running:
        page.goto(running.url)
        expect(page.locator(".example").first).to_be_visible()
        running.stop()
        page.fill("#question", QUESTION)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_too_many_requests_are_said(page: Page, pile: Path) -> None:
    with serving(pile, limits=RequestLimits(per_minute=2)) as running:
        page.goto(running.url)
        expect(page.locator(".example").first).to_be_visible()
        page.fill("#question", QUESTION)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("2 requests a minute")
        expect(page.get_by_role("alert")).to_contain_text("wait a little")


def test_a_table_that_is_not_there_is_said(page: Page, url: str) -> None:
    page.goto(f"{url}/#/table/custmers")
    expect(page.get_by_role("alert")).to_contain_text("did you mean")
