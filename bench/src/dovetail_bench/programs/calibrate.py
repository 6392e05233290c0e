"""Fits and measures how far sets can be relied on: whether there is an answer, and the confidence.

    dovetail bench run calibrate spider_dev bird_dev beaver --pile FOLDER CATALOG --pile brewery …
        --companies FOLDER

Corpora are as `dovetail bench` takes them; a pile is a FOLDER as `company` has it with its catalog,
or one of our own (`brewery`, `insurer`); companies are those that `dovetail bench mess` has made in
a folder. Questions that cannot be answered are the piles' and companies' own; for a corpus those of
its own field in `missing.toml`, and strangers: questions of the other corpora. Piles have short
questions of either kind in `short.toml`, by which whether there is an answer is fitted alone.

A logistic regression tells answerable questions by the signs of `retrieve/doubt.py`. The F1 that
sets have had (0 where there is no answer) is fitted as the product of two, one of what their
probabilities promise, one of an answer. Each set of questions is measured by weights that were
fitted without it, companies also without the corpora and these without companies, which may be made
of them. `AUC`: how well
answerable questions are told from those of the same field that are not, by the probability of
an answer and by the confidence. `low`: how many of both have a confidence below 0.3. `error`: the
expected calibration error of the confidence over ten equal bins, strangers left out. The last line
has the piles pooled. Then come the weights fitted on all.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

import dovetail
from dovetail.domain import TableId
from dovetail.retrieve.ask import CANDIDATES, GraphRetriever
from dovetail.retrieve.doubt import (
    BIAS,
    WEIGHTS,
    WORD_WEIGHTS,
    clipped_logit,
    expected_f1,
)
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.corpora import questions as own_questions
from dovetail_bench.datasets import Dataset, database_of, open_dataset
from dovetail_bench.directory import logical
from dovetail_bench.measures import area_under_curve, score
from dovetail_bench.programs.company import Names, read_questions
from dovetail_bench.programs.piles import PILES
from dovetail_bench.retrievers import searcher_of

LOW, BINS = 0.3, 10
# Of a set, questions of either kind beyond so many weigh together as much as so many; piles and
# made companies count double. The share of questions without an answer: half where the two are
# told apart, and as users may ask them where F1 is expected.
_MOST, _EVEN, _USUAL = 60, 0.5, 0.2
_TIMES = {"pile": 2.0, "companies": 2.0, "corpus": 1.0}
_RIDGE, _STEPS, _SETTLED = 3.0, 40, 1e-6
# Where the search for the weights of the confidence begins, and its steps.
_START, _FIRST_STEP, _LAST_STEP = (0.5, 0.0, 1.0, 0.5), 0.3, 0.005

Doubles = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """A question that was asked: its signs, what the set promised and the F1 that it had.

    `own`: it has an answer. `stranger`: it is a question of another corpus. `short`: it is one of
    our short ones, of which no sets are noted, so that no F1 is known.
    """

    signs: tuple[float, ...]
    promised: float
    f1: float
    own: bool = True
    stranger: bool = False
    short: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a pile, of made companies or of a corpus."""

    name: str
    rows: Sequence[Row]
    kind: Literal["pile", "companies", "corpus"] = "corpus"

    def foreign(self, other: Part) -> bool:
        """Whether another part has none of the same databases for sure."""
        return other is not self and {self.kind, other.kind} != {"companies", "corpus"}


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights of an answer and of the confidence, the bias last."""

    answer: Doubles
    confidence: Doubles

    @classmethod
    def of(cls, parts: Sequence[Part], answer: Doubles | None = None) -> Fitted:
        """Fit both to the rows of some parts, or the confidence alone to given weights."""
        rows = [row for part in parts for row in part.rows]
        signs, own = np.array([row.signs for row in rows]), np.array([row.own for row in rows])
        weights = np.concatenate([_weights(part) for part in parts])
        if answer is None:
            answer = logistic(signs, own.astype(float), _with_share(weights, own, _EVEN), _RIDGE)
        known = np.array([not row.short for row in rows])
        both = _both(rows, likely(answer, signs))[known]
        f1 = np.array([row.f1 for row in rows])[known]
        usual = _with_share(weights[known], own[known], _USUAL)
        return cls(answer, product(both, f1, usual))

    def measure(self, rows: Sequence[Row]) -> tuple[Doubles, Doubles]:
        """The probability of an answer and the confidence of each row."""
        answer = likely(self.answer, np.array([row.signs for row in rows]))
        return answer, expected(self.confidence, _both(rows, answer))


def _weights(part: Part) -> Doubles:
    counts = Counter(row.own for row in part.rows)
    return np.array([_TIMES[part.kind] * min(1.0, _MOST / counts[row.own]) for row in part.rows])


def _with_share(weights: Doubles, own: npt.NDArray[np.bool_], share: float) -> Doubles:
    """The weights with so much of them on questions without an answer, one on average."""
    odds = share / (1 - share) * weights[own].sum() / max(weights[~own].sum(), 1e-9)
    scaled = np.where(own, weights, odds * weights)
    even: Doubles = scaled * len(scaled) / scaled.sum()
    return even


def _both(rows: Sequence[Row], answer: Doubles) -> Doubles:
    pairs = zip(rows, answer.tolist(), strict=True)
    return np.array([[clipped_logit(row.promised), clipped_logit(one)] for row, one in pairs])


def likely(weights: Doubles, features: Doubles) -> Doubles:
    """The probabilities that a logistic regression gives to rows of features."""
    found: Doubles = 1 / (1 + np.exp(-(features @ weights[:-1] + weights[-1])))
    return found


def logistic(features: Doubles, wanted: Doubles, weights: Doubles, ridge: float) -> Doubles:
    """The weights of features and the bias that come nearest to what is wanted, from 0 to 1.

    Newton's method for a logistic regression over features of like spread, with a ridge.
    """
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    rows = np.hstack([(features - mean) / spread, np.ones((len(features), 1))])
    ridges = np.diag([ridge] * features.shape[1] + [1e-6])
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        now = 1 / (1 + np.exp(-rows @ found))
        curvature = (rows * (weights * now * (1 - now))[:, None]).T @ rows + ridges
        step = np.linalg.solve(curvature, rows.T @ (weights * (now - wanted)) + ridges @ found)
        found -= step
        if np.abs(step).max() < _SETTLED:
            break
    raw = found[:-1] / spread
    return np.append(raw, found[-1] - raw @ mean)


def expected(weights: Doubles, both: Doubles) -> Doubles:
    """The F1 to expect as `relied_on` has it, from the logits of promise and answer."""
    where_answered = likely(weights[:2], both[:, :1])
    return where_answered * likely(weights[2:], both[:, 1:])


def product(both: Doubles, wanted: Doubles, weights: Doubles) -> Doubles:
    """The weights by which `expected` comes nearest to what is wanted, from 0 to 1.

    A search along each weight by turns, with steps that are halved where none helps.
    """

    def loss(found: Doubles) -> float:
        made = np.clip(expected(found, both), 1e-6, 1 - 1e-6)
        return -float((weights * (wanted * np.log(made) + (1 - wanted) * np.log(1 - made))).sum())

    found, step = np.array(_START), _FIRST_STEP
    least = loss(found)
    while step > _LAST_STEP:
        moved = [found + sign * step * one for one in np.eye(len(found)) for sign in (-1, 1)]
        losses = [loss(one) for one in moved]
        if min(losses) < least:
            least, found = min(losses), moved[int(np.argmin(losses))]
        else:
            step /= 2
    return found


def calibration_error(confidences: Doubles, f1: Doubles) -> float:
    """The mean distance between the confidence and the F1 of equal bins, by how many are in each.

    >>> round(calibration_error(np.array([0.91, 0.95, 0.2]), np.array([1.0, 1.0, 0.5])), 4)
    0.1467
    """
    bins = np.minimum((confidences * BINS).astype(int), BINS - 1)
    parts = (
        abs(confidences[bins == at].mean() - f1[bins == at].mean()) * np.mean(bins == at)
        for at in np.unique(bins)
    )
    return float(sum(parts))


def line(name: str, rows: Sequence[Row], answer: Doubles, confidence: Doubles) -> str:
    """A row of the table: how one set of questions does."""
    short = np.array([row.short for row in rows])
    own = np.array([row.own for row in rows]) & ~short
    near = np.array([not row.own and not row.stranger for row in rows]) & ~short
    asked = own | near
    f1 = np.array([row.f1 for row in rows])
    aucs = (
        f"{area_under_curve(each[own].tolist(), each[near].tolist()):.3f}"
        for each in (answer, confidence)
    )
    low = (f"{np.count_nonzero(confidence[kind] < LOW)} of {kind.sum()}" for kind in (own, near))
    error = calibration_error(confidence[asked], f1[asked])
    return f"| {' | '.join((name, *aucs, *low, f'{error:.3f}'))} |"


def _row(
    searcher: Searcher, retriever: GraphRetriever, question: str, f1: float, **kind: bool
) -> Row:
    """The row of a question whose set has been scored."""
    query = searcher.analyse(question)
    scored = retriever.score(query, searcher.search(query, CANDIDATES))
    covered = retriever.doubter.covered(query, scored)
    chosen = retriever.connect(scored, retriever.readings(scored)[0])
    probabilities = [scored.by_table.get(table, 0.0) for table in chosen.ids]
    promised = expected_f1(probabilities, float(scored.probabilities.sum()))
    return Row(retriever.doubter.signs(query, scored, covered), promised, f1, **kind)


def pile_rows(folder: Path, catalog: dovetail.Catalog) -> Iterator[Row]:
    """The rows of a pile as `company` has it."""
    retriever = GraphRetriever(catalog.searcher, use_sources=True)
    names = Names(folder)
    for asked in read_questions(folder, names):
        got = names.of_all(retriever.retrieve(asked.text).ids)
        f1 = max((score(got, wanted).f1 for wanted in asked.accepted if wanted), default=0.0)
        yield _row(catalog.searcher, retriever, asked.text, f1, own=asked.answerable)
    for kind, texts in _asked("short.toml").get(folder.name, {}).items():
        flags = {"own": kind == "answered", "stranger": kind == "strange", "short": True}
        for text in texts:
            yield _row(catalog.searcher, retriever, text, 0.0, **flags)


def own_pile_rows(name: str) -> Iterator[Row]:
    """The rows of one of our own piles."""
    with tempfile.TemporaryDirectory() as folder:
        catalog, questions = PILES[name](Path(folder))
        retriever = GraphRetriever(catalog.searcher, use_sources=True)
        for asked in questions:
            got = set(map(str, retriever.retrieve(asked["question"]).ids))
            accepted = [one for one in (asked["tables"], *asked.get("accepted", ())) if one]
            f1 = max((score(got, wanted).f1 for wanted in accepted), default=0.0)
            yield _row(catalog.searcher, retriever, asked["question"], f1, own=bool(accepted))


def company_rows(folder: Path) -> Iterator[Row]:
    """The rows of the made companies in a folder."""
    for file in sorted(folder.glob("*/dataset.json")):
        dataset = open_dataset(file.parent)
        read = dataset.catalog()
        with dovetail.open(read.folder) as catalog:
            retriever = GraphRetriever(catalog.searcher, use_sources=True)
            for one in dataset.question_set().over(read.ids, dataset.families()).questions:
                got, gold = (
                    logical(ids, one.families)
                    for ids in (retriever.retrieve(one.text).ids, one.gold)
                )
                f1 = score(got, gold).f1 if gold else 0.0
                yield _row(catalog.searcher, retriever, one.text, f1, own=bool(gold))


def corpus_rows(dataset: Dataset, others: Sequence[Dataset], limit: int) -> Iterator[Row]:
    """The rows of a corpus: its own questions, missing ones of its field, and strangers."""
    settings = Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    retriever = GraphRetriever(searcher)
    for one in spaced(dataset.question_set().over(catalog.ids).questions, limit):
        f1 = score(retriever.retrieve(one.text).ids, one.gold).f1
        yield _row(searcher, retriever, one.text, f1)
    for text in missing(dataset.name):
        yield _row(searcher, retriever, text, 0.0, own=False)
    for other in others:
        for one in spaced(other.questions(), limit // 8):
            if _database(one.gold) in dataset.sources:
                continue
            yield _row(searcher, retriever, one.text, 0.0, own=False, stranger=True)


def _database(gold: Sequence[TableId]) -> str:
    return database_of(gold[0]) if gold else ""


def missing(corpus: str) -> list[str]:
    """Our questions of a corpus's own field that it cannot answer."""
    found: list[str] = _asked("missing.toml").get(corpus, [])
    return found


