"""Candidates with relevances and joins as a test wants them, over tables that really exist."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import dovetail
from dovetail.domain import Candidate, JoinEdge, TableId
from dovetail.joins.graph import JoinGraph
from dovetail.search.index import open_index
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher

NAMES = "abcdefgh"


def letters(folder: Path) -> dovetail.Catalog:
    """Eight tables named a to h."""
    file = folder / "letters.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        for name in NAMES:
            connection.execute(f"CREATE TABLE {name} (id INTEGER, {name}_name TEXT)")
            connection.execute(f"INSERT INTO {name} VALUES (1, 'one {name}'), (2, 'two {name}')")
    return dovetail.build(f"s={file}", into=folder / "catalog")


class Ranked(Searcher):
    """A searcher that offers tables a, b, c, … with given relevances and joins."""

    def __init__(
        self, catalog: dovetail.Catalog, relevances: Sequence[float], pairs: Mapping[str, float]
    ) -> None:
        super().__init__(open_index(catalog.reader, None))
        self._relevances = relevances
        edges = [edge(pair[0], pair[1], score) for pair, score in pairs.items()]
        self.__dict__["joins"] = JoinGraph(catalog.ids, edges)

    def search(
        self, question: Query | str, k: int, *, looking_for: Sequence[str] = ()
    ) -> list[Candidate]:
        del question, looking_for
        found = zip(NAMES, self._relevances, strict=False)
        return [Candidate(TableId("s", name), score, {"given": score}) for name, score in found][:k]


def edge(left: str, right: str, score: float) -> JoinEdge:
    return JoinEdge(TableId("s", left), TableId("s", right), (("id", "id"),), score, "n:1", 1.0, {})
