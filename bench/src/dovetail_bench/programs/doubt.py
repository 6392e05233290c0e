"""Questions at the edge: the name of a table and no more, and questions that no table fits.

    dovetail bench run doubt DATA DATA [DATA ...] [--limit 150]

Short questions are the name of a table as it is spelled, "list the …" and "How many … are there?".
`found` is the share of sets that hold a table of the name, `silent` the share of sets with a table
that no word of the question means; connectors are not counted.

Questions of each corpus are also asked over every other corpus that does not hold their database,
where hardly a table fits them. `AUC` is the probability that a question of the corpus seems more
answerable than such a stranger, `at 5%` the share of strangers refused where a bound refuses 5% of
the corpus's own. The last columns are the shares of both that are refused at the setting
`refuse_below`, and those below a confidence of 0.7. What decides was
fitted on MMQA and Spider (fit_answerable.py); the other corpora are out of sample.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from dovetail.names.words import spelled
from dovetail.retrieve.graph.connect import ConnectedSet
from dovetail.retrieve.graph.selector import BREADTH, GraphRetriever
from dovetail.retrieve.opening import searcher_of
from dovetail.search.query import query_words
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, database_of, open_dataset
from dovetail_bench.measures import area_under_curve

T = TypeVar("T")

REFUSE_BELOW = Settings().refuse_below
UNSURE = 0.7
HEADS = (
    "corpus", "short questions", "found", "silent", "AUC", "at 5%", "refused: own", "strangers",
    "unsure: own", "strangers",
)  # fmt: skip
FORMS = ("{}", "list the {}", "How many {} are there?")


@dataclass(frozen=True, slots=True)
class Graph:
    """The selector over a corpus, at its default breadth."""

    searcher: Searcher
    retriever: GraphRetriever

    @classmethod
    def over(cls, dataset: Dataset) -> Graph:
        settings = Settings()
        searcher = searcher_of(dataset.catalog(settings), settings)
        return cls(searcher, GraphRetriever(searcher))

    def chosen(self, question: str) -> tuple[ConnectedSet, float, float]:
        """The set, the confidence in it, and the probability that there is an answer."""
        scored = self.retriever.score(question)
        found = self.retriever.select(scored, BREADTH)
        sure = self.retriever.confidence(scored, found)
        return found, sure, self.retriever.answerable(question, scored)

    def short(self, limit: int) -> tuple[int, float, float]:
        """How many short questions, and the shares `found` and `silent`."""
        names = sorted({spelled(table.name) for table in self.searcher.catalog.ids})
        every = [(name, form.format(name)) for name in names if query_words(name) for form in FORMS]
        questions = spaced(every, limit)
        hits, silent = 0, 0
        for name, question in questions:
            found, _, _ = self.chosen(question)
            query = self.searcher.analyse(question)
            said = {place for term in (*query.terms, *query.value_terms) for place in term.tables}
            hits += any(spelled(table.name) == name for table in found.tables)
            silent += any(self.searcher.places[table] not in said for table in found.tables)
        return len(questions), hits / len(questions), silent / len(questions)


def spaced(items: Sequence[T], limit: int) -> list[T]:
    """At most `limit` of some items, evenly spaced."""
    count = min(limit, len(items))
    return [items[len(items) * place // count] for place in range(count)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--limit", type=int, default=150, help="questions of each kind and corpus")
    given = parser.parse_args(arguments)
    datasets = [open_dataset(data) for data in given.data]
    questions = [spaced(dataset.questions(), given.limit) for dataset in datasets]
    print(f"| {' | '.join(HEADS)} |")
    print("|---" * len(HEADS) + "|")
    for place, dataset in enumerate(datasets):
        graph = Graph.over(dataset)
        count, found, silent = graph.short(given.limit)
        others = [one for at, listed in enumerate(questions) if at != place for one in listed]
        strangers = [one for one in others if database_of(one.gold[0]) not in dataset.sources]
        own = [graph.chosen(one.text)[1:] for one in questions[place]]
        strange = [graph.chosen(one.text)[1:] for one in strangers]
        (sure, likely), (doubted, unlikely) = (
            list(zip(*part, strict=True)) for part in (own, strange)
        )
        bound = sorted(likely)[len(likely) // 20]
        shares = [
            found, silent, _below(unlikely, bound), _below(likely, REFUSE_BELOW),
            _below(unlikely, REFUSE_BELOW), _below(sure, UNSURE), _below(doubted, UNSURE),
        ]  # fmt: skip
        percent = [f"{100 * share:.1f}" for share in shares]
        auc = f"{area_under_curve(likely, unlikely):.3f}"
        cells = [dataset.name, f"{count:,}", *percent[:2], auc, *percent[2:]]
        print(f"| {' | '.join(cells)} |", flush=True)


def _below(values: Sequence[float], bound: float) -> float:
    return sum(one < bound for one in values) / len(values) if values else 0.0


if __name__ == "__main__":
    main()
