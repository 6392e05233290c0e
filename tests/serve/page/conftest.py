"""One browser for each file of tests of the page, and one server for all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.serve.page.serving import serving, write_pile

# The machine may be busy: what is waited for comes, or the test has failed.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium of the system; nothing is downloaded.

    It is closed after each file: while it runs, no other test of the process can run an event loop.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no Chromium is installed (apt-get install chromium): the page is not tried")
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def pile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pile(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="session")
def url(pile: Path) -> Iterator[str]:
    with serving(pile) as running:
        yield running.url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of its own; whatever goes wrong in it fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    shown = context.new_page()
    shown.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("dialog", lambda dialog: wrong.append(f"a script ran: {dialog.message}"))
    shown.on(
        "console",
        lambda told: wrong.append(told.text) if "Content Security Policy" in told.text else None,
    )
    yield shown
    context.close()
    assert wrong == []
