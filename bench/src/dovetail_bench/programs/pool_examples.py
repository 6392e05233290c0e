"""Examples for the set scorer out of many pools: small and large, messy, asked in a few words.

    dovetail bench run pool_examples EXAMPLES.npz MMQA SPIDER_TRAIN --apart SPIDER \\
        [--messy SPIDER_TRAIN] [--folder .bench/messy]

Half of the questions are asked of the whole corpus, all of them of a pool of 2 to 40 of its
databases, some as keywords, and each pool is asked for its tables by name (training_pools.py). An
example is taken as it is, poorer, and with what sources say of belonging together, as users have
it. `--messy` is a corpus that is asked with abbreviated names and copies too. The weights that are
shipped were trained on training_examples.py; docs/graph.md says what these are worth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from dovetail.domain import TableId
from dovetail.retrieve.graph.belonging import Belonging
from dovetail.retrieve.graph.query_match import QueryMatcher
from dovetail.retrieve.graph.selector import CANDIDATES
from dovetail.retrieve.opening import searcher_of
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, database_of, open_dataset
from dovetail_bench.programs.training_examples import SEED, Example, arrays
from dovetail_bench.programs.training_pools import keywords, messy, named_tables, pools
from dovetail_bench.questions import Question

# Shares of the questions: asked of the whole corpus, as keywords, of a messy corpus.
WHOLE, AS_KEYWORDS, OF_MESSY = 0.5, 0.4, 0.5
# Two tables that join so surely are asked for together.
JOINED = 0.5


class Pool:
    """Some tables of a corpus, to be asked."""

    def __init__(self, searcher: Searcher, kind: str) -> None:
        self._searcher, self._kind = searcher, kind
        self._matcher = QueryMatcher(searcher)
        self._belonging = Belonging(searcher)
        self._by_source = Belonging(searcher, use_sources=True)

    def examples(self, questions: Iterable[Question], asked_as: str = "") -> Iterator[Example]:
        """Three examples of each question; of a family its canonical table is to be found."""
        canonical = self._searcher.families.canonical
        kind = f"{self._kind} {asked_as}".strip()
        for question in questions:
            gold = tuple(sorted(set(map(canonical, question.gold))))
            query = self._searcher.analyse(question.text)
            candidates = self._searcher.search(query, CANDIDATES)
            tables = tuple(one.id for one in candidates)
            if not set(tables).isdisjoint(gold):
                match, pairs = self._matcher.match(query, candidates), self._belonging.pairs(tables)
                found = Example(question, tables, match, pairs, kind, gold)
                yield found
                yield replace(found, pairs=self._by_source.pairs(tables), kind=f"{kind} by source")
                yield found.poorer(Random(f"{SEED}/{kind}/{question.id}"))

    def named(self, seed: object) -> Iterator[Question]:
        """Questions that name a table of the pool, or two that join."""
        joined: dict[TableId, list[TableId]] = {}
        for one, other, score in self._searcher.partners():
            if score > JOINED:
                joined.setdefault(one, []).append(other)
                joined.setdefault(other, []).append(one)
        return named_tables([table.id for table in self._searcher.tables], joined, seed)


def examples(dataset: Dataset, *, tidy: bool = True) -> Iterator[Example]:
    """The questions of a dataset with their candidates, over all of it and over pools of it.

    One that is not `tidy` is asked a share of its questions over pools alone.
    """
    settings = Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    every = dataset.question_set().over(catalog.ids).questions
    questions = every if tidy else drawn(every, OF_MESSY, "messy")
    searcher.vectors([one.text for one in questions])  # together, which takes less time
    if tidy:
        yield from Pool(searcher, "whole").examples(drawn(questions, WHOLE, "whole"))
    databases = {database_of(table) for table in catalog.ids}
    for number, names in enumerate(pools(databases, dataset.name)):
        within = set(names)
        tables = [table for table in catalog.ids if database_of(table) in within]
        pool = Pool(searcher.among(tables), "pool" if tidy else "messy")
        own = [one for one in questions if database_of(one.gold[0]) in within]
        yield from pool.examples(own)
        short = [replace(one, text=keywords(one.text)) for one in drawn(own, AS_KEYWORDS, "short")]
        yield from pool.examples((one for one in short if one.text), "keywords")
        yield from pool.examples(pool.named(number), "names")


def drawn(questions: Sequence[Question], share: float, seed: str) -> tuple[Question, ...]:
    """A share of the questions, drawn by their ids."""
    return tuple(one for one in questions if Random(f"{SEED}/{seed}/{one.id}").random() < share)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("into", type=Path, help="the file of examples to write")
    parser.add_argument("data", nargs="*", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--apart", help="a corpus whose databases are marked")
    parser.add_argument("--messy", help="a corpus that is asked with names abbreviated, and copies")
    parser.add_argument("--folder", type=Path, default=Path(".bench/messy"), help="where it goes")
    options = parser.parse_args()
    apart = list(open_dataset(options.apart).sources) if options.apart else []
    found = [one for data in options.data for one in examples(open_dataset(data))]
    if options.messy:
        found += examples(messy(open_dataset(options.messy), options.folder), tidy=False)
    np.savez(options.into, allow_pickle=False, **arrays(found, apart))
    print(f"wrote {len(found):,} examples to {options.into}")


if __name__ == "__main__":
    main()
