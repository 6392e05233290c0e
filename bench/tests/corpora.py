"""A small corpus in the layout of benchmarks, and real retrievers to ask over it."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

import dovetail
from dovetail import plugins
from dovetail.domain import Chosen, TableSet
from dovetail.errors import ModelError
from dovetail_bench import retrievers

ANIMALS = ("cat", "dog", "owl", "fox", "hen", "bee")


class Words:
    """Ranks tables by the words that their names share with the question."""

    ranks = True
    opened: ClassVar[list[int]] = []
    asked: ClassVar[list[str]] = []
    pause = 0.0

    def __init__(self, catalog: dovetail.Catalog, *, k: int, settings: Any) -> None:
        self._k = k
        self.settings = settings
        self._names = [(table, set(table.name.lower().split("_"))) for table in catalog.ids]
        self.opened.append(k)

    def retrieve(self, question: str) -> TableSet:
        self.asked.append(question)
        time.sleep(self.pause)
        words = set(re.findall(r"\w+", question.lower()))
        ranked = sorted(self._names, key=lambda entry: (-len(entry[1] & words), entry[0]))
        chosen = tuple(
            Chosen(table, len(name & words) / 10, "search", "shared words")
            for table, name in ranked[: self._k]
        )
        trace = ({"stage": "search", "words": sorted(words)},)
        return TableSet(question, chosen, (), trace)


class SlowWords(Words):
    """The same, with a pause; questions of `many` from number `answered` on wait for ever."""

    pause = 0.02
    answered = 10**9

    def retrieve(self, question: str) -> TableSet:
        if int(question.rpartition(" ")[2]) >= self.answered:
            Event().wait()
        return super().retrieve(question)


class Halves(Words):
    """Keeps half of the k tables: no prefix of what it keeps for a larger k. Says what it cost."""

    ranks = False

    def retrieve(self, question: str) -> TableSet:
        found = super().retrieve(question)
        cost = {"stage": "select", "tokens_in": 100, "tokens_out": 7, "llm_calls": 1}
        half = found.tables[: (self._k + 1) // 2]
        return TableSet(question, half, (), (*found.trace, {**cost, "fallback": "bee" in question}))


class Named(Words):
    """Takes an argument: the word that it adds to every question."""

    def __init__(self, catalog: dovetail.Catalog, *, k: int, settings: Any, argument: str) -> None:
        super().__init__(catalog, k=k, settings=settings)
        self._word = argument

    def retrieve(self, question: str) -> TableSet:
        return super().retrieve(f"{question} {self._word}")


class Unpaid(Words):
    """Cannot be opened."""

    def __init__(self, catalog: dovetail.Catalog, *, k: int, settings: Any) -> None:
        super().__init__(catalog, k=k, settings=settings)
        raise ModelError("no key: set WORDS_API_KEY")


RETRIEVERS = {
    "words": "corpora:Words",
    "slow": "corpora:SlowWords",
    "halves": "corpora:Halves",
    "named": "corpora:Named",
    "unpaid": "corpora:Unpaid",
}


_OWN, _SELECTORS = retrievers._OWN, retrievers._SELECTORS


def register(*names: str) -> None:
    """Have these retrievers, and no others; without names, the usual ones again."""
    chosen = {name: RETRIEVERS[name] for name in names}
    vars(retrievers).update(_OWN=chosen or _OWN, _SELECTORS=() if names else _SELECTORS)
    vars(plugins)["entry_points"] = _others if names else entry_points


def _others(group: str) -> Iterable[EntryPoint]:
    return () if group == plugins.RETRIEVERS else entry_points(group=group)


def write_corpus(folder: Path, questions: list[dict[str, Any]]) -> Path:
    """Two databases, farm and wood, each with a table per animal and one named food."""
    for database in ("farm", "wood"):
        file = folder / "databases" / database / f"{database}.sqlite"
        file.parent.mkdir(parents=True)
        with closing(sqlite3.connect(file)) as connection, connection:
            for name in (*(f"{database}_{animal}" for animal in ANIMALS), "Food"):
                connection.execute(f"CREATE TABLE {name} (id INTEGER, name TEXT)")
            connection.execute("INSERT INTO Food VALUES (1, 'hay'), (2, 'oats')")
    (folder / "foreign_keys.json").write_text("[]")
    (folder / "questions.json").write_text(json.dumps(questions))
    return folder


def question(number: object, text: str, gold: list[str], **more: Any) -> dict[str, Any]:
    """A row of a questions.json over the farm."""
    return {"question_id": number, "db_id": "farm", "question": text, "gold_tables": gold, **more}


def many(count: int) -> list[dict[str, Any]]:
    """So many questions, each about one animal."""
    return [
        question(n, f"farm {animal}, number {n}", [f"farm_{animal}"])
        for n, animal in ((n, ANIMALS[n % len(ANIMALS)]) for n in range(count))
    ]
