"""The spans of a question that may be values of cells: names, titles, codes, numbers.

Any run of up to eight words may be one; value linking decides which are. A span that is written
like a name (quoted, or with a capital inside the sentence) is likelier meant as a value.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice
from string import digits

from dovetail.phrases import MOST_WORDS
from dovetail.search.query_terms import is_stop_word

# A question of more words is not read to its end for values: what it quotes stands early.
_MOST_READ = 400
_WORD = re.compile(r"[^\W_]+")
_QUOTES = "\"'`«»\u2018\u2019\u201c\u201d\u201e"
_CALENDAR = frozenset(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905
)
# Scripts that write words without blanks between them: any part of a run may be a value.
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff]{2,}")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a question: its text, and which of the question's words it takes up.

    `named` says that it is written like a name.
    """

    text: str
    start: int
    end: int
    named: bool

    @property
    def number(self) -> bool:
        """Whether it is made of digits alone."""
        return all(letter.isdigit() or not letter.isalnum() for letter in self.text)

    @property
    def calendar(self) -> bool:
        """Whether it is a month or a day of the week: a time, whatever cell has it too."""
        return self.text.lower() in _CALENDAR

    @property
    def plain_word(self) -> bool:
        """Whether it is one word, not written like a name: likelier speech than a value."""
        return self.end - self.start == 1 and not self.named

    @property
    def written(self) -> bool:
        """Whether cells are compared with it as written; others are compared as phrases."""
        return self.text[0] in digits and self.text[-1] in digits


def spans(question: str, stop_words: Container[str] = ()) -> Iterator[Span]:
    """The spans of a question, the longest first, and equally long ones from left to right.

    `stop_words` are those of the question's language, beside the English ones.
    """
    # A lone surrogate is no text that a cell could hold; in its place comes a question mark.
    question = question.encode("utf-8", "replace").decode("utf-8")
    words = [found.span() for found in islice(_WORD.finditer(question), _MOST_READ)]
    capital = [any(map(str.isupper, question[start:end])) for start, end in words]
    for size in range(min(MOST_WORDS, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            begin, end = words[start][0], words[start + size - 1][1]
            text = question[begin:end]
            if size == 1 and (_says_nothing(text) or text.lower() in stop_words):
                continue
            quoted = begin > 0 and question[begin - 1] in _QUOTES
            # The capital at the beginning of a sentence says nothing about a lone word.
            lone = begin == 0 and size == 1 and text.istitle()
            named = quoted or (not lone and any(capital[start : start + size]))
            yield Span(text, start, start + size, named)
    yield from _unspaced(question, len(words))


def _says_nothing(word: str) -> bool:
    return is_stop_word(word.lower()) or (len(word) == 1 and not word.isdigit())


def _unspaced(question: str, words: int) -> Iterator[Span]:
    """Parts of runs in scripts without blanks, numbered after the words of the question."""
    place = words
    for run in _UNSPACED.finditer(question):
        text = run.group()[:_MOST_READ]
        for size in range(min(MOST_WORDS, len(text)), 1, -1):
            for start in range(len(text) - size + 1):
                begin = place + start
                yield Span(text[start : start + size], begin, begin + size, named=True)
        place += len(text)
