"""JAR: re-rank by a program that wants relevant tables which cover the question and join.

Published as Chen, Zhang, Roth, "Is Table Retrieval a Solved Problem? Exploring Join-Aware
Multi-Table Retrieval" (2024). A question is decomposed into concepts; candidates are the dense top
20; `mip.py` chooses exactly K connected tables from relevance (question and table), fit
(sub-question and column) and compatibility (two columns).

Where this differs. The authors' texts of tables and headers name the database; here none is known.
Compatibility is their formula with its embedding half, over columns of one type; for two tables it
is silent on (one has no rows, say), it is what the formula leaves with no value and no word in
common: a quarter of the headers' cosine. So nearly every set is connected, as in the publication.
Sub-questions are those that the authors released with a corpus (`jar:authors`), or a language
model's; without either the question itself is the only one, and the trace says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations, permutations
from pathlib import Path

import numpy as np

from dovetail.arrays import Floats
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Chosen, TableId, TableSet
from dovetail.errors import NotFoundError
from dovetail.models.cache import open_model
from dovetail.ports import LLM
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
from dovetail_bench.baselines.connected import Pair, Problem, Weights
from dovetail_bench.baselines.mip import Limits, Solution, solve
from dovetail_bench.baselines.prompting import strings_in
from dovetail_bench.baselines.ranking import PAPER, Ranking, cosine, nearest_by, words_of
from dovetail_bench.corpus_folder import QUESTIONS
from dovetail_bench.headers import headers_of
from dovetail_bench.prompts import PROMPTS
from dovetail_bench.retrievers import published_searcher
from dovetail_bench.scorings import joins_by

_MOST_SUBQUESTIONS = 8
# Where a corpus keeps what the authors released with it.
_RELEASED, _AUTHORS = Path("jar_extras") / "decomp.json", "authors"
# Join partners that a table is expanded by, at most.
_PARTNERS = 5
_SCHEMA = {
    "type": "object",
    "properties": {"concepts": {"type": "array", "items": {"type": "string"}}},
    "required": ["concepts"],
    "additionalProperties": False,
}


class Compatibility:
    """How well two tables join, as JAR sees it: by a scoring's evidence, else by headers alone."""

    def __init__(self, searcher: Searcher, scoring: str = "jar") -> None:
        self._searcher = searcher
        self._scoring = scoring

    def among(self, tables: Sequence[TableId]) -> dict[Pair, float]:
        """The scores above zero, by places in `tables`, the lower first."""
        scores = {}
        for low, high in combinations(range(len(tables)), 2):
            score = self.between(tables[low], tables[high])
            if score > 0:
                scores[low, high] = score
        return scores

    def between(self, one: TableId, other: TableId) -> float:
        known = self._scores.get(frozenset((one, other)))
        return self._by_header(one, other) if known is None else known

    def partners(self, tables: Sequence[TableId]) -> dict[TableId, float]:
        """Other tables that one of these joins best, and how well."""
        found: dict[TableId, float] = {}
        for table in tables:
            for other, score in self._best.get(table, ()):
                if other not in tables:
                    found[other] = max(score, found.get(other, 0.0))
        return found

    @cached_property
    def _best(self) -> dict[TableId, list[tuple[TableId, float]]]:
        """The partners that join each table best, at most so many."""
        best: dict[TableId, list[tuple[TableId, float]]] = {}
        for pair, score in self._scores.items():  # the surest first
            for one, other in permutations(sorted(pair), 2):
                kept = best.setdefault(one, [])
                if len(kept) < _PARTNERS:
                    kept.append((other, score))
        return best

    @cached_property
    def _scores(self) -> dict[frozenset[TableId], float]:
        graph = joins_by(self._searcher, self._scoring)
        scores: dict[frozenset[TableId], float] = {}
        for edge in graph.edges:  # the surest first
            scores.setdefault(frozenset((edge.left, edge.right)), edge.score)
        return scores

    def _by_header(self, one: TableId, other: TableId) -> float:
        headers = headers_of(self._searcher)
        cosines = headers.of(one) @ headers.of(other).T
        return float(cosines.max(initial=0.0)) / 4


