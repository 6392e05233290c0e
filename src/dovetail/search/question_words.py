"""The words of a question and how each is looked up, in the language that the question is in.

A question in English is read by the rules of query.py alone. The index keeps one kind of stems,
whatever language names are in. A word of a question in German also means the index's words with the
same German stem (Snowball's), those that it begins or ends as part of a compound, and, where it is
a compound itself that the catalog does not have, the parts of it, or, where the catalog has no word
for its beginning, what it ends with: Mitarbeiter are Arbeiter. Compounds are split by the
vocabulary of the catalog, never by a dictionary.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from dovetail.names.concepts import meaning_of, meanings
from dovetail.names.words import spelled
from dovetail.search.languages import Language, language_of, language_of_names, plain
from dovetail.search.lexical import Lexical
from dovetail.search.method_cache import method_cache
from dovetail.search.query import QueryTerm, is_unspaced, query_words, stem

# What may stand between the parts of a compound: Rechnung-s-datum, Kunde-n-nummer.
LINKS = ("", "s", "es", "n", "en", "er", "e")
_SHORTEST, _LONGEST = 3, 60
# A word that is part of a compound against one that is equal.
_PART = 0.6
_LEAST_PART = 4
# The least that must be left of a compound beside a word in it.
_LEAST_REST = 3
# The least that a compound must end with, if its beginning is no word of the catalog.
_LEAST_HEAD = 6
_LONGEST_ENDING = 3
_WORDS_KEPT = 4096
# Letters of a word in a script without blanks.
_SHORTEST_PART, _LONGEST_PART = 2, 8

Expansion = tuple[str, float]


def split(
    word: str,
    is_word: Callable[[str], bool],
    *,
    links: tuple[str, ...] = ("",),
) -> tuple[str, ...]:
    """The parts of a word that are all known, as few as possible; none where it cannot be split.

    >>> vocabulary = {"order", "line", "item", "lineitem"}
    >>> split("orderlineitem", vocabulary.__contains__)
    ('order', 'lineitem')
    >>> split("kundennummer", {"kunde", "nummer"}.__contains__, links=LINKS)
    ('kunde', 'nummer')
    """
    if not 2 * _SHORTEST <= len(word) <= _LONGEST:
        return ()
    best: dict[int, tuple[str, ...]] = {0: ()}
    for end in range(_SHORTEST, len(word) + 1):
        for start in range(end - _SHORTEST, -1, -1):
            if start not in best or (start == 0 and end == len(word)):
                continue
            part = _part(word[start:end], is_word, links if end < len(word) else ("",))
            parts = (*best[start], part)
            if part and (end not in best or len(parts) <= len(best[end])):
                best[end] = parts
    return best.get(len(word), ())


def _part(text: str, is_word: Callable[[str], bool], links: tuple[str, ...]) -> str:
    """The known word that a piece is, less what links it to the next; empty if there is none."""
    for link in links:
        if text.endswith(link) and len(text) - len(link) >= _SHORTEST:
            bare = text[: len(text) - len(link)]
            if is_word(bare):
                return bare
    return ""


class WordForms:
    """The words of an index by their stems in one language."""

    def __init__(self, language: Language, vocabulary: Iterable[str]) -> None:
        self.language = language
        self._by_key: dict[str, list[str]] = defaultdict(list)
        self._plain: dict[str, str] = {}
        for word in vocabulary:
            if not word.isdigit():
                self._plain[plain(word)] = word
                for key in language.keys(word):
                    self._by_key[key].append(word)
        self.expansions = method_cache(self._expansions, _WORDS_KEPT)

    def words(self, question: str) -> dict[str, str]:
        """The stems of a question's words, each as written; compounds as their parts.

        Words that any question may use count only where the catalog has them.
        """
        stems: dict[str, str] = {}
        for key, written in self.language.words(question).items():
            if self._forms(written):
                stems.setdefault(key, written)
            elif written not in self.language.generic:
                english = self.meaning(written)
                for part in self._parts(written) or (stem(english) if english else key,):
                    stems.setdefault(part, written)
        return stems

    def in_english(self, question: str) -> str:
        """The words of a question that say something, in English where the glossary has them;
        nothing where it has none."""
        spoken = [word for word in spelled(question).split() if word not in self.language.stop]
        meant = [self._glossed(word) for word in spoken]
        if not any(meant):
            return ""
        return " ".join(
            " ".join(english) or word for word, english in zip(spoken, meant, strict=True)
        )

    def meaning(self, written: str) -> str | None:
        """The English word that the glossary has for a word, in any of its forms."""
        if len(written) > _LONGEST:
            return None
        keys = (written, *sorted(self.language.keys(written)))
        return next((self._meant[key] for key in keys if key in self._meant), None)

    def _glossed(self, written: str) -> tuple[str, ...]:
        """The English words for a word, or for the parts of a compound."""
        if english := self.meaning(written):
            return (english,)
        parts = self._split(written) if not self._forms(written) else ()
        meant = [self.meaning(part) for part in parts]
        return tuple(one or part for one, part in zip(meant, parts, strict=True))

    @cached_property
    def _meant(self) -> Mapping[str, str]:
        """The glossary by what all forms of a word have in common, and by the word as it is."""
        known = meanings()
        by_key = {
            key: known[word]
            for word in known
            for key in self.language.keys(word)
            if len(key) >= _LEAST_PART
        }
        return {**by_key, **known}

    def _forms(self, written: str) -> list[str]:
        """The words of the index that are forms of a word; one that is no word has none."""
        if len(written) > _LONGEST:
            return []
        keys = self.language.keys(written)
        return sorted({word for key in keys for word in self._by_key.get(key, ())})

    def _parts(self, written: str) -> tuple[str, ...]:
        """The words that a compound is made of, as the index has them, else in English."""
        return tuple(
            forms[0] if (forms := self._forms(part)) else stem(self.meaning(part) or part)
            for part in self._split(written)
        )

    def _split(self, written: str) -> tuple[str, ...]:
        """The parts of a compound that the index or the glossary has; none where it is none."""
        if not self.language.compounds:
            return ()
        return split(
            written,
            lambda part: (
                bool(self._forms(part))
                or (len(part) >= _LEAST_PART and self.meaning(part) is not None)
            ),
            links=LINKS,
        )

    def _expansions(self, written: str) -> tuple[Expansion, ...]:
        """The words of the index that a word may mean, and how well each fits."""
        forms = dict.fromkeys(self._forms(written), 1.0)
        if self.language.compounds:
            keys = self.language.keys(written)
            # The words of the index have lost English endings as well.
            for key in sorted(keys | {stem(key) for key in keys}):
                for word in self._compounds_with(key):
                    forms.setdefault(word, _PART)
        if not forms:
            forms = dict.fromkeys(self._heads(written), _PART)
        return tuple(forms.items())

    def _heads(self, written: str) -> list[str]:
        """The words of the index that a compound ends with: the longest ending that is one."""
        ends = range(_LEAST_REST, len(written) - _LEAST_HEAD + 1) if self.language.compounds else ()
        return next((forms for at in ends if (forms := self._forms(written[at:]))), [])

    def _compounds_with(self, key: str) -> list[str]:
        """The words of the index that begin or end with a stem, and say something beside it."""
        if len(key) < _LEAST_PART:
            return []
        shortest = len(key) + _LEAST_REST
        return [
            word
            for text, word in self._plain.items()
            if key in text
            and len(text) >= shortest
            and (text.startswith(key) or self._ends_with(text, key))
        ]

    def _ends_with(self, text: str, key: str) -> bool:
        """Whether a form of a stem ends a text: the stem of a compound need not end in its own."""
        tail = text[text.rindex(key) :]
        return len(tail) <= len(key) + _LONGEST_ENDING and key in self.language.keys(tail)


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """The stems of a question, each as written, how each becomes a term, and its stop words.

    `compounds`: its language writes compound nouns as one word. `in_english`: what it says, word by
    word, as far as the glossary has it; nothing where it is in English or has no such word.
    """

    words: Mapping[str, str]
    look_up: Callable[[str], QueryTerm]
    stop_words: frozenset[str] = frozenset()
    compounds: bool = False
    in_english: str = ""


def _among_english(lexical: Lexical, words: Mapping[str, str], word: str) -> QueryTerm:
    """A word of a question in English as a term: one of another language that nothing is named by
    means what the glossary says (orders per avgangshamn)."""
    english = None if lexical.expand(word) else meaning_of(plain(words.get(word, word)))
    return lexical.term(word, lexical.expand(stem(english)) if english else ())


class QuestionWords:
    """Reads questions over one catalog, whose index has these words."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._vocabulary = vocabulary
        self._forms = lru_cache(maxsize=None)(partial(WordForms, vocabulary=vocabulary))

    def read(self, question: str, lexical: Lexical) -> SpokenWords:
        """The words of a question, to be looked up in an index."""
        language = language_of(question, self._usual)
        if language is None:
            words = self._apart(query_words(question, lexical.parts))
            return SpokenWords(words, partial(_among_english, lexical, words))
        forms = self._forms(language)
        words = forms.words(question)

        def look_up(word: str) -> QueryTerm:
            written = words.get(word, word)
            expansions = forms.expansions(written) or forms.expansions(word)
            if english := forms.meaning(written) or forms.meaning(word):
                expansions = (*expansions, *lexical.expand(stem(english)))
            return lexical.term(word, expansions)

        in_english = forms.in_english(question)
        return SpokenWords(words, look_up, language.stop, language.compounds, in_english)

    def _apart(self, words: dict[str, str]) -> dict[str, str]:
        """The same words, of runs without blanks between words those that the catalog has.

        What is left of a run is no word that one could look for.
        """
        apart: dict[str, str] = {}
        for key, written in words.items():
            parts = self._parts(key) if is_unspaced(key) else [(key, written)]
            apart |= {part: apart.get(part, as_written) for part, as_written in parts}
        return apart

    def _parts(self, run: str) -> Iterator[tuple[str, str]]:
        """The longest parts of a run, from left to right, that begin a word of the catalog."""
        start = 0
        while start < len(run):
            sizes = range(min(_LONGEST_PART, len(run) - start), _SHORTEST_PART - 1, -1)
            size = next((size for size in sizes if self._begins(run[start : start + size])), 0)
            if size:
                part = run[start : start + size]
                yield part, part
            start += size or 1

    def _begins(self, text: str) -> bool:
        at = bisect_left(self._sorted, text)
        return at < len(self._sorted) and self._sorted[at].startswith(text)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(filter(is_unspaced, self._vocabulary))

    @cached_property
    def _usual(self) -> Language | None:
        """The language of the catalog's names and comments."""
        return language_of_names(self._vocabulary)
