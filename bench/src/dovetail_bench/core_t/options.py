"""What CORE-T is made of, part by part: ours or the paper's, and the words that name each.

    part            ours                            the paper's
    prompt          grouped: groups with joins      full: sampled rows, purposes, every pair
    search          fused: every signal             markdown: one vector of name, purpose and rows
    compatibility   foreign_key: our join evidence  equations: Equations 1 to 4
    adjustment      auto: where it is needed        additive: always (Equations 5 to 9)

`core-t` alone is the full prompt, our search and joins, and additive adjustment. `core-t:paper` is
the whole right column, and falls back where a reply is damaged JSON or the call itself fails; a
word beside it takes its part over, `core-t:paper+grouped`. Three words are in neither column:
`compact` is the earlier prompt of ours, a line for a table and one for a join, `dense` searches by
the vector of the schema line, `unadjusted` leaves the selection as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.errors import UsageError
from dovetail.retrieve.trace import require_positive
from dovetail_bench.core_t.adjust import AdjustOptions
from dovetail_bench.core_t.select_llm import COMPACT, FULL, GROUPED, SelectOptions

FUSED, DENSE, MARKDOWN = "fused", "dense", "markdown"
FOREIGN_KEY, EQUATIONS = "foreign_key", "equations"
ADDITIVE, AUTO, NONE = "additive", "auto", "none"
PAPER = "paper"

# The part that each word is about.
_PARTS = {
    FULL: "prompt", COMPACT: "prompt", GROUPED: "prompt",
    FUSED: "index", DENSE: "index", MARKDOWN: "index",
    FOREIGN_KEY: "compatibility", EQUATIONS: "compatibility",
    ADDITIVE: "adjustment", AUTO: "adjustment", "unadjusted": "adjustment",
}  # fmt: skip
_AS_THE_PAPER = {
    "prompt": FULL, "index": MARKDOWN, "compatibility": EQUATIONS, "adjustment": ADDITIVE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CoreTOptions:
    """The paper's constants, and our search and joins in place of its own.

    With the adjustment `auto`, a reply that validly selects nothing is an answer, and the set is
    empty; the paper falls back to all candidates. `pass_over_failure` does that as well where the
    call itself fails, as the paper does; else the failure is raised. `k` is the number of
    candidates; with the prompt `grouped` and the fused search it is the most there can be.
    """

    k: int = 10
    index: str = FUSED
    select: SelectOptions = field(default_factory=SelectOptions)
    adjustment: str = ADDITIVE
    adjust: AdjustOptions = field(default_factory=AdjustOptions)
    compatibility: str = FOREIGN_KEY
    pass_over_failure: bool = False

    def __post_init__(self) -> None:
        require_positive(k=self.k)
        for part, known in (
            ("index", (FUSED, DENSE, MARKDOWN)),
            ("adjustment", (ADDITIVE, AUTO, NONE)),
            ("compatibility", (FOREIGN_KEY, EQUATIONS)),
        ):
            if (given := getattr(self, part)) not in known:
                raise UsageError(f"{part} {given!r} is not known; there are: {', '.join(known)}")

    @property
    def by_budget(self) -> bool:
        """Whether the number of candidates is chosen for each question, up to `k`."""
        return self.select.prompt == GROUPED and self.index == FUSED


def options_of(argument: str, k: int, context: int, *, use_sources: bool = False) -> CoreTOptions:
    """The options that the words of an argument stand for.

    `context` is how many tokens the model takes in and writes together; `use_sources`: a prompt
    may tell which tables are of one source.
    """
    words, paper = core_t_words(argument), PAPER in argument.split("+")
    threshold, adjustment = words.get("threshold"), words.get("adjustment", ADDITIVE)
    return CoreTOptions(
        k=k,
        index=words.get("index", FUSED),
        select=SelectOptions(
            words.get("prompt", FULL), context, use_sources=use_sources, strict=paper
        ),
        adjustment=NONE if adjustment == "unadjusted" else adjustment,
        adjust=AdjustOptions(float(threshold)) if threshold else AdjustOptions(),
        compatibility=words.get("compatibility", FOREIGN_KEY),
        pass_over_failure=paper,
    )


def core_t_words(argument: str) -> dict[str, str]:
    """Return what the words of an argument, joined by `+`, stand for, part by part.

    >>> core_t_words("compact+dense")
    {'prompt': 'compact', 'index': 'dense'}
    >>> core_t_words("compact+auto+0.7")
    {'prompt': 'compact', 'adjustment': 'auto', 'threshold': '0.7'}
    >>> core_t_words("paper+compact")["index"], core_t_words("paper+compact")["prompt"]
    ('markdown', 'compact')
    """
    words = argument.split("+")
    parts = _PARTS | {word: "threshold" for word in words if _is_threshold(word)}
    if unknown := [word for word in words if word not in parts and word != PAPER]:
        raise UsageError(
            f"core-t does not know {unknown[0]!r}; it takes {', '.join((PAPER, *_PARTS))}, or the "
            "threshold of adjustment as a number from 0 to 1, joined by +"
        )
    found = dict(_AS_THE_PAPER) if PAPER in words else {}
    return found | {parts[word]: word for word in words if word != PAPER}


def _is_threshold(word: str) -> bool:
    try:
        return 0 <= float(word) <= 1
    except ValueError:
        return False
