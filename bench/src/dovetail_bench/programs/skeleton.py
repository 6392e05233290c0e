"""How often a skeleton alone gives the right rows: dovetail bench run skeleton DATA

Draws questions of at most so many gold tables (`--tables`), asks each as `dovetail ask` does, with
no language model, runs the skeleton of the set, and holds its rows against those of the gold SQL
(EX). Questions whose gold SQL cannot run are left out. `settled` are skeletons that say of no word
that it is open, `settled_right` those of them that are right. The catalog knows no declared keys
and goes by no source, as in all pooled corpora; `--declared` lets it know the keys.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

from dovetail.api.catalog import Catalog
from dovetail.errors import GuardError, QueryError
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset
from dovetail_bench.errors import DatasetError
from dovetail_bench.questions import Question
from dovetail_bench.sql_answer import difference
from dovetail_bench.sql_gold import Gold, GoldResults, unusable


def main() -> None:
    options = _options()
    settings = Settings(refuse_below=0.0, use_notes=False)
    dataset = replace(open_dataset(options.data), declared=options.declared)
    with Catalog(dataset.catalog(settings), settings) as catalog:
        gold = GoldResults(catalog.reader, catalog._executor, dataset.dialects)  # noqa: SLF001
        asked = [
            question
            for question in dataset.question_set().over(catalog.ids).questions
            if 0 < len(question.gold) <= options.tables and not unusable(question)
        ]
        random.Random(options.seed).shuffle(asked)
        counts: Counter[str] = Counter()
        for question in asked:
            if counts["questions"] == options.questions:
                break
            try:
                rows = gold.of(question)
            except DatasetError:
                continue
            counts["questions"] += 1
            counts.update(_judged(catalog, question, rows, show=options.show))
    right, total = counts["right"], max(counts["questions"], 1)
    print(json.dumps({"dataset": dataset.name, **counts, "ex": round(right / total, 4)}))


def _judged(catalog: Catalog, question: Question, gold: Gold, *, show: bool) -> list[str]:
    """What is true of a question's skeleton: that it runs, and that it is right."""
    found = catalog.ask(question.text, selector="graph")
    verdicts = ["all_tables"] if set(question.gold) <= set(found.ids) else []
    try:
        wrong = difference(catalog.sql(found.skeleton), gold) if found else "no table fits"
    except (GuardError, QueryError) as error:
        wrong = f"it does not run: {error}"
    else:
        verdicts.append("runs")
    if "-- open: " not in found.skeleton:
        verdicts += ["settled"] if wrong else ["settled", "settled_right"]
    if show and wrong:
        print(f"{question.text}\n  {question.sql}\n  {' '.join(found.skeleton.split())}\n  {wrong}")
    return [*verdicts, *([] if wrong else ["right"])]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="skeleton", description=__doc__)
    parser.add_argument("data", type=Path, help="a corpus")
    parser.add_argument("--tables", type=int, default=2, help="gold tables at most")
    parser.add_argument("--questions", type=int, default=100, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=42, help="draws them")
    parser.add_argument("--declared", action="store_true", help="with declared keys")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    return parser.parse_args()


if __name__ == "__main__":
    main()
