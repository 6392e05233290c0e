"""Tables by the words of their names, columns and purposes.

A question's word weighs by how few tables have it (the inverse document frequency of BM25); in a
table's name it counts in full, in a column's or in the purpose two thirds, and the more words a
table has, the less each of them says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.domain import Table, TableId
from dovetail.search.words import stems

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

IN_COLUMN = 2 / 3
# How much the number of a table's words tells against each of them: BM25's b, softened by a root.
_LENGTH = 0.4
_WORDS, _STARTS, _TABLE, _NAMED, _LENGTHS = "words", "starts", "table", "named", "lengths"


@dataclass(frozen=True)
class Lexical:
    """Postings: the tables of word `n` stand from `starts[n]` to `starts[n + 1]`.

    `named` says whether the word is in the table's name; `lengths` counts the words of each table.
    """

    words: Mapping[str, int]
    starts: Ints
    table: npt.NDArray[np.int32]
    named: npt.NDArray[np.bool_]
    lengths: npt.NDArray[np.int32]

    @classmethod
    def build(cls, tables: Iterable[Table], purposes: Mapping[TableId, str]) -> Lexical:
        """The postings of tables, numbered in their order."""
        found: dict[str, list[int]] = {}
        lengths: list[int] = []
        for place, table in enumerate(tables):
            name = stems(table.name)
            rest = [stem for column in table.columns for stem in stems(column.name)]
            rest += stems(purposes.get(table.id, ""))
            lengths.append(len(name) + len(rest))
            for word in dict.fromkeys(name):
                found.setdefault(word, []).append(2 * place + 1)
            for word in dict.fromkeys(rest):
                if word not in name:
                    found.setdefault(word, []).append(2 * place)
        words = sorted(found)
        starts = np.cumsum([0, *(len(found[word]) for word in words)])
        marked = np.array([entry for word in words for entry in found[word]], dtype=np.int64)
        return cls(
            words={word: number for number, word in enumerate(words)},
            starts=starts,
            table=(marked // 2).astype(np.int32),
            named=marked % 2 == 1,
            lengths=np.array(lengths, dtype=np.int32),
        )

    @classmethod
    def load(cls, folder: Path) -> Lexical:
        """The postings in a folder."""
        arrays = {
            name: np.load(folder / f"{name}.npy", allow_pickle=False)
            for name in (_STARTS, _TABLE, _NAMED, _LENGTHS)
        }
        listed = (folder / f"{_WORDS}.txt").read_text("utf-8").split("\n")[:-1]
        return cls(words={word: number for number, word in enumerate(listed)}, **arrays)

    def save(self, folder: Path) -> None:
        """Write the postings into a folder."""
        for name in (_STARTS, _TABLE, _NAMED, _LENGTHS):
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / f"{_WORDS}.txt").write_text("".join(f"{w}\n" for w in self.words), "utf-8")

    def weight(self, word: str) -> float:
        """How much a word tells one table from others, in [0, 1]; a word nobody has tells most."""
        count, have = len(self.lengths), 0
        if (number := self.words.get(word)) is not None:
            have = int(self.starts[number + 1] - self.starts[number])
        rare = math.log(1 + (count - have + 0.5) / (have + 0.5))
        return min(1.0, rare / math.log(count + 1)) if count else 0.0

    def having(self, word: str) -> tuple[npt.NDArray[np.int32], Floats]:
        """The tables that have a word, in order, and how much it says of each of them."""
        number = self.words.get(word)
        if number is None:
            return self.table[:0], self._match[:0]
        start, end = int(self.starts[number]), int(self.starts[number + 1])
        return self.table[start:end], self._match[start:end]

    @cached_property
    def _match(self) -> Floats:
        mean = float(self.lengths.mean()) if len(self.lengths) else 1.0
        softened = np.sqrt(1 - _LENGTH + _LENGTH * self.lengths / max(mean, 1e-9))
        said = np.where(self.named, 1.0, IN_COLUMN)
        match: Floats = (said / softened[self.table]).astype(np.float32)
        return match
