"""How many members of one family do sets hold, and did the question name them?

    dovetail bench run members SPIDER2 [--k 10]

SPIDER2 is a corpus with a `families.json`. Counted are the sets of `graph` with more than two
members of one of its families; a member is named where the question gives its time or its name.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence

from dovetail.domain import TableSet
from dovetail.retrieve.expand import logical
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.retrieve.opening import searcher_of
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset

# So many members of a family may come unasked: the one that stands for it, and one more.
UNASKED = 2


def crowded(found: TableSet, family_of: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The families with too many members in a set: all, and those that nothing names."""
    count = Counter(family_of[one.id.name] for one in found.tables if one.id.name in family_of)
    unnamed = Counter(
        family_of[one.id.name]
        for one in found.tables
        if one.id.name in family_of and not one.part_of
    )
    return (
        [name for name in sorted(count) if count[name] > UNASKED],
        [name for name in sorted(unnamed) if unnamed[name] > UNASKED],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", help="a corpus with a families.json")
    parser.add_argument("--k", type=int, default=10, help="candidates of the search")
    given = parser.parse_args(arguments)
    dataset, settings = open_dataset(given.data), Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    retriever = logical(GraphRetriever(searcher, k=given.k), searcher)
    family_of = {table: name for name, members in dataset.families().items() for table in members}
    questions = dataset.question_set().over(catalog.ids).questions
    found = [crowded(retriever.retrieve(one.text), family_of) for one in questions]
    print(
        f"{len(questions)} questions: {sum(bool(every) for every, _ in found)} sets have more than "
        f"{UNASKED} members of one family, {sum(bool(unnamed) for _, unnamed in found)} of them "
        "unnamed by the question"
    )


if __name__ == "__main__":
    main()
