"""The systems of the comparison with a language model, in two setups: ours and the paper's.

Systems stand in the order in which they are worth being measured: requests are answered in it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from dovetail_bench.run_key import ORACLE


@dataclass(frozen=True, slots=True)
class System:
    """A retriever at some k; `answers` says that SQL is written over its sets as well."""

    name: str
    ks: tuple[int, ...] = (10,)
    answers: bool = True

    @property
    def retrieves(self) -> bool:
        return self.name != ORACLE


@dataclass(frozen=True, slots=True)
class Setup:
    """Systems under the same settings; `about` says in a sentence what these are."""

    name: str
    about: str
    suffix: str
    systems: tuple[System, ...]
    purposes: bool = False

    def only(self, names: Collection[str] | None) -> Setup:
        """The setup with these systems alone; without names, with all."""
        if not names:
            return self
        return replace(self, systems=tuple(each for each in self.systems if each.name in names))


# These ask a model several times, and what they ask next depends on its reply.
AGENTS = ("react", "arm")
# DR@5, DR@8 and DR@10 are one ranking, cut; JAR and REAR return 5 tables, as published.
_COMPARED = (
    System("dense", (5, 8, 10)),
    System("jar", (5,)),
    System("rear", (5,)),
    System("react"),
    System("arm", (5,)),
)
OURS = Setup(
    "ours",
    "Schema lines are embedded and no table has a purpose; sub-questions of `jar` are the model's; "
    "`rear` runs without a cross-encoder. `core-t:paper` stands here without purposes.",
    "",
    (
        System(ORACLE),
        System("graph"),
        System("llm"),
        *_COMPARED,
        System("graph:0.4"),
        System("search"),
        System("core-t:paper"),
        System("core-t:paper+unadjusted"),
    ),
)
PAPER = Setup(
    "paper",
    "As in the paper: every table has a purpose of a paragraph by the same model, and `core-t` "
    "embeds it with its name, purpose and sampled rows. Embeddings are MiniLM's, not "
    "UAE-Large-V1's; `rear` runs without a cross-encoder.",
    ", the paper's setup",
    (
        System(ORACLE),
        System("core-t:paper"),
        *_COMPARED,
        System("graph"),
        System("core-t:paper+unadjusted"),
        System("core-t:paper+0.3", answers=False),
        System("core-t:paper+0.7", answers=False),
    ),
    purposes=True,
)
SETUPS = (OURS, PAPER)
