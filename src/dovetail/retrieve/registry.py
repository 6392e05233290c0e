"""Retrievers by name: the one place where `ask`, `bench`, the settings and plug-ins find them.

A name is `graph`, `core-t`, `jar`, a plug-in's, and so on, with an argument after a colon where
the retriever takes one (`graph:0.8`, `core-t:compact+dense`). `plugins.py` maps the first part to a
factory, so a retriever's module is loaded when it is asked for and not before. Two names stand for
others: `llm` is `core-t` with the grouped prompt and adjustment by need, and `auto` is `llm` where
there is a language model and `graph` where there is none.

A factory is called as `factory(catalog, k=…, settings=…)`; a factory whose first parameter is
called `context` is given a `SelectorContext` in their place. Either is given `argument=…` where the
name carries one, and by name whatever else it takes and the caller has (`llm`, `searcher`; for
`jar`, `subquestions`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from dovetail.catalog.reader import CatalogReader
from dovetail.errors import UsageError
from dovetail.plugins import RETRIEVERS, load, names
from dovetail.ports import LLM, Retriever
from dovetail.retrieve.expand import logical
from dovetail.retrieve.opening import SelectorContext
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

AUTO, LLM_NAME = "auto", "llm"
FULL, COMPACT, GROUPED = PROMPTS = "full", "compact", "grouped"
# How many candidates a retriever is given where nobody says.
CANDIDATES = 10

F = TypeVar("F", bound=Callable[..., Retriever])


def factory_with(*, ranks: bool = False, candidates: int = CANDIDATES) -> Callable[[F], F]:
    """Tell the registry what it cannot see of a factory.

    `ranks`: the set for a smaller k is the beginning of the set for a larger one, so one run
    serves every k. `candidates`: the k to use where nobody gives one.
    """

    def told(factory: F) -> F:
        factory.__dict__.update(ranks=ranks, candidates=candidates)
        return factory

    return told


def check_prompt(prompt: str) -> None:
    """Refuse a prompt that there is not, whether or not anybody will be asked by it."""
    if prompt not in PROMPTS:
        raise UsageError(f"prompt {prompt!r} is not known; there are: {', '.join(PROMPTS)}")


def full_name(name: str, *, has_model: bool, prompt: str = GROUPED) -> str:
    """Replace `auto` and `llm` by the retriever they stand for; other names stay.

    >>> full_name("auto", has_model=True), full_name("auto", has_model=False)
    ('core-t:grouped+auto', 'graph')
    """
    if name == AUTO:
        name = LLM_NAME if has_model else "graph"
    return f"core-t:{prompt}+{AUTO}" if name == LLM_NAME else name


def selector_name(name: str, *, has_model: bool, prompt: str = GROUPED) -> str:
    """Say which retriever `ask` means by the name of a selector.

    Beside `auto` and `llm`, plain `hybrid` asks by the given prompt and adjusts by need; where
    `bench` says `hybrid`, it is made of `core-t` as the paper has it.

    >>> selector_name("hybrid", has_model=True), selector_name("core-t", has_model=True)
    ('hybrid:grouped+auto', 'core-t')
    """
    if name == "hybrid":
        return f"hybrid:{prompt}+{AUTO}"
    return full_name(name, has_model=has_model, prompt=prompt)


def open_retriever(
    name: str,
    catalog: CatalogReader,
    *,
    settings: Settings,
    k: int | None = None,
    llm: LLM | None = None,
    searcher: Searcher | None = None,
    **given: object,
) -> Retriever:
    """Open a retriever over a catalog, for `k` candidates (its own number, unless given).

    `llm` and `searcher` are used in place of those that the settings name.
    """
    base, colon, argument = name.partition(":")
    factory = _factory(name)
    if colon and not takes(name, "argument"):
        raise UsageError(f"retriever {base!r} takes no argument; leave out {colon + argument!r}")
    more = {**given, **({"argument": argument} if colon else {})}
    wanted = int(getattr(factory, "candidates", CANDIDATES)) if k is None else k
    if takes(name, "context"):
        context = SelectorContext(catalog, settings, wanted, llm, searcher, k is not None)
        return logical(cast(Retriever, factory(context, **more)), context.searcher)
    offered = {"llm": llm, "searcher": searcher}
    more |= {option: value for option, value in offered.items() if value and takes(name, option)}
    return cast(Retriever, factory(catalog, k=wanted, settings=settings, **more))


def open_selector(
    name: str | None,
    catalog: CatalogReader,
    *,
    settings: Settings,
    k: int | None,
    prompt: str,
    llm: LLM | None,
    searcher: Searcher,
) -> Retriever:
    """Open the retriever that `ask` uses: the one named, else the setting `selector`.

    `prompt` is the one that `llm` and `hybrid` ask by; a longer name carries its own.
    """
    check_prompt(prompt)
    full = selector_name(name or settings.selector, has_model=llm is not None, prompt=prompt)
    return open_retriever(full, catalog, settings=settings, k=k, llm=llm, searcher=searcher)


def retriever_names() -> list[str]:
    """List the retrievers there are: built in, or offered by another package."""
    return names(RETRIEVERS)


def takes(name: str, option: str) -> bool:
    """Whether a retriever's factory has a parameter of this name."""
    return option in inspect.signature(_factory(name)).parameters


def ranks(name: str) -> bool:
    """Whether a retriever's set for a smaller k is the beginning of that for a larger one."""
    return bool(getattr(_factory(name), "ranks", False))


def _factory(name: str) -> Any:
    base = name.partition(":")[0]
    if base not in retriever_names():
        known = ", ".join([*retriever_names(), AUTO, LLM_NAME])
        raise UsageError(f"retriever {base!r} is not known; there are: {known}")
    return load(RETRIEVERS, base)
