"""Calls of a model saved by the confidence of `graph`, from recorded replies; and without any.

    dovetail bench run hybrid REPLIES DATA:SHARE ... [--model NAME] [--all 300]

REPLIES has a folder of recorded replies to compact prompts for each corpus, by its name (as
`programs/adjustment.py` takes them). Each question is answered by `graph` and by
`core-t:compact+auto` with its recorded reply; a question whose prompt has changed since has none
and is left out, and the first row says how many are. Where the confidence of `graph` is below a
bound, the set is the model's. `for equal F1` is the lowest bound with the F1 of asking always: it
is fitted on the very questions, every other bound is given. A second table needs no reply: over
questions from all over the corpus, how right `graph` is above each bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dovetail.errors import PendingError
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.retrieve.opening import searcher_of
from dovetail.retrieve.registry import open_retriever
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.measures import Retrieval, Score, retrieval, score
from dovetail_bench.question_filter import QuestionFilter
from dovetail_bench.questions import Question
from dovetail_bench.reporting.model_calls import Mixed, Mixture

PAID = "core-t:compact+auto"
CANDIDATES = 10
BOUNDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


@dataclass(frozen=True, slots=True)
class Free:
    """What `graph` finds for a question, and how sure it is."""

    sure: float
    score: Score


@dataclass(frozen=True, slots=True)
class Measured:
    """A corpus: its questions with a reply as a mixture, those without, and `graph` on more."""

    name: str
    mixture: Mixture
    waiting: int
    free: Sequence[Free]


def measure(dataset: Dataset, share: Fraction, llm: str, limit: int) -> Measured:
    """Ask `graph`, and the model as far as its replies are recorded."""
    settings = Settings(llm=llm, use_sources=False, refuse_below=0.0)
    catalog = dataset.catalog(settings)
    graph = GraphRetriever(searcher_of(catalog, settings), breadth=settings.breadth)
    model = open_retriever(PAID, catalog, k=CANDIDATES, settings=settings)
    every = dataset.question_set().over(catalog.ids, dataset.families()).questions
    asked = QuestionFilter(share=share).apply(every, catalog)
    rows = []
    for question in asked:
        try:
            paid = model.retrieve(question.text)
        except PendingError:
            continue
        tokens = sum(int(str(stage.get("tokens_in", 0))) for stage in paid.trace)
        free = _free(graph, question)
        rows.append((free.sure, question.id, free, score(paid.ids, question.gold), tokens))
    rows.sort(key=lambda row: row[:2])
    mixture = Mixture(
        sure=[free.sure for _, _, free, _, _ in rows],
        free=[free.score for _, _, free, _, _ in rows],
        paid=[paid for _, _, _, paid, _ in rows],
        tokens=[tokens for *_, tokens in rows],
    )
    step = max(1, len(every) // limit)
    more = [_free(graph, question) for question in every[::step]]
    return Measured(dataset.name, mixture, len(asked) - len(rows), more)


def _free(graph: GraphRetriever, question: Question) -> Free:
    found = graph.retrieve(question.text)
    return Free(found.confidence or 0.0, score(found.ids, question.gold))


def curve(measured: Measured, setting: float) -> Iterator[list[str]]:
    """The rows of a corpus: never asked, asked below each bound, always, and for equal F1."""
    mixture = measured.mixture
    count = len(mixture.sure)
    yield [f"{measured.name}: {count} with a reply, {measured.waiting} without", *[""] * 4]
    bounds = sorted({*BOUNDS, setting})
    yield _row("never", mixture.at(0))
    for bound in bounds:
        asked = sum(sure < bound for sure in mixture.sure)
        mark = " (the setting)" if bound == setting else ""
        yield _row(f"below {bound:g}{mark}", mixture.at(asked))
    yield _row("always", mixture.at(count))
    equal = mixture.equal()
    lowest = "1" if equal.below is None else f"{equal.below:.3f}"
    yield _row(f"for equal F1: below {lowest} (fitted)", equal)


def _row(what: str, mixed: Mixed) -> list[str]:
    saved = 100 - mixed.share
    return [what, f"{mixed.share:.0f}", f"{saved:.0f}", _f1(mixed.measured), f"{mixed.tokens:.0f}"]


def _f1(measured: Retrieval) -> str:
    return f"{100 * measured.f1:.1f} @ {100 * measured.pr:.1f}"


def above(measured: Measured) -> Iterator[list[str]]:
    """The rows of a corpus: how right `graph` is where its confidence reaches each bound."""
    for bound in (0.0, *BOUNDS):
        sure = [one.score for one in measured.free if one.sure >= bound]
        if not sure:
            continue
        share = 100 * len(sure) / len(measured.free)
        exact = 100 * sum(one.f1 == 1 for one in sure) / len(sure)
        name = f"{measured.name} ({len(measured.free)})"
        yield [name, f"{bound:g}", f"{share:.0f}", _f1(retrieval(sure)), f"{exact:.0f}"]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each corpus, and print two tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("replies", type=Path)
    parser.add_argument("data", nargs="+", metavar="DATA:SHARE")
    parser.add_argument("--model", default="frontier")
    parser.add_argument("--all", type=int, default=300, help="questions of each for graph alone")
    given = parser.parse_args(arguments)
    found = []
    for each in given.data:
        data, _, share = each.rpartition(":")
        llm = f"replay:{given.replies / Path(data).name}?model={given.model}"
        found.append(measure(open_dataset(data), Fraction(share), llm, given.all))
    heads = ("asked where the confidence is", "asked %", "calls saved %", "F1 @ PR", "tokens")
    rows = [row for one in found for row in curve(one, Settings().ask_below)]
    print(table(heads, rows))
    heads = ("corpus (questions)", "confidence from", "questions %", "F1 @ PR", "perfect %")
    print(f"\n{table(heads, [row for one in found for row in above(one)])}")


if __name__ == "__main__":
    main()
