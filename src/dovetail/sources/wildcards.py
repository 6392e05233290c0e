"""Wildcards over paths that are known already, with the meaning that `glob` has for files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

WILD = frozenset("*?[")
_ANY_DEPTH = "**"


def fits(path: str, pattern: str) -> bool:
    """Whether a pattern stands for a path; `**` is any number of folders, none of them hidden.

    >>> [fits(path, "in/*.csv") for path in ("in/a.csv", "in/b/a.csv", "in/.a.csv")]
    [True, False, False]
    >>> [fits(path, "in/**/*.csv") for path in ("in/a.csv", "in/b/a.csv", "in/.b/a.csv")]
    [True, True, False]
    """
    wanted = pattern.split("/")
    places = _ahead({0}, wanted)
    for name in path.split("/"):
        places = _ahead({then for at in places for then in _after(name, at, wanted)}, wanted)
    return len(wanted) in places


def _after(name: str, at: int, wanted: Sequence[str]) -> Iterable[int]:
    """Where in a pattern a name leads from one place."""
    if at == len(wanted):
        return ()
    hidden = name.startswith(".")
    if wanted[at] == _ANY_DEPTH:
        last = at == len(wanted) - 1
        return () if hidden else (at, at + 1) if last else (at,)
    fit = fnmatchcase(name, wanted[at]) and (not hidden or wanted[at].startswith("."))
    return (at + 1,) if fit else ()


def _ahead(places: set[int], wanted: Sequence[str]) -> set[int]:
    """The places that are reached without a name: `**` before others may be no folder at all."""
    reached = set(places)
    for at in range(len(wanted) - 1):
        if at in reached and wanted[at] == _ANY_DEPTH:
            reached.add(at + 1)
    return reached
