"""The figures of the paper, as rows of their own that name their models."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from dovetail_bench.reporting.tabular import Cell, Column, Row

# The names that corpora have here, and the paper's; and how many questions it asks of each.
_DATASETS = {"spider_dev": "spider", "bird_dev": "bird"}
_QUESTIONS = {"spider": 1_034, "bird": 1_534, "mmqa": 1_105, "beaver": 209}


def published_rows(analysis: str, dataset: str, columns: Sequence[Column]) -> tuple[Row, ...]:
    """The rows of an analysis on a dataset; a column that the paper does not have stays empty.

    The first column is the system.
    """
    section = figures()[analysis]
    wanted = _DATASETS.get(dataset, dataset)
    rows: list[Row] = []
    for models, datasets in section.items():
        if models == "columns":
            continue
        for system, values in datasets.get(wanted, {}).items():
            given = dict(zip(section["columns"], values, strict=True))
            given["questions"] = _QUESTIONS[wanted]
            if analysis == "selection":
                given |= _tokens(models, wanted, system)
            measured = (Cell(given.get(column.name)) for column in columns[1:])
            rows.append(Row((Cell(system), *measured), published=models))
    return tuple(rows)


def _tokens(models: str, dataset: str, system: str) -> dict[str, float]:
    """The tokens of a system by question; the paper has millions over all questions."""
    section = figures()["tokens"]
    values = section.get(models, {}).get(dataset, {}).get(system)
    if not values:
        return {}
    millions = dict(zip(section["columns"], values, strict=True))
    return {
        f"tokens {way}": 1e6 * millions[f"{way} M"] / _QUESTIONS[dataset] for way in ("in", "out")
    }


@cache
def figures() -> dict[str, Any]:
    """Every figure of the paper's tables: by analysis, models, corpus and system."""
    text = files("dovetail_bench.reporting").joinpath("published.toml").read_text("utf-8")
    return tomllib.loads(text)
