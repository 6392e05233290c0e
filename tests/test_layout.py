"""The shape of the code: no import cycles, short functions, nothing twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
FUNCTION_LINES, EQUAL_LINES = 60, 12
# A command of typer lists each of its options in its signature, which counts as none of its work.
COMMANDS = SRC / "dovetail" / "cli"


@cache
def files() -> tuple[Path, ...]:
    return tuple(sorted(SRC.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def module(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(nodes: Iterator[ast.AST], known: Mapping[str, Path]) -> set[str]:
    """The modules of ours that some statements import."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inside & known.keys()) or {node.module}
    return found & known.keys()


def for_typing_alone(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything in a module that can run, imports inside functions included."""
    for child in ast.iter_child_nodes(node):
        if not for_typing_alone(child):
            yield child
            yield from statements(child)


def first_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_cycle_is_found() -> None:
    assert first_cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(first_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}


@pytest.mark.parametrize("lazy", [False, True], ids=["at import", "with imports in functions"])
def test_modules_do_not_import_each_other_in_a_circle(lazy: bool) -> None:
    known = {module(path): path for path in files()}
    graph = {}
    for name, path in known.items():
        nodes = statements(tree(path)) if lazy else iter(tree(path).body)
        graph[name] = imported(nodes, known) - {name}
    assert first_cycle(graph) == []


def test_functions_are_short() -> None:
    long = [
        f"{module(path)}.{node.name}: {lines} lines"
        for path in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := length(node, signature=not path.is_relative_to(COMMANDS))) > FUNCTION_LINES
    ]
    assert long == []


def length(node: ast.FunctionDef | ast.AsyncFunctionDef, *, signature: bool) -> int:
    first = node.lineno if signature else node.body[0].lineno
    return (node.end_lineno or first) - first + 1


def test_no_lines_stand_twice() -> None:
    places: dict[tuple[str, ...], list[str]] = {}
    for path in files():
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
        for start in range(len(lines) - EQUAL_LINES + 1):
            run = tuple(lines[start : start + EQUAL_LINES])
            if any(run):
                places.setdefault(run, []).append(f"{module(path)}:{start + 1}")
    assert [where for where in places.values() if len(where) > 1] == []
