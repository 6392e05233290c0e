"""Retrievers by name for whoever has a catalog and settings: the evaluation, above all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.ports import Retriever
from dovetail.retrieve.baselines import baseline
from dovetail.retrieve.opening import open_model, searcher_of
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class BaselineFactory:
    """Makes a system by name; `ranks` says that its set for a smaller k is the beginning."""

    name: str
    ranks: bool = False

    def __call__(self, catalog: CatalogReader, *, k: int, settings: Settings) -> Retriever:
        searcher = searcher_of(catalog, settings)
        return baseline(self.name, searcher, k=k, llm=open_model(catalog.path, settings))


def open_jar(
    catalog: CatalogReader,
    *,
    k: int,
    settings: Settings,
    subquestions: Mapping[str, Sequence[str]] | None = None,
) -> Retriever:
    """JAR; `subquestions` are given ones, by question."""
    from dovetail.retrieve.baselines.jar import JarRetriever

    llm = open_model(catalog.path, settings)
    return JarRetriever(searcher_of(catalog, settings), k=k, llm=llm, subquestions=subquestions)


DENSE = BaselineFactory("dense", ranks=True)
SEARCH = BaselineFactory("search", ranks=True)
REACT = BaselineFactory("react")
ARM = BaselineFactory("arm")
REAR = BaselineFactory("rear")
STEINER = BaselineFactory("steiner")
PPR = BaselineFactory("ppr", ranks=True)
