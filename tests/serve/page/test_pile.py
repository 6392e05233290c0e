"""The pile in a real browser: search, families, paths, keys; and the drawing that it shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from dovetail.serve.guarded import Access, Caller
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from tests.serve.page.serving import SETTINGS
from tests.serve.page.test_around import serious

PAINTED = "#pile[data-painted=yes]"


def open_pile(page: Page, url: str, more: str = "") -> None:
    page.goto(f"{url}/#/pile{more}")
    expect(page.locator(PAINTED)).to_be_visible()


def test_the_drawing_folds_families_and_tells_every_join(pile: Path) -> None:
    client = TestClient(rest_app(LiveCatalog(pile, SETTINGS), Access({}), log=False))
    drawn: dict[str, Any] = client.get("/api/v1/pile").json()
    assert (drawn["total"], drawn["truncated"]) == (13, False)
    folded = {name: also for name, also in zip(drawn["ids"], drawn["also"], strict=True) if also}
    assert [len(also) for also in folded.values()] == [2]
    assert "visits_" in next(iter(folded))
    pairs = {tuple(sorted((drawn["ids"][a], drawn["ids"][b]))) for a, b, _ in drawn["edges"]}
    assert ("shop::customers", "shop::orders") in pairs
    assert len(drawn["x"]) == len(drawn["ids"]) == 11


def test_families_are_told_with_types(pile: Path) -> None:
    app = rest_app(LiveCatalog(pile, SETTINGS), Access({}), log=False)
    told = TestClient(app).get("/api/v1/families").json()
    (family,) = [one for one in told if one["name"] == "visits_*"]
    assert sorted(one["label"] for one in family["members"]) == ["2021", "2022", "2023"]
    roles = {(one["role"], one["source_name"]) for one in family["members"]}
    assert roles == {("partition", "outlet")}
    assert family["canonical"] in [one["id"] for one in family["members"]]
    untyped = [
        f"{method} {path}"
        for path, operations in app.openapi()["paths"].items()
        for method, operation in operations.items()
        if 'additionalProperties": true' in json.dumps(operation["responses"])
    ]
    assert untyped == []


def test_a_token_sees_its_part_of_the_pile(pile: Path) -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of "test"
    access = Access({digest: Caller("reader", ("shop::orders", "shop::customers"))})
    app = rest_app(LiveCatalog(pile, SETTINGS), access, log=False)
    client = TestClient(app, headers={"Authorization": "Bearer test"})
    drawn = client.get("/api/v1/pile").json()
    assert drawn["ids"] == ["shop::customers", "shop::orders"]
    assert (drawn["total"], len(drawn["edges"])) == (2, 1)


def test_search_finds_folded_tables_and_chooses(page: Page, url: str) -> None:
    open_pile(page, url)
    expect(page.locator(".pile-side")).to_contain_text("13 tables, 2 of them folded")
    page.fill("#pile-search", "visits_2022")
    found = page.locator(".pile-list button")
    expect(found).to_have_count(1)
    found.click()
    chosen = page.locator(".chosen-panel")
    expect(chosen).to_contain_text("also: ")
    chosen.get_by_role("link", name="Open").click()
    expect(page.locator("h1")).to_contain_text("visits_")
    expect(page.locator("main")).to_contain_text("partition")


def test_the_path_finder_lists_and_draws_the_path(page: Page, url: str) -> None:
    open_pile(page, url)
    page.fill("#path-from", "cust")
    expect(page.locator("#path-from-list option").first).to_be_attached()
    page.fill("#path-from", "shop::customers")
    page.fill("#path-to", "shop::products")
    page.get_by_role("button", name="Find the path").click()
    expect(page.locator(".steps li")).to_have_count(3)
    expect(page.locator(".steps li").first).to_contain_text("customer_no")
    page.wait_for_url("**to=shop**")
    lit = page.evaluate(_PIXELS_OF_THE_PATH)
    assert lit > 200
    page.reload()  # the link reproduces it
    expect(page.locator(".steps li")).to_have_count(3)
    page.goto(f"{url}/#/pile?from=shop::weather&to=shop::products")
    expect(page.locator("#path")).to_contain_text("No chain of joins")
    page.goto(f"{url}/#/pile?from=nonsense&to=shop::products")
    expect(page.locator("#path [role=alert]")).to_contain_text("nonsense")


# How many pixels have the colour in which a path is drawn.
_PIXELS_OF_THE_PATH = """async () => {
  const canvas = document.getElementById("pile");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  while (canvas.dataset.painted !== "yes") await frame();
  const box = document.querySelector(".steps li");
  const [red, green, blue] = getComputedStyle(box).borderLeftColor.match(/\\d+/g).map(Number);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) {
    found += data[at] === red && data[at + 1] === green && data[at + 2] === blue;
  }
  return found;
}"""


def test_keys_move_zoom_and_choose(page: Page, url: str) -> None:
    open_pile(page, url)
    canvas = page.locator("#pile")
    canvas.focus()
    page.evaluate("window.before = document.getElementById('pile').toDataURL()")
    for key in ("+", "+", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator(PAINTED)).to_be_visible()
    assert page.evaluate("window.before !== document.getElementById('pile').toDataURL()")
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(page.locator(".chosen-panel h2")).to_be_visible()


def test_a_click_chooses_the_table_under_it(page: Page, url: str) -> None:
    open_pile(page, url, "?table=shop::weather")
    chosen, canvas = page.locator(".chosen-panel h2"), page.locator("#pile")
    expect(chosen).to_contain_text("weather")
    expect(page.locator(PAINTED)).to_be_visible()
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": 5, "y": 5})
    expect(chosen).to_have_count(0)
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    expect(chosen).to_contain_text("weather")


def test_the_pile_is_for_everybody(page: Page, url: str) -> None:
    open_pile(page, url, "?from=shop::customers&to=shop::products")
    expect(page.locator(".steps li")).to_have_count(3)
    assert serious(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
