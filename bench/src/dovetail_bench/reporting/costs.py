"""Tables of cost: tokens, money and time of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from dovetail_bench.measures import retrieval
from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun
from dovetail_bench.reporting.tabular import HIGH, LOW, Column, Row, Table, cells, empty

MILLION = 1_000_000
_UNPAID = "It needs a run of a retriever that asks a language model: core-t, react or arm."
_COUNTED = (
    "A ranking is asked once, at its largest k. Times are on the wall and differ from run to run; "
    "a model's own are in them only where it was asked live, not where its replies were recorded."
)
_TERTILES = ("short", "medium", "long")


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, read and written, in whatever currency the list is."""

    tokens_in: float
    tokens_out: float


def tokens(measured: Sequence[ScoredRun]) -> Table:
    """Calls and tokens of every run that asked a model: per question, and in millions over all."""
    name, title = "tokens", "Token efficiency"
    paid = _paid(measured)
    if not paid:
        return empty(name, title, _UNPAID)
    columns = (
        Column("system"), Column("questions"), Column("calls", LOW, 2), Column("in", LOW),
        Column("out", LOW), Column("in M", LOW, 2), Column("out M", LOW, 2),
        Column("total M", LOW, 2), Column("fallbacks", LOW),
    )  # fmt: skip
    rows: list[Row] = []
    for one in paid:
        records = list(one.records.values())
        read = sum(record.tokens_in for record in records)
        wrote = sum(record.tokens_out for record in records)
        calls = sum(record.llm_calls for record in records)
        count = len(records)
        rows.append(
            Row(
                cells(
                    one.label, count, calls / count, read / count, wrote / count, read / MILLION,
                    wrote / MILLION, (read + wrote) / MILLION,
                    sum(record.fallback for record in records),
                ),
                runs=(one.number,),
            )
        )  # fmt: skip
    taken = published_rows(name, measured[0].dataset, columns)
    return Table(name, title, columns, (*rows, *taken), note="in and out are means per question.")


def cost(measured: Sequence[ScoredRun], prices: Mapping[str, Price]) -> Table:
    """What the tokens cost by a price list, in its currency."""
    name, title = "cost", "Cost"
    paid = _paid(measured)
    if not paid:
        return empty(name, title, _UNPAID)
    priced = [one for one in paid if _model(one) in prices]
    unpriced = sorted({_model(one) for one in paid} - set(prices))
    if not priced:
        return empty(name, title, f"The price list (--prices) has none of: {', '.join(unpriced)}.")
    columns = (
        Column("system"), Column("model"), Column("questions"), Column("all", LOW, 4),
        Column("per 1,000 questions", LOW, 4),
    )  # fmt: skip
    rows: list[Row] = []
    for one in priced:
        price = prices[_model(one)]
        spent = sum(
            record.tokens_in * price.tokens_in + record.tokens_out * price.tokens_out
            for record in one.records.values()
        )
        count = len(one.records)
        rows.append(
            Row(
                cells(
                    one.label, _model(one), count, spent / MILLION, spent / MILLION / count * 1e3
                ),
                runs=(one.number,),
            )
        )
    note = f"Without a price: {', '.join(unpriced)}." if unpriced else ""
    return Table(name, title, columns, tuple(rows), note=note)


def prompt_lengths(measured: Sequence[ScoredRun]) -> Table:
    """The tokens that a question's prompts have: least, median, most."""
    name, title = "lengths", "Prompt lengths"
    paid = _paid(measured)
    if not paid:
        return empty(name, title, _UNPAID)
    columns = (Column("system"), Column("min"), Column("median"), Column("max"))
    rows = [
        Row(
            cells(one.label, min(sizes), int(median(sizes)), max(sizes)),
            runs=(one.number,),
        )
        for one in paid
        if (sizes := list(_lengths(one).values()))
    ]
    taken = published_rows(name, measured[0].dataset, columns)
    return Table(name, title, columns, (*rows, *taken), note="Tokens in, all calls of a question.")


def tertiles(measured: Sequence[ScoredRun]) -> Table:
    """F1 and PR of the third of questions with the shortest prompts, the middle, the longest."""
    name, title = "tertiles", "Prompt-length tertiles"
    paid = _paid(measured)
    if not paid:
        return empty(name, title, _UNPAID)
    columns = (
        Column("system"),
        *(Column(f"{part} {measure}", HIGH) for part in _TERTILES for measure in ("F1", "PR")),
    )
    rows: list[Row] = []
    for one in paid:
        lengths = _lengths(one)
        ordered = sorted(lengths, key=lambda question: (lengths[question], question))
        values: list[float] = []
        for part in np.array_split(np.array(ordered, dtype=object), len(_TERTILES)):
            means = retrieval([one.scores[question] for question in part])
            values += [100 * means.f1, 100 * means.pr]
        rows.append(Row(cells(one.label, *values), runs=(one.number,)))
    return Table(name, title, columns, (*rows, *published_rows(name, measured[0].dataset, columns)))


def per_question(measured: Sequence[ScoredRun]) -> Table:
    """What a question costs with each run: calls and tokens of a model, and time."""
    columns = (
        Column("system"), Column("questions"), Column("calls", LOW, 2), Column("tokens in", LOW),
        Column("tokens out", LOW), Column("mean ms", LOW), Column("median ms", LOW),
        Column("95% ms", LOW),
    )  # fmt: skip
    rows: list[Row] = []
    for one in {one.number: one for one in measured}.values():
        records = list(one.records.values())
        spent = [1000 * record.seconds for record in records]
        means = [
            sum(getattr(record, name) for record in records) / len(records)
            for name in ("llm_calls", "tokens_in", "tokens_out")
        ]
        times = (float(np.mean(spent)), float(np.median(spent)), float(np.quantile(spent, 0.95)))
        rows.append(Row(cells(one.label, len(spent), *means, *times), runs=(one.number,)))
    return Table(
        "per-question",
        "Cost per question",
        columns,
        tuple(rows),
        note=_COUNTED,
        timed=True,
    )


def _paid(measured: Sequence[ScoredRun]) -> list[ScoredRun]:
    return [one for one in measured if any(record.llm_calls for record in one.records.values())]


def _lengths(one: ScoredRun) -> dict[str, int]:
    return {name: record.tokens_in for name, record in one.records.items()}


def _model(one: ScoredRun) -> str:
    return str(one.settings.get("llm") or "unknown")
