"""Adjustment against cases worked by hand, and what must hold of any input."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.domain import Candidate, TableId
from dovetail_bench.core_t.adjust import Addition, AdjustOptions, Compatibility, adjust

# Each case: relevances of candidates a, b, c, ..., compatibilities, seeds, and what is added, each
# as table, step, of whom, gain.
CASES: dict[str, tuple[list[float], dict[str, float], str, list[tuple[str, str, str, float]]]] = {
    "nothing joins, nothing comes back": ([0.9, 0.8, 0.7], {}, "a", []),
    "a strong partner comes back": (
        [0.9, 0.1], {"ab": 0.8}, "a", [("b", "partner", "a", 0.8)],
    ),
    "a partner at the threshold does not": (
        # alone: mean compatibility 0 -> .5, mean relevance .9 -> .5: .25 - .2 > 0
        [0.9, 0.1], {"ab": 0.5}, "a", [("b", "expansion", "a", 0.05)],
    ),
    "a weak and irrelevant one stays out": ([0.9, 0.1], {"ab": 0.3}, "a", []),
    "only the strongest partner counts": (
        # c: compat (.9+.6)/3 -> .5 from .9: -.2; relevance .9 -> .9: 0
        [0.9, 0.9, 0.9], {"ab": 0.9, "ac": 0.6}, "a", [("b", "partner", "a", 0.9)],
    ),
    "the strongest partner is a seed: nobody else is taken for it": (
        # c: compat (.9+.8)/3 from .9, relevance .5 -> .5
        [0.5, 0.5, 0.5], {"ab": 0.9, "ac": 0.8}, "ab", [],
    ),
    "two seeds share a partner": (
        [0.5, 0.5, 0.5], {"ac": 0.9, "bc": 0.7}, "ab", [("c", "partner", "a", 0.9)],
    ),
    "partners come in order of relevance, not of seeds": (
        [0.5, 0.4, 0.2, 0.3], {"ac": 0.9, "bd": 0.9}, "ab",
        [("d", "partner", "b", 0.9), ("c", "partner", "a", 0.9)],
    ),
    "equal partners: the more relevant": (
        # then b: compat .9 -> 1.8/3, relevance .5 -> .4333
        [0.8, 0.1, 0.2], {"ab": 0.9, "ac": 0.9}, "a", [("c", "partner", "a", 0.9)],
    ),
    "equal partners, equally relevant: the smaller id": (
        [0.8, 0.2, 0.2], {"ab": 0.9, "ac": 0.9}, "a", [("b", "partner", "a", 0.9)],
    ),
    "a connector closes a triangle": (
        # c: compat 0 -> (0+.5+.5)/3, relevance .6 -> .5: (.3333 - .1) / 2
        [0.6, 0.6, 0.3], {"ac": 0.5, "bc": 0.5}, "ab", [("c", "expansion", "a", 0.116667)],
    ),
    "a relevant one without a join stays out": (
        [0.2, 0.9], {}, "a", [],
    ),
    "a relevant one with the weakest join comes in": (
        # compat 0 -> .1, relevance .2 -> .55: (.1 + .35) / 2
        [0.2, 0.9], {"ab": 0.1}, "a", [("b", "expansion", "a", 0.225)],
    ),
    "a chain grows one by one, then stops": (
        # a's partner b (.6); then c: compat .6 -> (.6+.9)/3 = .5, relevance .2 -> .4: .05;
        # then d: compat .5 -> (1.5+.1)/6, relevance .4 -> .45: (-.2333 + .05) / 2 < 0
        [0.2, 0.2, 0.8, 0.6], {"ab": 0.6, "bc": 0.9, "cd": 0.1}, "a",
        [("b", "partner", "a", 0.6), ("c", "expansion", "b", 0.05)],
    ),
    "no seeds, nothing to add to": ([0.9, 0.8], {"ab": 0.9}, "", []),
}  # fmt: skip


def table(name: str) -> TableId:
    return TableId("s", name)


def candidates(relevances: list[float]) -> list[Candidate]:
    names = (chr(ord("a") + place) for place in range(len(relevances)))
    return [Candidate(table(n), r, {}) for n, r in zip(names, relevances, strict=True)]


def by_pairs(pairs: Mapping[str, float]) -> Compatibility:
    both = {(table(pair[0]), table(pair[1])): score for pair, score in pairs.items()}
    return lambda one, other: both.get((one, other), both.get((other, one), 0.0))


@pytest.mark.parametrize("case", CASES)
def test_worked_by_hand(case: str) -> None:
    relevances, pairs, seeds, expected = CASES[case]
    added = adjust([table(s) for s in seeds], candidates(relevances), by_pairs(pairs))
    assert [(a.table.name, a.step, a.of.name, round(a.gain, 6)) for a in added] == expected


def test_weights_and_threshold_are_options() -> None:
    ranked = candidates([0.9, 0.1])
    strict = AdjustOptions(threshold=0.9, coherence=0.1, relevance=0.9)
    assert adjust([table("a")], ranked, by_pairs({"ab": 0.8}), strict) == []
    lax = AdjustOptions(threshold=0.1)
    found = adjust([table("a")], ranked, by_pairs({"ab": 0.2}), lax)
    assert found == [Addition(table("b"), "partner", table("a"), 0.2)]


SCORE = st.floats(0, 1, allow_nan=False)


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[float], dict[str, float], str]:
    count = draw(st.integers(1, 8))
    names = "abcdefgh"[:count]
    pairs = [a + b for a in names for b in names if a < b]
    joined = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    seeds = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    relevances = draw(st.lists(SCORE, min_size=count, max_size=count))
    return relevances, {pair: draw(SCORE) for pair in joined}, "".join(seeds)


@given(situations())
def test_only_candidates_no_seed_twice_every_expansion_gains(
    situation: tuple[list[float], dict[str, float], str],
) -> None:
    relevances, pairs, seeds = situation
    ranked, compatibility = candidates(relevances), by_pairs(pairs)
    added = adjust([table(s) for s in seeds], ranked, compatibility)
    names = [a.table for a in added]
    assert len(set(names)) == len(names)
    assert not set(names) & {table(s) for s in seeds}
    assert set(names) <= {one.id for one in ranked}
    group = [table(s) for s in seeds]
    for addition in added:
        assert addition.of in group
        assert compatibility(addition.table, addition.of) > 0
        if addition.step == "partner":
            assert addition.gain > 0.5
        else:
            before = worth(group, ranked, compatibility)
            after = worth([*group, addition.table], ranked, compatibility)
            assert addition.gain == pytest.approx(after - before)
            assert addition.gain > 0
        group.append(addition.table)
    assert adjust([table(s) for s in seeds], ranked[::-1], compatibility) == added


def worth(group: list[TableId], ranked: list[Candidate], compatibility: Compatibility) -> float:
    """Equations 5 and 6, added with equal weights."""
    relevance = {one.id: one.relevance for one in ranked}
    pairs = [compatibility(a, b) for n, a in enumerate(group) for b in group[:n]]
    mean = sum(pairs) / len(pairs) if pairs else 0.0
    return (mean + sum(relevance[t] for t in group) / len(group)) / 2
