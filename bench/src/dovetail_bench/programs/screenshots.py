"""The pictures of the explorer in the docs, taken from the page as it is.

    dovetail bench run screenshots [FOLDER]

Over the bundled company's pile and the bundled corpus; the pictures go to docs/.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

import dovetail
from dovetail.serve.guarded import Access, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from dovetail_bench.corpora import write_brewery, write_corpus

DOCS = Path(__file__).resolve().parents[4] / "docs"
ASKED = f"#/ask?q={quote('How many open orders does each customer of the segment festival have?')}"
ROWS = "#rows tbody tr"
PAINTED = "#pile[data-painted=yes]"


def built(folder: Path, name: str) -> Path:
    """A bundled corpus, indexed."""
    corpus = folder / name
    (write_brewery if name == "brewery" else write_corpus)(corpus)
    sources = [f"{path.name}={path}" for path in sorted(corpus.iterdir())]
    dovetail.build(*sources, into=folder / f"{name}-catalog", settings=Settings())
    return folder / f"{name}-catalog"


@contextmanager
def served(catalog: Path) -> Iterator[str]:
    """The explorer over a catalog, on a free port."""
    limits = RequestLimits(per_minute=1_000_000)
    app = rest_app(LiveCatalog(catalog, Settings()), Access({}), limits, log=False)
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


def shown(browser: Browser, url: str, *, dark: bool = False, narrow: bool = False) -> Page:
    size = (390, 844) if narrow else (1280, 860)
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page.set_default_timeout(120_000)
    page.goto(url)
    return page


def taken(page: Page, wanted: str, file: Path) -> None:
    """Wait for what is wanted, and take the picture when fonts and drawings are there."""
    page.wait_for_selector(wanted)
    page.evaluate("document.fonts.ready")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=file)
    print(f"{file.name}  {file.stat().st_size >> 10} kB")


def take(browser: Browser, folder: Path, into: Path) -> None:
    with served(built(folder, "brewery")) as url:
        taken(shown(browser, f"{url}/{ASKED}"), ROWS, into / "explorer-ask.png")
        taken(shown(browser, f"{url}/{ASKED}", dark=True), ROWS, into / "explorer-dark.png")
        taken(shown(browser, f"{url}/{ASKED}", narrow=True), ROWS, into / "explorer-narrow.png")
    with served(built(folder, "corpus")) as url:
        listed = ".browser tbody tr"
        taken(shown(browser, f"{url}/#/tables"), listed, into / "explorer-tables.png")
        page = shown(browser, f"{url}/#/pile?from=suppliers&to=districts")
        page.wait_for_selector(".steps li")
        taken(page, PAINTED, into / "explorer-path.png")
        taken(shown(browser, f"{url}/#/pile"), PAINTED, into / "explorer-pile.png")


@contextmanager
def installed_chromium() -> Iterator[Browser]:
    """The browser that this machine has; a program without one ends here and says so."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium is installed: apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, nargs="?", default=DOCS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, installed_chromium() as browser:
        take(browser, Path(folder), options.folder)


if __name__ == "__main__":
    main()
