"""The documentation site: it builds without a warning, and reads from disk without a network."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parents[2]
# What makes a browser fetch something as soon as it shows a page.
LOADING = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("link", "href"),
}


class Page(HTMLParser):
    """The addresses that a page names, those that it loads, and what can be linked to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.named: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, text in attrs:
            if name in ("id", "name") and text:
                self.anchors.add(text)
            if name in ("href", "src") and text:
                self.named.add(text)
                if (tag, name) in LOADING:
                    self.loaded.add(text)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """Every page of the site, built as `make site` does; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
    config.plugins.run_event("startup", command="build", dirty=False)
    build(config)
    return {path: Page(path.read_text("utf-8")) for path in sorted(folder.rglob("*.html"))}


def test_no_link_of_the_site_is_broken(site: dict[Path, Page]) -> None:
    tried = 0
    for path, page in site.items():
        # The page for what is not there is served under any address: its links begin at the root.
        for address in page.named if path.name != "404.html" else ():
            target = urlsplit(address)
            if target.scheme or target.netloc:
                continue
            there = (path.parent / unquote(target.path)).resolve() if target.path else path
            there = there / "index.html" if there.is_dir() else there
            assert there.exists(), f"{path.name}: {address}"
            if target.fragment and there.suffix == ".html":
                assert target.fragment in site[there].anchors, f"{path.name}: {address}"
            tried += 1
    assert tried > 1000


def test_no_page_loads_anything_from_the_network(site: dict[Path, Page]) -> None:
    for path, page in site.items():
        away = {address for address in page.loaded if urlsplit(address).netloc}
        assert not away, path.name
    folder = next(path.parent for path in site if path.name == "404.html")
    for style in folder.rglob("*.css"):
        text = style.read_text("utf-8")
        assert "url(http" not in text.replace('"', "").replace("'", "")
        assert "@import" not in text


def test_the_pages_that_readers_look_for_stand_in_the_navigation() -> None:
    nav = set(leaves(load_config(str(ROOT / "mkdocs.yml")).nav))
    docs = ROOT / "docs"
    assert nav <= {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    wanted = (
        "index how-it-works families teach sources models mcp rest adapters explorer lab/results "
        "lab/evaluation lab/benchmarks plugins security faq glossary cli reference/README"
    )
    assert {f"{page}.md" for page in wanted.split()} <= nav


def test_no_page_stands_twice_in_the_navigation() -> None:
    nav = leaves(load_config(str(ROOT / "mkdocs.yml")).nav)
    assert len(nav) == len(set(nav))


def test_the_search_of_the_site_finds_how_to_pin_a_join(site: dict[Path, Page]) -> None:
    folder = next(path.parent for path in site if path.name == "404.html")
    index = json.loads((folder / "search" / "search_index.json").read_text("utf-8"))
    titles = [entry["title"].lower() for entry in index["docs"]]
    assert [title for title in titles if "pin a join" in title]


def leaves(entries: object) -> list[str]:
    """The pages of a navigation, however deep."""
    match entries:
        case str():
            return [entries]
        case dict():
            return [page for inner in entries.values() for page in leaves(inner)]
        case list():
            return [page for inner in entries for page in leaves(inner)]
    return []
