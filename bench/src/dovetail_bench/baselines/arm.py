"""ARM: align the question with the corpus, draft connected sets, let a model verify each draft.

Published as Chen, Zhang, Cafarella, Roth, "Can we Retrieve Everything All at Once? ARM: An
Alignment-Oriented LLM-based Retrieval Method" (2025). Three stages: keywords of the question become
n-grams of the corpus and find candidates, which their join partners expand; JAR's program makes a
connected draft of each size; a model picks tables per draft, and its picks are added up.

Where this differs. The authors steer decoding so that a model can only write n-grams of the corpus;
an endpoint offers no such hold, so the model writes freely and `alignment.py` finds the n-grams.
They know every table's database and look for joins inside it; here there is one open corpus, so
drafts can span look-alike tables of unrelated origin. They add up the logits of picks, which few
endpoints tell; here a pick is one vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Chosen, TableId, TableSet
from dovetail.ports import LLM, Message
from dovetail.prompts import read_prompt
from dovetail.retrieve.trace import (
    Stage,
    ranked,
    require_positive,
    table_set,
)
from dovetail.search.query import clipped
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail.text import PromptText
from dovetail_bench.baselines.alignment import Alignment
from dovetail_bench.baselines.connected import Problem, Weights
from dovetail_bench.baselines.jar import Compatibility, fit
from dovetail_bench.baselines.mip import Limits, solve
from dovetail_bench.baselines.prompting import numbers_in, shown, strings_in
from dovetail_bench.baselines.ranking import PAPER, Ranking, nearest_by, words_of
from dovetail_bench.prompts import PROMPTS
from dovetail_bench.replay import needed_model
from dovetail_bench.retrievers import published_searcher

_MOST_KEYWORDS = 8
_KEYWORDS = {
    "type": "object",
    "properties": {"keywords": {"type": "array", "items": {"type": "string"}}},
    "required": ["keywords"],
    "additionalProperties": False,
}
_TABLES = {
    "type": "object",
    "properties": {"tables": {"type": "array", "items": {"type": "integer"}}},
    "required": ["tables"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Drafting:
    """How drafts are made: their sizes, and from how many candidates.

    The candidates are expanded by so many tables that join one of them best.
    """

    sizes: tuple[int, ...] = (2, 3, 4)
    candidates: int = 20
    expansion: int = 10
    weights: Weights = field(default_factory=Weights)
    scoring: str = "jar"
    limits: Limits = field(default_factory=Limits)


class ArmRetriever:
    """The tables that a model stands by over all drafts; `k` is for the ranking it falls back to.

    A table stays if it was picked in half of its showings or more.
    """

    def __init__(
        self,
        searcher: Searcher,
        llm: LLM,
        *,
        k: int = 5,
        drafting: Drafting | None = None,
        ranking: Ranking = Searcher.dense,
    ) -> None:
        self._drafting = drafting or Drafting()
        require_positive(k=k, sizes=min(self._drafting.sizes, default=0))
        self._searcher = searcher
        self._llm = llm
        self._k = k
        self._alignment = Alignment(searcher, ranking)
        self._compatibility = Compatibility(searcher, self._drafting.scoring)

    def retrieve(self, question: str) -> TableSet:
        align, draft, verify = Stage("align"), Stage("draft"), Stage("verify")
        keywords = self._keywords(question, align)
        ngrams = list(
            dict.fromkeys(ngram for word in keywords for ngram in self._alignment.aligned(word))
        )
        found = self._alignment.candidates(question, ngrams, self._drafting.candidates)
        align.facts |= {"keywords": keywords, "ngrams": ngrams, "candidates": len(found)}
        found = self._expanded(found)
        drafts = self._drafts(keywords, found, draft)
        draft.facts["drafts"] = [[str(found[place].id) for place in one] for one in drafts]
        support = self._verified(question, found, drafts, verify)
        chosen = [
            Chosen(found[place].id, found[place].relevance, "verify", f"support {value:.2f}")
            for place, value in sorted(support.items(), key=lambda item: (-item[1], item[0]))
            if value >= 0.5
        ]
        if found and not chosen:
            verify.fall_back("no table was picked: the ranking of the candidates stands")
            chosen = list(ranked(found[: self._k], "search", "aligned ranking"))
        return table_set(question, self._searcher.joins, chosen, [align, draft, verify])

    def _expanded(self, found: Sequence[Candidate]) -> list[Candidate]:
        """The candidates and the tables that join one best, each less relevant than the last."""
        partners = self._compatibility.partners([one.id for one in found])
        best = sorted(partners, key=lambda table: (-partners[table], table))
        least = min((one.relevance for one in found), default=0.0)
        return [*found] + [
            Candidate(table, least * partners[table], {"joined": partners[table]})
            for table in best[: self._drafting.expansion]
        ]

    def _keywords(self, question: str, stage: Stage) -> list[str]:
        if not question.strip():
            return []
        messages = read_prompt("arm_keywords", PROMPTS).fill(question=clipped(question))
        reply = stage.ask(self._llm, messages, schema=_KEYWORDS, max_tokens=256)
        keywords = strings_in(reply.text, "keywords")[:_MOST_KEYWORDS]
        if not keywords:
            stage.fall_back("the reply names no keywords: the question stands for itself")
            return [clipped(question)]
        return keywords

    def _drafts(
        self, keywords: Sequence[str], found: Sequence[Candidate], stage: Stage
    ) -> list[tuple[int, ...]]:
        """A connected set of each size, by places of candidates; no set twice."""
        if not found:
            return []
        tables = [candidate.id for candidate in found]
        relevance = np.array([candidate.relevance for candidate in found])
        fits = fit(self._searcher, keywords, tables)
        compatibility = self._compatibility.among(tables)
        drafts = []
        for size in sorted({min(size, len(found)) for size in self._drafting.sizes}):
            problem = Problem(relevance, fits, compatibility, size)
            solution = solve(problem, self._drafting.weights, self._drafting.limits)
            stage.timeout += solution.timeout
            if not solution.tables:
                stage.fall_back(f"a draft of {size} is {solution.status}: the first {size} stand")
            drafts.append(solution.tables or tuple(range(size)))
        return list(dict.fromkeys(drafts))

    def _verified(
        self,
        question: str,
        found: Sequence[Candidate],
        drafts: Sequence[tuple[int, ...]],
        stage: Stage,
    ) -> dict[int, float]:
        """For every candidate shown, the number of its picks over that of its showings."""
        showings = Counter(place for draft in drafts for place in draft)
        picks: Counter[int] = Counter()
        for draft in drafts:
            asked = self._asked(question, [found[place].id for place in draft])
            reply = stage.ask(self._llm, asked, schema=_TABLES)
            for number in numbers_in(reply.text, "tables"):
                if 1 <= number <= len(draft):
                    picks[draft[number - 1]] += 1
        return {place: picks[place] / showings[place] for place in picks}

    def _asked(self, question: str, tables: Sequence[TableId]) -> Sequence[Message]:
        lines = [
            shown(number, self._searcher.catalog[table])
            for number, table in enumerate(tables, start=1)
        ]
        prompt = read_prompt("arm_verify", PROMPTS)
        return prompt.fill(question=clipped(question), draft=PromptText("\n".join(lines)))


def open_arm(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = ""
) -> ArmRetriever:
    """Open the retriever `arm`, or `arm:paper` over the paper's index."""
    words = words_of("arm", argument, PAPER)
    model = needed_model(catalog.folder, settings, "retriever 'arm'")
    searcher = published_searcher(catalog, settings)
    return ArmRetriever(searcher, model, k=k, ranking=nearest_by(searcher, paper=PAPER in words))
