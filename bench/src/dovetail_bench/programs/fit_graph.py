"""Fits the weights of the `graph` selector on a corpus, without the databases of another one.

    dovetail bench run fit_graph MMQA --apart SPIDER

MMQA holds the databases of Spider's dev set. Without their questions nothing of Spider, Bird or
Beaver is in the fit. Users fit nothing: the printed weights stand in
retrieve/graph/scored_candidates.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dovetail.retrieve.graph.features import FEATURES
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset
from dovetail_bench.frontier import Corpus, fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the corpus to fit on")
    parser.add_argument("--apart", type=Path, required=True, help="whose databases are left out")
    options = parser.parse_args()
    apart = open_dataset(options.apart).sources
    corpus = Corpus.of(open_dataset(options.data), Settings())
    kept = [one for one in corpus.questions if one.database not in apart]
    print(f"fitted on {len(kept)} of {len(corpus.questions)} questions")
    for name, weight in zip((*FEATURES, "bias"), fit(kept), strict=True):
        print(f"{name:14s}{weight:6.2f}")


if __name__ == "__main__":
    main()
