"""Which questions of a dataset are asked, and in which form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dovetail.catalog.reader import CatalogReader
from dovetail.errors import UsageError
from dovetail_bench.questions import Question, stratified


@dataclass(frozen=True, slots=True)
class QuestionFilter:
    """A choice among the questions of a dataset, and what is asked with them.

    `evidence` adds each question's evidence to its text. `share` draws a part of the questions by
    `seed`, `limit` takes the first so many, `sources` those whose gold tables all stand in these
    sources. `purposes`: a language model describes the tables first.
    """

    evidence: bool = False
    share: Fraction = Fraction(1)
    seed: int = 42
    limit: int | None = None
    skip_bad: bool = False
    sources: tuple[str, ...] = ()
    purposes: bool = False

    def apply(self, questions: Sequence[Question], catalog: CatalogReader) -> tuple[Question, ...]:
        """The questions that are asked."""
        known = {table.source for table in catalog.ids}
        if unknown := sorted(set(self.sources) - known):
            there = ", ".join(sorted(known))
            raise UsageError(f"there is no source {unknown[0]!r}; there are: {there}")
        about = set(self.sources) or known
        return tuple(
            question
            for question in stratified(questions, self.share, self.seed)
            if {table.source for table in question.gold} <= about
        )[: self.limit]

    def options(self) -> list[str]:
        """The same as command-line options."""
        found = ["--evidence"] * self.evidence + ["--skip-bad"] * self.skip_bad
        found += ["--purposes"] * self.purposes
        found += ["--source", ",".join(self.sources)] if self.sources else []
        if self.share != 1:
            found += ["--share", str(self.share), "--seed", str(self.seed)]
        return found + (["--limit", str(self.limit)] if self.limit else [])
