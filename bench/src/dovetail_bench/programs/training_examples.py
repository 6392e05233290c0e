"""Writes what the set scorer is trained on: scored candidates of questions, in pools of many kinds.

    dovetail bench run training_examples EXAMPLES.npz MMQA SPIDER_TRAIN --apart SPIDER

Each question gives several examples: over the whole pool; over a smaller one, from which databases
that it is not about are left out at random; and over a poorer one, where some tables have no rows,
so that they hold no value and join nothing. Examples over databases of `--apart` are marked, so
that the weights that are shipped can do without them: MMQA holds the databases of Spider's dev set.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np

from dovetail.domain import TableId
from dovetail.retrieve.ask import CANDIDATES
from dovetail.retrieve.groups import Belonging, Pairs, belonging
from dovetail.retrieve.match import QueryMatch, QueryMatcher
from dovetail.retrieve.scorer import PAIR_FEATURES, SET_FEATURES, features, predict, set_input
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, database_of, open_dataset
from dovetail_bench.questions import Question
from dovetail_bench.retrievers import searcher_of

SEED = 7


@dataclass(frozen=True, slots=True)
class Example:
    """The candidates of a question as the scorer sees them, and which of them are gold.

    `kind` says in words what pool it is from, and what was done to it. `logical_gold` is what
    stands for gold where families are one table each.
    """

    question: Question
    tables: tuple[TableId, ...]
    match: QueryMatch
    pairs: Pairs
    kind: str = "whole"
    logical_gold: tuple[TableId, ...] = ()

    @property
    def gold(self) -> tuple[TableId, ...]:
        """The tables to be found."""
        return self.logical_gold or self.question.gold

    def over(self, places: Sequence[int]) -> Example:
        """The same with some of the candidates alone."""
        tables = tuple(self.tables[place] for place in places)
        return replace(
            self,
            tables=tables,
            match=match_among(self.match, places),
            pairs=pairs_among(self.pairs, places),
        )

    def varied(self) -> list[Example]:
        """The example itself and its variants, drawn by the id of the question."""
        rng = Random(f"{SEED}/{self.question.id}")
        return [self, self.smaller(rng), self.poorer(rng), self.smaller(rng).poorer(rng)]

    def smaller(self, rng: Random) -> Example:
        """The same without the candidates of databases drawn at random, those of gold aside."""
        share, own = rng.random(), {database_of(table) for table in self.question.gold}
        others = sorted({database_of(table) for table in self.tables} - own)
        gone = {name for name in others if rng.random() < share}
        kept = [at for at, table in enumerate(self.tables) if database_of(table) not in gone]
        return replace(self.over(kept), kind=f"{self.kind} smaller") if kept else self

    def poorer(self, rng: Random) -> Example:
        """The same with some tables that have no rows: no value in them, no join to them."""
        share = rng.random()
        full = np.array([rng.random() >= share for _ in self.tables], dtype=np.float32)
        both = np.maximum(full[:, None] * full[None], np.eye(len(full), dtype=np.float32))
        match = replace(
            self.match, values=self.match.values * full,
            value_signal=self.match.value_signal * full, gains=self.match.gains * full,
            neighbours=self.match.neighbours * full, joins=self.match.joins * both,
        )  # fmt: skip
        paths = self.pairs.paths * both
        pairs = replace(
            self.pairs, joins=self.pairs.joins * both, paths=paths,
            together=belonging(paths, self.pairs.apart, self.pairs.same_name),
        )  # fmt: skip
        return replace(self, match=match, pairs=pairs, kind=f"{self.kind} poorer")


def match_among(match: QueryMatch, places: Sequence[int]) -> QueryMatch:
    """The match of some of the candidates, the first of them still with the highest score."""
    kept = list(places)
    scores = match.scores[kept]
    scores[0] = scores.max()
    each = (
        "names", "columns", "headers", "gains", "defined", "dense", "value_signal", "neighbours",
    )  # fmt: skip
    return replace(
        match,
        scores=scores,
        words=match.words[:, kept],
        covers=match.covers[:, kept],
        values=match.values[:, kept],
        joins=match.joins[np.ix_(kept, kept)],
        **{name: getattr(match, name)[kept] for name in each},
    )


def pairs_among(pairs: Pairs, places: Sequence[int]) -> Pairs:
    """What there is between each two of some of the candidates."""
    kept = np.ix_(list(places), list(places))
    matrices = (pairs.joins, pairs.paths, pairs.apart, pairs.same_name, pairs.together)
    return Pairs(*(matrix[kept] for matrix in matrices))


def examples(dataset: Dataset) -> Iterator[Example]:
    """The questions of a dataset with their candidates."""
    settings = Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    matcher, together = QueryMatcher(searcher), Belonging(searcher, use_sources=not dataset.pooled)
    asked = dataset.question_set().over(catalog.ids, dataset.families())
    searcher.vectors([one.text for one in asked.questions])  # together, which takes less time
    for question in filter(lambda one: one.answerable, asked.questions):
        query = searcher.analyse(question.text)
        candidates = searcher.search(query, CANDIDATES)
        if candidates:
            tables = tuple(one.id for one in candidates)
            match = matcher.match(query, candidates)
            gold = _offered(question, tables)
            yield Example(question, tables, match, together.pairs(tables), logical_gold=gold)


def _offered(question: Question, tables: Sequence[TableId]) -> tuple[TableId, ...]:
    """The gold tables, of a family the member that is a candidate."""
    family_of = {member: family for family in question.families for member in family}
    return tuple(
        next((one for one in tables if one in family_of.get(table, ())), table)
        for table in question.gold
    )


def arrays(found: Sequence[Example], apart: Collection[str]) -> dict[str, np.ndarray]:
    """Examples as arrays of equal length, padded with candidates that `there` tells from others.

    `apart` are databases whose questions the shipped weights must not see.
    """
    size = (len(found), CANDIDATES)
    rows = np.zeros((*size, len(SET_FEATURES)), dtype=np.float32)
    pairs = np.zeros((*size, CANDIDATES, len(PAIR_FEATURES)), dtype=np.float16)
    needed, there = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    missing = np.zeros(len(found), dtype=np.int64)
    for at, one in enumerate(found):
        count = len(one.tables)
        seen = features(one.match)
        given = set_input(one.match, one.pairs, seen, predict(seen))
        rows[at, :count], pairs[at, :count, :count] = given.rows, given.pairs
        needed[at, :count] = [table in one.gold for table in one.tables]
        there[at, :count] = True
        missing[at] = len(one.gold) - needed[at].sum()
    databases = np.array([database_of(one.question.gold[0]) for one in found])
    return {
        "rows": rows, "pairs": pairs, "needed": needed, "there": there, "missing": missing,
        "database": databases, "apart": np.isin(databases, list(apart)),
        "kind": np.array([one.kind for one in found]),
        "features": np.array(SET_FEATURES), "pair_features": np.array(PAIR_FEATURES),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("into", type=Path, help="the file of examples to write")
    parser.add_argument("data", nargs="+", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--apart", help="a corpus whose databases are marked")
    parser.add_argument("--plain", action="store_true", help="only the whole pool, to test on")
    options = parser.parse_args()
    apart = list(open_dataset(options.apart).sources) if options.apart else []
    found: list[Example] = []
    for data in options.data:
        for one in examples(open_dataset(data)):
            found += [one] if options.plain else one.varied()
    np.savez_compressed(options.into, allow_pickle=False, **arrays(found, apart))
    print(f"wrote {len(found):,} examples to {options.into}")


if __name__ == "__main__":
    main()