class JarRetriever:
    """Exactly `k` connected tables."""

    def __init__(
        self,
        searcher: Searcher,
        *,
        k: int = 5,
        llm: LLM | None = None,
        candidates: int = 20,
        weights: Weights | None = None,
        scoring: str = "jar",
        limits: Limits | None = None,
        ranking: Ranking = Searcher.dense,
        released: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        require_positive(k=k, candidates=candidates)
        self._searcher = searcher
        self._k = k
        self._llm = llm
        self._candidates = candidates
        self._weights = weights or Weights()
        self._compatibility = Compatibility(searcher, scoring)
        self._limits = limits or Limits()
        self._ranking = ranking
        self._released = released or {}

    def retrieve(self, question: str) -> TableSet:
        found = self._ranking(self._searcher, question, max(self._candidates, self._k))
        decompose = Stage("decompose")
        asked = self._decomposed(question, decompose)
        decompose.facts["subquestions"] = asked
        optimise = Stage("optimise", facts={"candidates": len(found), "k": self._k})
        problem = Problem(
            relevance=np.array([cosine(candidate) for candidate in found]),
            fit=fit(self._searcher, asked, [candidate.id for candidate in found]),
            compatibility=self._compatibility.among([candidate.id for candidate in found]),
            size=min(self._k, len(found)),
        )
        solution = solve(problem, self._weights, self._limits)
        optimise.timeout = int(solution.timeout)
        optimise.facts |= {"status": str(solution.status), "objective": solution.objective}
        chosen = list(self._chosen(found, solution, problem))
        if found and not chosen:
            optimise.fall_back(f"the program is {solution.status}: the dense ranking stands")
            chosen = list(ranked(found[: self._k], "search", "dense ranking"))
        return table_set(question, self._searcher.joins, chosen, [decompose, optimise])

    def _decomposed(self, question: str, stage: Stage) -> list[str]:
        if question in self._released:
            stage.facts["by"] = "the authors"
            return list(self._released[question]) or [question]
        if self._llm is None or not question.strip():
            stage.facts["by"] = "the question itself"
            return [question]
        stage.facts["by"] = self._llm.model_id
        messages = read_prompt("jar_decompose", PROMPTS).fill(question=clipped(question))
        reply = stage.ask(self._llm, messages, schema=_SCHEMA, max_tokens=256)
        concepts = strings_in(reply.text, "concepts")
        if not concepts:
            stage.fall_back("the reply names no concepts: the question stands for itself")
            return [question]
        return concepts[:_MOST_SUBQUESTIONS]

    def _chosen(
        self, found: Sequence[Candidate], solution: Solution, problem: Problem
    ) -> list[Chosen]:
        """The chosen candidates in the order of their relevance, each with its best edge."""
        reasons = []
        for place in solution.tables:
            edges = [edge for edge in solution.edges if place in edge]
            best = max(edges, key=lambda edge: problem.compatibility[edge], default=None)
            joined = ""
            if best is not None:
                partner = found[best[0] + best[1] - place].id
                joined = f", joined to {partner} ({problem.compatibility[best]:.2f})"
            reasons.append(f"in the optimum, dense rank {place + 1}{joined}")
        return [
            Chosen(found[place].id, found[place].relevance, "optimise", reason)
            for place, reason in zip(solution.tables, reasons, strict=True)
        ]


def fit(searcher: Searcher, asked: Sequence[str], tables: Sequence[TableId]) -> Floats:
    """A row per sub-question, a column per table: the cosine of the table's best column.

    A concept may be written `thing:property`, as headers name a table and a column.
    """
    vectors = searcher.vectors([text.replace(":", " ") for text in asked])
    rows = np.zeros((len(asked), len(tables)))
    for place, table in enumerate(tables):
        columns = headers_of(searcher).of(table)
        if len(columns):
            rows[:, place] = (vectors @ columns.T).max(axis=1)
    return rows


def has_subquestions(corpus: Path) -> bool:
    """Whether a corpus has the sub-questions of JAR's authors."""
    return (corpus / _RELEASED).is_file()


def released_subquestions(corpus: Path) -> dict[str, list[str]]:
    """By the text of a question the sub-questions that the authors released with a corpus."""
    file = corpus / _RELEASED
    if not has_subquestions(corpus):
        raise NotFoundError(f"jar:{_AUTHORS} needs the sub-questions of its authors, {file}")
    asked = json.loads((corpus / QUESTIONS).read_text("utf-8"))
    split = json.loads(file.read_text("utf-8"))
    return {str(row["question"]): parts for row, parts in zip(asked, split, strict=True)}


def open_jar(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = ""
) -> JarRetriever:
    """Open the retriever `jar`; `jar:paper` searches the paper's index, `jar:authors` has their
    sub-questions."""
    words = words_of("jar", argument, PAPER, _AUTHORS)
    searcher = published_searcher(catalog, settings)
    return JarRetriever(
        searcher,
        k=k,
        llm=None if _AUTHORS in words else open_model(catalog.folder, settings),
        ranking=nearest_by(searcher, paper=PAPER in words),
        released=released_subquestions(catalog.folder.parent) if _AUTHORS in words else None,
    )
