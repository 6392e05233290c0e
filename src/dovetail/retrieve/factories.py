"""Retrievers by name for whoever has a catalog and settings: the evaluation, above all."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.catalog.reader import Catalog
from dovetail.ports import Retriever
from dovetail.retrieve.baselines import baseline
from dovetail.retrieve.opening import open_model, searcher_of
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class BaselineFactory:
    """Makes a system by name; `ranks` says that its set for a smaller k is the beginning."""

    name: str
    ranks: bool = False

    def __call__(self, catalog: Catalog, *, k: int, settings: Settings) -> Retriever:
        searcher = searcher_of(catalog, settings)
        return baseline(self.name, searcher, k=k, llm=open_model(catalog.path, settings))


DENSE = BaselineFactory("dense", ranks=True)
SEARCH = BaselineFactory("search", ranks=True)
REACT = BaselineFactory("react")
JAR = BaselineFactory("jar")
ARM = BaselineFactory("arm")
REAR = BaselineFactory("rear")
STEINER = BaselineFactory("steiner")
PPR = BaselineFactory("ppr", ranks=True)
