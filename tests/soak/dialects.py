"""Statements by the grammar of each dialect, on the real engine; and bombs, up to their limits."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.errors import DovetailError
from tests.soak.figures import Figures, LeftOutError, Wanted, figures
from tests.support.dialect_attacks import (
    BOMBS,
    DIALECTS,
    REGULAR,
    attack,
    engine,
    shop,
    statements,
)

_LIMITS = Limits(seconds=5, memory=200 << 20, rows=100)


def dialects(wanted: Wanted) -> Figures:
    """As many statements as wished of each of the four dialects, up to all that there are."""
    import pytest

    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder, shop(Path(folder)) as catalog:
        for name in DIALECTS:
            try:
                with engine(name) as ask:
                    tried = statements(name)[: wanted.cases // 4]
                    ended, found = attack(name, ask, catalog, tried)
            except pytest.skip.Exception as reason:
                raise LeftOutError(f"needs a server: {reason}") from None
            outcomes += Counter({f"{name}, {how}": times for how, times in ended.items()})
            wrong += found
    return figures(outcomes, wrong)


def bombs(wanted: Wanted) -> Figures:
    """Queries that would take all the time, memory or rows there are."""
    cases = [("duckdb", sql) for sql in (*BOMBS, *REGULAR)] + [("sqlite", sql) for sql in BOMBS]
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        shop(Path(folder)) as catalog,
        Executor(catalog.reader, workers=1) as running,
    ):
        tables = [catalog["pub"]]
        for way, sql in cases[: wanted.cases]:
            try:
                found = running.run(sql, tables, engine=way, limits=_LIMITS)
                how = "rows, cut off" if found.truncated else "rows"
            except DovetailError as error:
                how = type(error).__name__
            outcomes[f"{way}, {how}"] += 1
            if len(running.run("SELECT a FROM pub", tables).tuples()) != 2:
                wrong.append(f"{way}: after {sql[:200]}")
    return figures(outcomes, wrong)