def _asked(name: str) -> dict[str, Any]:
    """What a file of our own questions has, by corpus or pile."""
    return tomllib.loads((Path(own_questions.__path__[0]) / name).read_text("utf-8"))


def spaced(items: Sequence[T], limit: int) -> list[T]:
    """At most `limit` of some items, evenly spaced."""
    count = min(limit, len(items))
    return [items[len(items) * place // count] for place in range(count)]


def report(parts: Sequence[Part], answer_kept: Doubles | None = None) -> Iterator[str]:
    """The table of parts, each by weights fitted without it, and the weights fitted on all.

    `answer_kept`: weights of an answer that are not fitted.
    """
    yield "| left out | AUC, answer | AUC, confidence | low, own | low, others | error |"
    yield "|---|---|---|---|---|---|"
    pooled: list[tuple[Sequence[Row], Doubles, Doubles]] = []
    for part in parts:
        fitted = Fitted.of([other for other in parts if part.foreign(other)], answer_kept)
        answer, confidence = fitted.measure(part.rows)
        yield line(part.name, part.rows, answer, confidence)
        if part.kind == "pile":
            pooled.append((part.rows, answer, confidence))
    if pooled:
        rows = [row for each, _, _ in pooled for row in each]
        both = (np.concatenate([one[place] for one in pooled]) for place in (1, 2))
        yield line("piles", rows, *both)
    fitted = Fitted.of(parts, answer_kept)
    shorter = [Part(part.name, [_by_words(row) for row in part.rows], part.kind) for part in parts]
    yield f"answer: {_listed(fitted.answer)}"
    yield f"answer by words: {_listed(Fitted.of(shorter).answer)}"
    yield f"confidence: {_listed(fitted.confidence)}"


def _by_words(row: Row) -> Row:
    return replace(row, signs=row.signs[: len(WORD_WEIGHTS)])


def _listed(weights: Doubles) -> str:
    return ", ".join(f"{weight:.3f}" for weight in weights)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*", help="corpora")
    parser.add_argument(
        "--pile", nargs="+", action="append", default=[], help="FOLDER CATALOG, brewery or insurer"
    )
    parser.add_argument("--companies", type=Path, action="append", default=[], help="a folder")
    parser.add_argument("--limit", type=int, default=250, help="questions of each corpus")
    parser.add_argument("--keep-answer", action="store_true", help="fit the confidence alone")
    given = parser.parse_args(arguments)
    corpora = [open_dataset(data) for data in given.data]
    parts = []
    for name, *catalog in given.pile:
        rows = own_pile_rows(name)
        if catalog:
            rows = pile_rows(Path(name), dovetail.open(catalog[0]))
        parts.append(Part(Path(name).name, list(rows), "pile"))
    parts += [Part(one.name, list(company_rows(one)), "companies") for one in given.companies]
    for one in corpora:
        others = [other for other in corpora if other is not one]
        parts.append(Part(one.name, list(corpus_rows(one, others, given.limit))))
    kept = np.array([*WEIGHTS, BIAS]) if given.keep_answer else None
    print("\n".join(report(parts, kept)))


if __name__ == "__main__":
    main()
