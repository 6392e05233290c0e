"""How fast the explorer is: dovetail bench run page [--tables N] [--json]

First paint of the page on a slow line (400 kB/s, 40 ms there and back), and over a pile of N tables
the first load of their list and of their map, each until it is drawn, and the frames of a pan over
the map. `cpu` is what the server and the page's main thread took of the processor for a load: on a
busy machine it says more than the time that went by. All of it in the Chromium of the system; the
pile is made, so that only the page is timed.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page

import dovetail
from dovetail.settings import Settings
from dovetail_bench.programs.screenshots import PAINTED, built, installed_chromium, served

SLOW = {"offline": False, "latency": 40, "downloadThroughput": 400_000, "uploadThroughput": 400_000}
_FRAMES = """() => new Promise((done) => {
  let frames = 0;
  const began = performance.now(), until = began + 2000;
  const canvas = document.getElementById("pile");
  const box = canvas.getBoundingClientRect();
  const at = (type, x) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, isPrimary: true, bubbles: true, button: 0, buttons: 1,
    clientX: box.x + box.width / 2 + x, clientY: box.y + box.height / 2,
  }));
  at("pointerdown", 0);
  const step = () => {
    frames += 1;
    at("pointermove", 200 * Math.sin(frames / 20));
    if (performance.now() < until) requestAnimationFrame(step);
    else { at("pointerup", 0); done(1000 * frames / (performance.now() - began)); }
  };
  requestAnimationFrame(step);
})"""
_PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null"""


def many_tables(folder: Path, tables: int) -> Path:
    """A catalog of tables that refer to one another, four to a parent."""
    file = folder / "many.sqlite"
    with closing(sqlite3.connect(file)) as database, database:
        for number in range(tables):
            refers = f" REFERENCES {_name(number // 4)}" if number else ""
            key = f"thing{number}_id INTEGER PRIMARY KEY"
            database.execute(f"CREATE TABLE {_name(number)} ({key}, parent_id INTEGER{refers})")
            database.execute(f"INSERT INTO {_name(number)} VALUES (?, ?)", (number, number // 4))
    dovetail.build(f"many={file}", into=folder / "many", settings=Settings(embedder="none"))
    return folder / "many"


def _name(number: int) -> str:
    return f"area{number // 50:03}_thing{number:05}"


def first_paint(browser: Browser, url: str) -> dict[str, float]:
    """Milliseconds to the first paint and to a page that can be used, on a slow line."""
    page = browser.new_page()
    page.set_default_timeout(120_000)
    line = page.context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", SLOW)
    began = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(".example")
    usable = 1000 * (time.perf_counter() - began)
    painted = page.evaluate(_PAINT)
    page.close()
    return {"first_paint_ms": round(painted), "usable_ms": round(usable)}


def loaded(page: Page, url: str, wanted: str) -> tuple[int, int]:
    """Milliseconds until what is wanted is there, and of the processor for it."""
    page.goto("about:blank")
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
    began, before = time.perf_counter(), _busy(metrics)
    page.goto(url)
    page.wait_for_selector(wanted)
    return round(1000 * (time.perf_counter() - began)), round(1000 * (_busy(metrics) - before))


def _busy(metrics: CDPSession) -> float:
    """Seconds of the processor so far: of this process, in which the server is, and of the page."""
    listed = metrics.send("Performance.getMetrics")["metrics"]
    page = next(one["value"] for one in listed if one["name"] == "TaskDuration")
    return time.process_time() + float(page)


def measured(browser: Browser, folder: Path, tables: int) -> dict[str, float]:
    with served(built(folder, "brewery")) as url:
        first_paint(browser, url)  # the server's own first time
        figures = first_paint(browser, url)
    with served(many_tables(folder, tables)) as url:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.set_default_timeout(300_000)
        views = (("list", "tables", ".browser tbody tr"), ("map", "pile", PAINTED))
        for name, place, wanted in views:
            for when in ("first", "again"):
                passed, busy = loaded(page, f"{url}/#/{place}", wanted)
                figures |= {f"{name}_{when}_ms": passed, f"{name}_{when}_cpu_ms": busy}
        figures["pan_frames_per_second"] = round(page.evaluate(_FRAMES), 1)
    return {"tables": tables, **figures}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, installed_chromium() as browser:
        figures = measured(browser, Path(folder), options.tables)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:24} {value:,}")


if __name__ == "__main__":
    main()
