"""The inverted index from words to tables: the words of names, columns and comments.

A word of a question weighs by how few tables have it, between 0 and 1 (the inverse document
frequency of BM25). In a table's name it counts in full, in a column's name two thirds, in a comment
or description a half, and the more words a table has, the less each of them counts. The words of
comments are not counted for that: a table is not to be found less because it is explained.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Float32s, Ints
from dovetail.catalog.generation import Part
from dovetail.domain import Table, warns_off
from dovetail.names.words import Parts, Words
from dovetail.ports import Json
from dovetail.search.method_cache import method_cache
from dovetail.search.query import QueryTerm, is_unspaced, query_words, stem, stems
from dovetail.search.slips import is_common, is_slip

_IN_COLUMN, IN_COMMENT = 2 / 3, 1 / 2
# Words of a table's comments that are searched, the first ones.
_MOST_TOLD = 400
# A word that begins another (dept, department) against one that is equal.
_PREFIX = 0.6
# A word that means the same in another language.
_TRANSLATED = 1.0
_YEAR = re.compile(r"(19|20)\d\d")
_LEAST_PREFIX, _LEAST_WHOLE, _LEAST_UNSPACED = 3, 4, 2
# A word that is another but for a slip, and the letters that it must have.
_SLIP, _LEAST_SLIP = 0.8, 5
# How much the number of a table's words tells against each of them: BM25's b, softened by a root.
_LENGTH = 0.4
_WORDS, _STARTS, _TABLE, _NAMED, _LENGTHS = "words", "starts", "table", "named", "lengths"
_TOLD = "told"
_PARTS, _MEANT = "parts.json", "translated.json"
# Words of questions whose meanings are kept: one question asks for each of its own three times.
_WORDS_KEPT = 1024
# Names whose stems are kept while an index is made: most columns are named like others.
_NAMES_KEPT = 1 << 16
_ARRAYS = (_STARTS, _TABLE, _NAMED, _TOLD, _LENGTHS)
# Where a word stands, as postings are marked while they are made.
_AT_COLUMN, _AT_NAME, _AT_COMMENT, _MARKS = 0, 1, 2, 3


@dataclass(frozen=True)
class Lexical:
    """Postings: the tables of word `n` stand from `starts[n]` to `starts[n + 1]`.

    `named` says whether the word is in the table's name, `told` whether it is in comments alone;
    `lengths` counts the words of each table. `documents` is the number of tables that words are
    counted in; all of them, unless given. `translated` are English words with those that mean the
    same in other languages. `parts` are those of words that names run together, which are indexed
    as their parts.
    """

    words: Mapping[str, int]
    starts: Ints
    table: npt.NDArray[np.int32]
    named: npt.NDArray[np.bool_]
    told: npt.NDArray[np.bool_]
    lengths: npt.NDArray[np.int32]
    documents: int | None = None
    parts: Parts = field(default_factory=dict)
    translated: Mapping[str, Words] = field(default_factory=dict)

    @classmethod
    def build(cls, tables: Iterable[Table], parts: Parts | None = None) -> Lexical:
        """The postings of tables, numbered in their order."""
        postings: dict[str, array[int]] = defaultdict(partial(array, "q"))
        lengths: list[int] = []
        stems_of = lru_cache(maxsize=_NAMES_KEPT)(partial(stems, parts=parts))
        for number, table in enumerate(tables):
            name = stems_of(table.name)
            rest = [stem for column in table.columns for stem in stems_of(column.name)]
            lengths.append(len(name) + len(rest))
            mark_of = dict.fromkeys(comment_words(table), _AT_COMMENT)
            mark_of |= dict.fromkeys(rest, _AT_COLUMN) | dict.fromkeys(name, _AT_NAME)
            for word, at in mark_of.items():
                postings[word].append(_MARKS * number + at)
        words = sorted(postings)
        starts = np.cumsum([0, *(len(postings[word]) for word in words)])
        marked = np.concatenate([np.empty(0, np.int64), *(postings[word] for word in words)])
        return cls(
            words={word: number for number, word in enumerate(words)},
            starts=starts,
            table=(marked // _MARKS).astype(np.int32),
            named=marked % _MARKS == _AT_NAME,
            told=marked % _MARKS == _AT_COMMENT,
            lengths=np.array(lengths, dtype=np.int32),
            parts=parts or {},
        )

    @classmethod
    def load(cls, part: Part) -> Lexical:
        """The postings in a part."""
        arrays: dict[str, Any] = {name: part.array(f"{name}.npy") for name in _ARRAYS}
        listed = part.text(f"{_WORDS}.txt").split("\n")[:-1]
        return cls(
            words={word: number for number, word in enumerate(listed)},
            parts=_worded(part.json(_PARTS)),
            translated=_worded(part.json(_MEANT)),
            **arrays,
        )

    def save(self, folder: Path) -> None:
        """Write the postings into a folder."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / _PARTS).write_text(json.dumps(self.parts), "utf-8")
        (folder / _MEANT).write_text(json.dumps(self.translated), "utf-8")
        (folder / f"{_WORDS}.txt").write_text("".join(f"{w}\n" for w in self.words), "utf-8")

    def term(self, word: str, also: Iterable[tuple[str, float]] = ()) -> QueryTerm:
        """A stem of a question as a term: the tables that have it, or a word that it expands to.

        `also` are more words of the index that it may mean, and how well each fits. A word that no
        table has weighs most.
        """
        expansions = tuple(_best([*self.expand(word), *also]))
        numbers = [self.words[other] for other, _ in expansions]
        parts = [slice(int(self.starts[n]), int(self.starts[n + 1])) for n in numbers]
        shares = [share for _, share in expansions]
        known = numbers[:1] if word in self.words else numbers
        weight = max((float(self._idf[number]) for number in known), default=1.0)
        if not parts or (len(parts) == 1 and shares[0] == 1.0):
            one = parts[0] if parts else slice(0)
            tables, match, name_share = self.table[one], self._match[one], self._name_share[one]
            return QueryTerm(word, weight, tables, match, name_share, expansions)
        tables = np.concatenate([self.table[part] for part in parts])
        share = np.repeat(
            np.array(shares, dtype=np.float32), [part.stop - part.start for part in parts]
        )
        # Sorted pieces, one after the other, are what a stable sort is quick with.
        order = np.argsort(tables, kind="stable")
        tables = tables[order]
        begins = np.flatnonzero(np.diff(tables, prepend=-1))
        match, name_share = (
            np.maximum.reduceat(
                (share * np.concatenate([of[part] for part in parts]))[order], begins
            )
            for of in (self._match, self._name_share)
        )
        return QueryTerm(word, weight, tables[begins], match, name_share, expansions)

    def with_meanings(self, meanings: Mapping[str, Words]) -> Lexical:
        """The postings with what words of other languages mean in English."""
        translated: dict[str, dict[str, None]] = defaultdict(dict)
        for foreign, english in meanings.items():
            if (own := stem(foreign)) in self.words:
                for word in " ".join(english).split():
                    translated[stem(word)][own] = None
        return replace(
            self, translated={word: tuple(translated[word]) for word in sorted(translated)}
        )

    def idf(self, word: str) -> float:
        """The inverse document frequency of a stem, between 0 and 1; 1 if no table has it."""
        number = self.words.get(word)
        return 1.0 if number is None else float(self._idf[number])

    def named_in(self, word: str) -> int:
        """How many tables have a stem in their name or in the name of a column."""
        number = self.words.get(word)
        if number is None:
            return 0
        postings = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return int(np.count_nonzero(~self.told[postings]))

    @cached_property
    def expand(self) -> Callable[[str], Sequence[tuple[str, float]]]:
        """The catalog's words that a question's may mean, and how well each fits: itself first.

        A year says when, and no more of what: which of several slices is meant is seen later.
        """
        return method_cache(self._expanded, _WORDS_KEPT)

    def _expanded(self, word: str) -> Sequence[tuple[str, float]]:
        if _YEAR.fullmatch(word):
            return []
        itself = [(word, 1.0)] if word in self.words else []
        meant = [(other, _TRANSLATED) for other in self.translated.get(word, ())]
        begun = [(other, _PREFIX) for other in self._prefixes(word)]
        known = itself or meant or any(len(other) > len(word) for other, _ in begun)
        slipped = [] if known else [(other, _SLIP) for other in self._slipped(word)]
        return itself + slipped + begun + meant

    def corrected(self, word: str, written: str) -> str:
        """A word, given as its stem and as written, without the slip of the pen that it has; as it
        is where no word of the catalog is meant, or the word is one."""
        meant = next((other for other, share in self.expand(word) if share == _SLIP), None)
        return meant + written[len(word) :] if meant and written.startswith(word) else written

    def _slipped(self, word: str) -> list[str]:
        """The catalog's words that a word is but for a slip of the pen."""
        if len(word) < _LEAST_SLIP or not word.isalpha() or is_common(word):
            return []
        near = (word[0], len(word) - 1), (word[0], len(word)), (word[0], len(word) + 1)
        return [one for key in near for one in self._by_length.get(key, ()) if is_slip(word, one)]

    def _prefixes(self, word: str) -> list[str]:
        """The catalog's words that begin a word, and those that it begins."""
        if len(word) < (_LEAST_UNSPACED if is_unspaced(word) else _LEAST_WHOLE):
            return []
        shorter = (word[:size] for size in range(_LEAST_PREFIX, min(len(word), self._longest + 1)))
        prefixes = [part for part in shorter if part in self.words]
        at = bisect_right(self._sorted, word)
        while at < len(self._sorted) and self._sorted[at].startswith(word):
            prefixes.append(self._sorted[at])
            at += 1
        return prefixes

    @cached_property
    def _by_length(self) -> Mapping[tuple[str, int], list[str]]:
        """The words by their first letter and their length."""
        words: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in self.words:
            words[word[0], len(word)].append(word)
        return words

    @cached_property
    def _sorted(self) -> list[str]:
        return list(self.words)  # they were numbered in order

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.words), default=0)

    @cached_property
    def _idf(self) -> Float32s:
        have = np.diff(self.starts)
        count = len(self.lengths) if self.documents is None else self.documents
        rare = np.log(1 + (count - have + 0.5) / (have + 0.5)) / math.log(count + 1)
        return np.minimum(rare, 1.0).astype(np.float32)

    @cached_property
    def _match(self) -> Float32s:
        """How well each table matches each of its words, by where the word stands."""
        mean = float(self.lengths.mean()) if len(self.lengths) else 1.0
        softened = np.sqrt(1 - _LENGTH + _LENGTH * self.lengths / max(mean, 1e-9))
        weight = np.where(self.named, 1.0, np.where(self.told, IN_COMMENT, _IN_COLUMN))
        match: Float32s = (weight / softened[self.table]).astype(np.float32)
        return match

    @cached_property
    def _name_share(self) -> Float32s:
        """Which part of its table's name a word is, by weight."""
        idf = np.repeat(self._idf, np.diff(self.starts)) * self.named
        whole = np.bincount(self.table, idf, minlength=len(self.lengths))
        share: Float32s = (idf / np.maximum(whole[self.table], 1e-9)).astype(np.float32)
        return share


def _best(expansions: Iterable[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    """Each expansion once, with the better of its shares, in the order they came."""
    best: dict[str, float] = {}
    for word, share in expansions:
        best[word] = max(share, best.get(word, 0.0))
    return best.items()


def _worded(document: Json) -> dict[str, Words]:
    """Words with those that stand for each, as they were written."""
    return {str(word): tuple(map(str, others)) for word, others in document.items()}


def comment_words(table: Table) -> list[str]:
    """The stems of what the comments on a table and its columns say, stop words left out.

    A comment that says not to use the table speaks of what to use instead.
    """
    own = "" if warns_off(table.comment) else table.comment
    texts = [own, *(column.comment for column in table.columns)]
    words = dict.fromkeys(word for text in texts if text for word in query_words(text))
    return list(words)[:_MOST_TOLD]
