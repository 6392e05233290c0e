"""Questions at the edge: the name of a table and no more, and questions that no table fits.

    python benchmarks/doubt.py DATA DATA [DATA ...] [--limit 150]

Short questions are the name of a table as it is spelled, "list the …" and "How many … are there?".
`found` is the share of sets that hold a table of the name, `silent` the share of sets with a table
that no word of the question means; connectors are not counted.

Questions of each corpus are also asked over every other corpus that does not hold their database,
where hardly a table fits them. `AUC` is the probability that the selector is more confident of a
question of the corpus than of such a stranger. The last two columns are the shares of both below
the confidence at which `hybrid` asks a model.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from dovetail.bench.datasets import Dataset, database_of, open_dataset
from dovetail.bench.measures import area_under_curve
from dovetail.retrieve.graph.connect import ConnectedSet
from dovetail.retrieve.graph.selector import BREADTH, GraphRetriever
from dovetail.retrieve.hybrid import ASK_BELOW
from dovetail.retrieve.opening import searcher_of
from dovetail.search.embedding_text import spelled
from dovetail.search.query_terms import query_words
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

T = TypeVar("T")

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

    def chosen(self, question: str) -> tuple[ConnectedSet, float]:
        """The set, and the confidence in it."""
        scored = self.retriever.score(question)
        found = self.retriever.select(scored, BREADTH)
        return found, self.retriever.confidence(scored, found)

    def short(self, limit: int) -> tuple[int, float, float]:
        """How many short questions, and the shares `found` and `silent`."""
        names = sorted({spelled(table.name) for table in self.searcher.catalog.ids})
        every = [(name, form.format(name)) for name in names if query_words(name) for form in FORMS]
        questions = spaced(every, limit)
        hits, silent = 0, 0
        for name, question in questions:
            found, _ = self.chosen(question)
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
    print("| corpus | short questions | found | silent | AUC | ask_below: own | strangers |")
    print("|---|---|---|---|---|---|---|")
    for place, dataset in enumerate(datasets):
        graph = Graph.over(dataset)
        count, found, silent = graph.short(given.limit)
        others = [one for at, listed in enumerate(questions) if at != place for one in listed]
        strangers = [one for one in others if database_of(one.gold[0]) not in dataset.sources]
        own = [graph.chosen(one.text)[1] for one in questions[place]]
        strange = [graph.chosen(one.text)[1] for one in strangers]
        shares = [found, silent, *(_below(sure) for sure in (own, strange))]
        percent = [f"{100 * share:.1f}" for share in shares]
        auc = f"{area_under_curve(own, strange):.3f}"
        cells = [dataset.name, f"{count:,}", *percent[:2], auc, *percent[2:]]
        print(f"| {' | '.join(cells)} |", flush=True)


def _below(sure: Sequence[float]) -> float:
    return sum(one < ASK_BELOW for one in sure) / len(sure) if sure else 0.0


if __name__ == "__main__":
    main()
