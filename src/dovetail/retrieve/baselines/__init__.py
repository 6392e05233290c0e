"""The systems CORE-T is compared with, each behind the same interface, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.ports import LLM, Retriever
    from dovetail.search.searcher import Searcher


@dataclass(frozen=True, slots=True)
class Baseline:
    """A system by name; `asks` says whether it cannot do without a language model."""

    name: str
    asks: bool
    make: Callable[[Searcher, LLM | None, int], Retriever]


def _dense(searcher: Searcher, _: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.ranking import RankingRetriever

    return RankingRetriever(searcher, k)


def _search(searcher: Searcher, _: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.ranking import RankingRetriever

    return RankingRetriever(searcher, k, type(searcher).search)


def _react(searcher: Searcher, llm: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.baselines.react import ReactRetriever

    return ReactRetriever(searcher, _asked("react", llm), k)


def _jar(searcher: Searcher, llm: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.baselines.jar import JarRetriever

    return JarRetriever(searcher, k=k, llm=llm)


def _arm(searcher: Searcher, llm: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.baselines.arm import ArmRetriever

    return ArmRetriever(searcher, _asked("arm", llm), k=k)


def _rear(searcher: Searcher, _: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.baselines.rear import RearRetriever

    return RearRetriever(searcher, k)


def _steiner(searcher: Searcher, _: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.baselines.steiner import SteinerRetriever

    return SteinerRetriever(searcher, k)


def _ppr(searcher: Searcher, _: LLM | None, k: int) -> Retriever:
    from dovetail.retrieve.baselines.ppr import PprRetriever

    return PprRetriever(searcher, k)


BASELINES = {
    system.name: system
    for system in (
        Baseline("dense", False, _dense),
        Baseline("search", False, _search),
        Baseline("react", True, _react),
        Baseline("jar", False, _jar),
        Baseline("arm", True, _arm),
        Baseline("rear", False, _rear),
        Baseline("steiner", False, _steiner),
        Baseline("ppr", False, _ppr),
    )
}


def baseline(name: str, searcher: Searcher, *, k: int, llm: LLM | None = None) -> Retriever:
    """A system by name; an error says why it cannot run with what is configured."""
    if name not in BASELINES:
        raise UsageError(f"retriever {name!r} is not known; there are: {', '.join(BASELINES)}")
    return BASELINES[name].make(searcher, llm, k)


def _asked(name: str, llm: LLM | None) -> LLM:
    if llm is None:
        raise UsageError(
            f"retriever {name!r} asks a language model and none is set: give --llm NAME, or "
            "set llm in dovetail.toml"
        )
    return llm
