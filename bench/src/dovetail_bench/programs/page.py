"""Does the pile stay smooth? Chromium's frame times while a large pile is panned and zoomed.

    dovetail bench run page [--catalog FOLDER] [--tables 5000] [--edges 20000] [--json]

The explorer runs as it is, served by dovetail; the pile is that of a catalog, or one of as many
tables and joins as wished, in groups of the sizes that databases have, laid out by the same code.
A frame time is what lies between two calls of requestAnimationFrame while the pile is dragged by
real pointer events; with the screen's 60 frames a second it is never much below 16.7 ms. `cpu` is
what the page's main thread takes of the processor for a frame, painting included, whatever else the
machine does. `a still page` has the same pointer over a page that draws nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from playwright.sync_api import Page, sync_playwright

import dovetail
from dovetail.serve.guarded import Access, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.pile import PileGroup, PileView, groups_of, layout
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from dovetail_bench.corpora import write_corpus

SETTINGS = Settings(embedder="none")
# One drag: so many moves of the pointer, each of so many pixels.
MOVES, PIXELS = 240, 9


def drawn(tables: int, edges: int, seed: int = 7) -> PileView:
    """A pile of databases of 3 to 60 tables; one join in fourteen leads into another database."""
    chance = random.Random(seed)
    database: list[int] = []
    while len(database) < tables:
        database += [database[-1] + 1 if database else 0] * chance.randint(3, 60)
    database = database[:tables]
    members: dict[int, list[int]] = {}
    for table, number in enumerate(database):
        members.setdefault(number, []).append(table)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < edges:
        one = chance.randrange(tables)
        near = members[database[one]]
        other = chance.choice(near) if chance.random() < 13 / 14 else chance.randrange(tables)
        if one != other:
            pairs.add((min(one, other), max(one, other)))
    joins = [(a, b, 0.9) for a, b in sorted(pairs)]
    groups = groups_of([f"db_{number}" for number in database], joins)
    laid = layout(groups, joins)
    return PileView(
        ids=[f"db_{number}::table_{table}" for table, number in enumerate(database)],
        rows=[1_000] * tables, x=laid.x, y=laid.y, group=groups.of, also=[[]] * tables,
        edges=joins, total=tables, truncated=False,
        groups=[
            PileGroup(f"table_{each[0]}", len(each), *disc)
            for each, disc in zip(groups.members, laid.discs, strict=True)
        ],
    )  # fmt: skip


@contextmanager
def served(catalog: Path, settings: Settings = SETTINGS) -> Iterator[str]:
    """The explorer over a catalog, on a free port."""
    limits = RequestLimits(per_minute=1_000_000)
    app = rest_app(LiveCatalog(catalog, settings), Access({}), limits, log=False)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


# Frame times from one call to the other.
_START = """() => {
  window.frames = [];
  window.counting = true;
  let last = performance.now();
  const count = (now) => {
    window.frames.push(now - last);
    last = now;
    if (window.counting) requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
}"""
_STOP = "() => { window.counting = false; return window.frames.slice(2); }"


class Clock:
    """Milliseconds that the main thread of a page has had of the processor."""

    def __init__(self, page: Page) -> None:
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now(self) -> float:
        told = self._devtools.send("Performance.getMetrics")["metrics"]
        return 1_000 * float(next(one["value"] for one in told if one["name"] == "TaskDuration"))


def panned(page: Page, clock: Clock, over: str = "#pile") -> tuple[list[float], float]:
    """Frame times, and processor time, while something is dragged in a rectangle."""
    box = page.locator(over).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    before = clock.now()
    page.evaluate(_START)
    for move in range(MOVES):
        step = [(-1, 0), (0, -1), (1, 0), (0, 1)][move * 4 // MOVES]
        x, y = x + step[0] * PIXELS, y + step[1] * PIXELS
        page.mouse.move(x, y)
    frames: list[float] = page.evaluate(_STOP)
    spent = clock.now() - before
    page.mouse.up()
    return frames, spent


def measure(page: Page, url: str, view: PileView | None) -> dict[str, Any]:
    """Frame times at three distances: everything in sight, a part of it, tables with names."""
    if view is not None:
        body = json.dumps(asdict(view))
        page.route("**/api/pile", lambda route: route.fulfill(body=body, status=200))
    page.set_default_timeout(180_000)
    clock = Clock(page)
    page.goto(f"{url}/#/notes")
    page.wait_for_selector("h1")
    still = told(*panned(page, clock, "body"))
    started = time.perf_counter()
    page.goto(f"{url}/#/pile")
    page.wait_for_selector("#pile[data-painted=yes]")
    opened = time.perf_counter() - started
    results: dict[str, Any] = {"seconds_to_open": round(opened, 2)}
    every: list[float] = []
    spent = 0.0
    for name, zooms in (("all in sight", 0), ("a part", 6), ("tables with names", 8)):
        page.locator("#pile").focus()
        for _ in range(zooms):
            page.keyboard.press("+")
        page.wait_for_selector("#pile[data-painted=yes]")
        frames, own = panned(page, clock)
        every += frames
        spent += own
        results[name] = told(frames, own)
    return {**results, "together": told(every, spent), "a still page": still}


def told(frames: list[float], spent: float) -> dict[str, float]:
    low, high = np.percentile(frames, [50, 95])
    return {
        "frames": len(frames), "p50_ms": round(float(low), 1), "p95_ms": round(float(high), 1),
        "longest_ms": round(max(frames), 1), "cpu_ms": round(spent / len(frames), 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--catalog", type=Path, help="draw the pile of this catalog")
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--edges", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium is installed: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        catalog, view = options.catalog, None
        if catalog is None:
            catalog, view = Path(folder) / "catalog", drawn(options.tables, options.edges)
            corpus = write_corpus(Path(folder) / "corpus")
            dovetail.build(corpus[0], into=catalog, settings=SETTINGS)
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        with served(catalog) as url:
            results = measure(page, url, view)
            shown = page.evaluate("document.querySelector('.pile-side [role=status]').textContent")
        browser.close()
    if options.json:
        print(json.dumps({"pile": shown, **results}, indent=1))
        return
    print(f"{shown}; opened in {results.pop('seconds_to_open')} s")
    for name, found in results.items():
        print(f"{name:18}", "  ".join(f"{key} {value:g}" for key, value in found.items()))


if __name__ == "__main__":
    main()
