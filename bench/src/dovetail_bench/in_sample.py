"""Which figures are in-sample: systems that were fitted on a corpus, or chosen with it in view.

The facts stand in `in_sample.toml`; every table of results marks its rows by them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

FITTED, CHOSEN = "fitted", "chosen"
MARKS = {FITTED: "\N{DAGGER}", CHOSEN: "\N{DOUBLE DAGGER}"}
KINDS = {mark: kind for kind, mark in MARKS.items()}
NOTES = {
    FITTED: f"{MARKS[FITTED]} in-sample: its weights were fitted on questions of this corpus.",
    CHOSEN: f"{MARKS[CHOSEN]} its constants were chosen with the figures of this corpus in view.",
}


def in_sample(retriever: str, dataset: str) -> str:
    """How a retriever has seen a corpus: `fitted` on it, `chosen` with it in view, or not: "".

    The argument of a retriever does not matter.

    >>> in_sample("graph:0.4", "mmqa"), in_sample("search", "mmqa"), in_sample("dense", "mmqa")
    ('fitted', 'chosen', '')
    >>> in_sample("core-t:paper+0.3", "mmqa")
    ''
    """
    corpora = _known().get(retriever.partition(":")[0], {})
    return next((kind for kind in MARKS if dataset in corpora.get(kind, ())), "")


def mark_of(systems: str, dataset: str) -> str:
    """The mark of a row whose label names one or several systems, each as `retriever@k`.

    >>> mark_of("dense@5, graph@10", "mmqa"), mark_of("dense@5", "mmqa")
    ('†', '')
    """
    kinds = {in_sample(label.partition("@")[0], dataset) for label in systems.split(", ")}
    return next((mark for kind, mark in MARKS.items() if kind in kinds), "")


@cache
def _known() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files("dovetail_bench").joinpath("in_sample.toml").read_text("utf-8"))
