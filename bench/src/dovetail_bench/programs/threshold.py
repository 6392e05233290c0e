"""What the threshold of adjustment does, without a model: the paper's compatibility and ours.

    dovetail bench run threshold DATA ... [--share 1/1] [--keep 2]

In the model's place stands a rule that keeps the nearest tables, so that only the adjustment
differs: `core-t:paper` at several thresholds, and the same over our join scores. Prints F1 @ PR in
percent, the mean number of tables, and the share of questions whose set is another than at 0.5.
With one table kept no threshold matters: any partner raises the mean compatibility of one, 0.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dovetail.domain import TableId
from dovetail.ports import Completion, Json, Message
from dovetail.retrieve.core_t import CoreTRetriever
from dovetail.retrieve.core_t_options import options_of
from dovetail.retrieve.opening import searcher_of
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset
from dovetail_bench.measures import retrieval, score
from dovetail_bench.question_filter import QuestionFilter
from dovetail_bench.questions import Question
from dovetail_bench.retrieval import Experiment
from dovetail_bench.run_config import RunConfig

THRESHOLDS = ("0.3", "0.5", "0.7")
WORDS = {"paper": "paper", "foreign_key": "paper+foreign_key"}
_CONTEXT = 16_384


@dataclass(frozen=True, slots=True)
class KeepsNearest:
    """Stands for a model: it always selects the first so many candidates."""

    count: int
    model_id: str = "nearest"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 1024,
        logprobs: bool = False,
    ) -> Completion:
        del messages, schema, max_tokens, logprobs
        group = {"group_index": 1, "table_indices": [*range(1, self.count + 1)]}
        reply = json.dumps({"groups": [group], "selected_group_index": 1})
        return Completion(reply, tokens_in=0, tokens_out=0, seconds=0.0)


def sets_of(
    searcher: Searcher, words: str, keep: int, questions: Sequence[Question]
) -> list[tuple[TableId, ...]]:
    """The set of every question."""
    options = options_of(words, 10, _CONTEXT)
    retriever = CoreTRetriever(searcher, KeepsNearest(keep), options)
    return [tuple(retriever.retrieve(question.text).ids) for question in questions]


def lines(data: str, share: Fraction, keep: int) -> list[str]:
    """A line for each compatibility and threshold."""
    dataset = open_dataset(data)
    experiment = Experiment.of(
        dataset, QuestionFilter(share=share), RunConfig(runs=dataset.home, settings=Settings())
    )
    searcher = searcher_of(experiment.catalog, experiment.config.settings)
    questions = experiment.questions
    found = []
    for name, words in WORDS.items():
        sets = {at: sets_of(searcher, f"{words}+{at}", keep, questions) for at in THRESHOLDS}
        for at, chosen in sets.items():
            pairs = zip(chosen, questions, strict=True)
            means = retrieval([score(tables, question.gold) for tables, question in pairs])
            other = sum(set(a) != set(b) for a, b in zip(chosen, sets["0.5"], strict=True))
            found.append(
                f"| {dataset.name}, {name} | {at} | {100 * means.f1:.1f} @ {100 * means.pr:.1f} | "
                f"{means.avg_tables:.2f} | {100 * other / len(questions):.1f}% |"
            )
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--share", type=Fraction, default=Fraction(1))
    parser.add_argument("--keep", type=int, default=2, help="tables that the rule selects")
    given = parser.parse_args()
    print("| | threshold | F1 @ PR | tables | other sets |\n|---|---|---|---|---|")
    for data in given.data:
        print("\n".join(lines(data, given.share, given.keep)), flush=True)


if __name__ == "__main__":
    main()
