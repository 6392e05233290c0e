"""Tables of retrieval quality: precision, recall, F1, perfect recall, and classes of error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import PurePath
from string import ascii_lowercase

from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun, shared
from dovetail_bench.reporting.tabular import (
    LOW,
    Cell,
    Column,
    Row,
    Table,
    cells,
    empty,
    measures,
    percent,
)
from dovetail_bench.run_file import Record
from dovetail_bench.stats import bootstrap, holm, sign_flip

LEVEL = 0.05
FALLBACKS = "fallbacks"
COSTS = (
    Column("fallback %", LOW), Column("calls", LOW), Column("tokens in", LOW, 0),
    Column("tokens out", LOW, 0),
)  # fmt: skip


def selection_performance(measured: Sequence[ScoredRun]) -> Table:
    """The sets of every run, what they cost a question, and the runs that each is better than."""
    columns = (
        Column(""), Column("system"), *measures("questions", "tables", "P", "R", "F1"),
        Column("F1 95%"), *measures("PR"), Column("PR 95%"), *COSTS,
    )  # fmt: skip
    letters = {one.label: _letters(place) for place, one in enumerate(measured)}
    better = _significantly_better(measured)
    rows: list[Row] = []
    for one in measured:
        means, scores = one.means, one.scores.values()
        above = "".join(letters[other] for other in letters if (one.label, other) in better)
        rows.append(
            Row(
                (
                    *cells(letters[one.label], one.label, len(scores), means.avg_tables),
                    *cells(100 * means.p, 100 * means.r),
                    Cell(100 * means.f1, above),
                    Cell(interval_text([score.f1 for score in scores])),
                    Cell(100 * means.pr),
                    Cell(interval_text([float(score.perfect) for score in scores])),
                    *cells(*cost(list(one.records.values()))),
                ),
                runs=(one.number,),
            )
        )
    taken = published_rows("selection", measured[0].dataset, columns[1:])
    rows += [Row((Cell(""), *row.cells), published=row.published) for row in taken]
    return Table(
        "selection",
        "Table-selection performance",
        columns,
        tuple(rows),
        note="Letters above an F1 name the rows that it is significantly better than "
        f"(paired sign-flip, Holm over all pairs, p < {LEVEL}). 95% is the bootstrap interval. "
        "Calls and tokens are means per question of those that ask a model; a fallback is a "
        "question whose reply could not be used.",
    )


def interval_text(values: Sequence[float]) -> str:
    """The 95% bootstrap interval of a mean, in percent.

    >>> interval_text([1.0, 1.0])
    '100.0 to 100.0'
    """
    interval = bootstrap(values)
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def cost(records: Sequence[Record]) -> tuple[float | None, ...]:
    """Fallbacks in percent, calls and tokens a question; nothing where no model is asked."""
    count, calls = len(records), sum(record.llm_calls for record in records)
    if not calls:
        return (None,) * 4
    return (
        percent(sum(record.fallback for record in records), count),
        calls / count,
        sum(record.tokens_in for record in records) / count,
        sum(record.tokens_out for record in records) / count,
    )


def fallbacks(measured: Sequence[ScoredRun]) -> Table:
    """Why systems fell back, and in how many questions; no rows where no trace tells of it."""
    columns = (Column("system"), Column("why"), Column("questions"), Column("%"))
    rows: list[Row] = []
    for one in measured:
        stages = [stage for each in one.questions for stage in one.traces.get(each.id, ())]
        reasons = [str(stage.get("reason")) for stage in stages if stage.get("fallback")]
        counts = Counter(reason.partition(": ")[0] for reason in reasons)
        rows += [
            Row(cells(one.label, why, count, percent(count, len(one.questions))), (one.number,))
            for why, count in counts.most_common()
        ]
    return Table(FALLBACKS, "Fallbacks", columns, tuple(rows))


def depth(measured: Sequence[ScoredRun]) -> Table:
    """Rankings cut at several k, by embedder: the paper's DR@K."""
    name, title = "depth", "Rankings at several k"
    rankings = [one for one in measured if one.ranks]
    if not rankings:
        return empty(name, title, "It needs a run of a retriever that ranks: dense or search.")
    columns = (
        Column("system"), Column("embedder"), *measures("questions", "tables", "P", "F1", "PR"),
    )  # fmt: skip
    rows = [
        Row(
            cells(
                one.label, _embedder(one), len(one.scores),
                one.means.avg_tables, 100 * one.means.p, 100 * one.means.f1, 100 * one.means.pr,
            ),
            runs=(one.number,),
        )
        for one in rankings
    ]  # fmt: skip
    published = published_rows("depth", measured[0].dataset, columns)
    return Table(name, title, columns, (*rows, *published))


def _embedder(one: ScoredRun) -> str:
    """The embedder of a ranking: the one that its name has, or that of the settings."""
    _, _, folder = one.retriever.partition("+")
    return PurePath(folder).name or str(one.settings.get("embedder", ""))


def errors(measured: Sequence[ScoredRun]) -> Table:
    """Questions with a gold table missing, and with a table too many; one may be both."""
    columns = (
        Column("system"), Column("recall"), Column("recall %", LOW), Column("precision"),
        Column("precision %", LOW),
    )  # fmt: skip
    rows: list[Row] = []
    for one in measured:
        scores = one.scores.values()
        missing = sum(not score.perfect for score in scores)
        extra = sum(score.tables > 0 and score.precision < 1 for score in scores)
        shares = (percent(missing, len(scores)), percent(extra, len(scores)))
        rows.append(Row(cells(one.label, missing, shares[0], extra, shares[1]), (one.number,)))
    return Table(
        "errors",
        "Error classes",
        columns,
        (*rows, *published_rows("errors", measured[0].dataset, columns)),
        note="recall: a gold table is missing; precision: a table is too many.",
    )


def _significantly_better(measured: Sequence[ScoredRun]) -> set[tuple[str, str]]:
    """Pairs of labels: the F1 of the first is above that of the second, and not by chance."""
    tested: dict[str, float] = {}
    ahead: dict[str, tuple[str, str]] = {}
    for one, other in combinations(measured, 2):
        names = shared(one, other)
        mine = [one.scores[name].f1 for name in names]
        theirs = [other.scores[name].f1 for name in names]
        if not names or sum(mine) == sum(theirs):
            continue
        pair = (one.label, other.label)
        key = " / ".join(pair)
        tested[key] = sign_flip(mine, theirs)
        ahead[key] = pair if sum(mine) > sum(theirs) else pair[::-1]
    adjusted = holm(tested)
    return {ahead[key] for key, value in adjusted.items() if value < LEVEL}


def _letters(place: int) -> str:
    """a to z, then aa, ab, …

    >>> [_letters(place) for place in (0, 25, 26, 53)]
    ['a', 'z', 'aa', 'bb']
    """
    rounds, letter = divmod(place, len(ascii_lowercase))
    first = ascii_lowercase[rounds - 1] if rounds else ""
    return first + ascii_lowercase[letter]
