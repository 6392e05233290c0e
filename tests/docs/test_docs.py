"""What the documentation shows is what happens."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail
from dovetail.joins.graph import JoinGraph
from dovetail.settings import load_settings
from tests.docs.generate import PAGE, PICTURE, command_names, join_graph, page

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text("utf-8")) if kind == language]


@pytest.fixture
def in_corpus(corpus: tuple[Path, ...], here: Path) -> Path:
    """A folder with the sample corpus in it."""
    for path in corpus:
        (here / path.name).symlink_to(path)
    return here


@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_examples_print_what_they_say(path: Path, in_corpus: Path) -> None:
    """The blocks of a page run in order; `# …` lines after a print are its output."""
    names: dict[str, object] = {}
    for block in blocks(path, "python"):
        said = re.findall(r"^# (.*)$", block, re.MULTILINE)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, str(path), "exec"), names)
        assert printed.getvalue().splitlines() == said


def modules() -> list[str]:
    found = pkgutil.walk_packages(dovetail.__path__, "dovetail.")
    return sorted(module.name for module in found if module.name != "dovetail.__main__")


@pytest.mark.parametrize("name", modules())
def test_docstring_examples_run(name: str, in_corpus: Path) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_some_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = (test for name in modules() for test in finder.find(importlib.import_module(name)))
    assert sum(len(test.examples) for test in found) >= 15


def test_the_command_page_is_the_help_of_the_commands() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: make docs"


def test_the_picture_shows_what_is_found(sample: dovetail.Catalog) -> None:
    picture = join_graph(JoinGraph.of(sample.reader))
    assert PICTURE.read_text("utf-8") == picture, "run: make docs"


def test_every_command_is_documented() -> None:
    text = PAGE.read_text("utf-8")
    assert command_names() == [
        "index", "describe", "ask", "search", "tables", "show", "families", "joins", "domains",
        "sql", "doctor", "check", "repair", "mcp",
        "serve", "demo", "feedback", "learn", "note", "note pin", "note ban", "note mark",
        "note define", "note domain", "note about", "note remove", "note list", "note suggest",
        "bench",
        "bench joins", "bench retrieval", "bench run", "bench mess", "bench sql", "bench data",
        "bench report",
    ]  # fmt: skip
    assert all(f"## dovetail {name}\n" in text for name in command_names())


def test_commands_on_the_pages_have_the_options_shown() -> None:
    helps = dict(
        re.findall(r"^## (dovetail[ a-z]*)\n\n```\n(.*?)^```$", page(), re.DOTALL | re.MULTILINE)
    )
    longest_first = sorted(helps, key=len, reverse=True)
    tried = 0
    for path in PAGES:
        for line in re.findall(r"dovetail [a-z][^\n`#]*", path.read_text("utf-8")):
            name = next(name for name in longest_first if line.startswith(name))
            if name in ("dovetail", "dovetail bench run"):  # options of no command of ours
                continue
            for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", line):
                tried += 1
                said = re.search(rf"(?<![\w-]){option}(?![\w-])", helps[name])
                assert said, f"{path.name}: {name} has no {option}"
    assert tried > 50


def test_the_settings_example_can_be_read(here: Path) -> None:
    (example,) = blocks(ROOT / "docs/guide.md", "toml")
    (here / "dovetail.toml").write_text(example)
    settings = load_settings(here, {})
    assert settings.sources[1] == "exports/"
    assert settings.workers == 4


def test_links_between_pages_lead_somewhere() -> None:
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def anchors(path: Path) -> set[str]:
    """What `#…` can name on a page: its headings, as GitHub makes anchors of them."""
    plain = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_to_a_section_lead_to_one() -> None:
    for path in PAGES:
        for target, section in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", path.read_text("utf-8")):
            page = path.parent / target if target else path
            assert section in anchors(page), f"{path.name} links to {target}#{section}"


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.py")), ids=lambda p: p.name)
def test_examples_run(path: Path, here: Path) -> None:
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.startswith("70 tables\n")
    assert done.stderr == ""
