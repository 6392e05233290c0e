"""The glossary says where each idea lives, and the words it retired do not come back."""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
LIST = Path(__file__).with_name("retired.toml")
FOLDERS = ("src", "tests", "bench", "examples")
# A word of a name: `ColumnArrays`, `column_arrays` and `HTMLPage` have two each.
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Term:
    """A line of the glossary: a term, what it means, where it lives, which words it replaced."""

    name: str
    meaning: str
    where: tuple[str, ...]
    replaced: tuple[str, ...]


@dataclass(frozen=True)
class Retired:
    """A word that is not used any more, and how it is looked for (see retired.toml)."""

    word: str
    say: tuple[str, ...]
    forms: frozenset[str]
    part: bool
    within: tuple[str, ...]
    prose: re.Pattern[str] | None


@dataclass(frozen=True)
class Use:
    """A retired word where it was found."""

    path: str
    line: int
    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text!r} ({self.word})"


def terms() -> list[Term]:
    found = []
    for line in GLOSSARY.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| **"):
            name, meaning, where, replaced = cells
            found.append(
                Term(
                    name.strip("*"),
                    meaning,
                    tuple(re.findall(r"`([\w.]+)`", where)),
                    tuple(re.findall(r"[\w ]+", replaced)),
                )
            )
    return found


@cache
def listed() -> dict[str, Any]:
    return tomllib.loads(LIST.read_text("utf-8"))


@cache
def retired() -> tuple[Retired, ...]:
    return tuple(_retired(word, entry) for word, entry in listed()["words"].items())


def _retired(word: str, entry: dict[str, Any]) -> Retired:
    say, forms = entry["say"], entry.get("forms", [word])
    phrases = [*(forms if entry["prose"] else ()), *entry.get("phrase", ())]
    return Retired(
        word,
        (say,) if isinstance(say, str) else tuple(say),
        frozenset(forms),
        entry.get("names", "part") == "part",
        tuple(entry.get("within", FOLDERS)),
        re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE) if phrases else None,
    )


def modules() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def pages() -> list[Path]:
    """The documentation, without the glossary and the changelog: they name what was renamed."""
    found = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    prompts = (ROOT / "src").rglob("*.md")
    return sorted({*found, *prompts} - {GLOSSARY})


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a module gives or uses, with its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield line, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield line, name
            case ast.keyword(arg=str(name)):
                yield line, name
            case ast.alias(name=name, asname=other):
                yield from ((line, part) for part in (*name.split("."), other or ""))
            case ast.ImportFrom(module=str(module)):
                yield from ((line, part) for part in module.split("."))


def prose(source: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, line by line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield from enumerate(text.splitlines(), node.body[0].lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def uses() -> Iterator[Use]:
    """Every use of a retired word."""
    for path in modules():
        where, source = str(path.relative_to(ROOT)), path.read_text("utf-8")
        tree = ast.parse(source)
        own = ((1, part) for part in Path(where).with_suffix("").parts)
        yield from _names_used(where, (*own, *names(tree)))
        yield from _said(where, prose(source, tree))
    for path in pages():
        yield from _said(
            str(path.relative_to(ROOT)), enumerate(path.read_text("utf-8").splitlines(), 1)
        )


def _names_used(where: str, found: Iterable[tuple[int, str]]) -> Iterator[Use]:
    looked_for = [old for old in retired() if where.startswith(old.within)]
    for line, name in set(found):
        whole = name.strip("_").lower()
        parts = {part.lower() for part in WORD.findall(name)}
        for old in looked_for:
            if whole in old.forms or (old.part and parts & old.forms):
                yield Use(where, line, old.word, name)


def _said(where: str, lines: Iterable[tuple[int, str]]) -> Iterator[Use]:
    looked_for = [old for old in retired() if old.prose]
    for number, line in lines:
        for old in looked_for:
            if old.prose and old.prose.search(line):
                yield Use(where, number, old.word, line.strip())


def test_the_terms_stand_in_order_each_once() -> None:
    found = [term.name.lower() for term in terms()]
    assert len(found) >= 60
    assert found == sorted(set(found))


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.name)
def test_a_term_lives_where_the_glossary_says(term: Term) -> None:
    assert term.meaning
    assert term.where
    for place in term.where:
        assert exists(place), place


def exists(place: str) -> bool:
    """Whether a dotted name is a module of dovetail, or something in one, a field included."""
    parts = place.split(".")
    parts = parts if parts[0] == "dovetail_bench" else ["dovetail", *parts]
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            if name in getattr(found, "__dataclass_fields__", {}):
                return name == parts[-1]
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def test_what_the_glossary_replaced_is_what_is_retired() -> None:
    said = {(word.strip(), term.name) for term in terms() for word in term.replaced}
    assert said == {(old.word, term) for old in retired() for term in old.say}


def test_retired_words_do_not_come_back() -> None:
    wrong = sorted(uses(), key=lambda use: (use.path, use.line, use.word))
    assert not wrong, "\n" + "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("mean_belief = 1", ["belief"]),
        ("def f(*, beliefs): ...", ["belief"]),
        ("from tests.island import x as y", ["island"]),
        ("class HopefulPair: ...", ["hope"]),
        ("relief = 1; hopping = 2", []),
    ],
)
def test_names_are_taken_apart(source: str, found: list[str]) -> None:
    assert [use.word for use in _names_used("src/a.py", names(ast.parse(source)))] == found


def test_prose_is_read_in_docstrings_and_comments() -> None:
    source = '"""One belief.\n\nTwo islands."""\nx = "belief"  # no hope\n'
    said = _said("src/a.py", prose(source, ast.parse(source)))
    assert [(use.line, use.word) for use in said] == [(1, "belief"), (3, "island"), (4, "hope")]
