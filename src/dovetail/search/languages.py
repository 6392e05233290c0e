"""The words of a question and how each is looked up, in the language that the question is in.

English has rules of its own (query.py), and a question in English is read by them alone. The
language of a question is told by its stop words; a question that has none is taken to be in the
language of the catalog.

The index keeps one kind of stems, whatever language names are in. A word of a question in German
also means the index's words with the same German stem (Snowball's), those that it begins or ends
as part of a compound, and, where it is a compound itself that the catalog does not have, the parts
of it, or, where the catalog has no word for its beginning, what it ends with: Mitarbeiter are
Arbeiter. Compounds are split by the vocabulary of the catalog, never by a dictionary.
"""

from __future__ import annotations

import tomllib
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from importlib.resources import files

from dovetail.names.concepts import meaning_of, meanings
from dovetail.names.words import spelled
from dovetail.search.lexical import Lexical
from dovetail.search.method_cache import method_cache
from dovetail.search.query import (
    QueryTerm,
    is_stop_word,
    is_unspaced,
    query_words,
    shapes_speech,
    stem,
)

# Stop words, or words that any question may use, that tell a language where nothing else does.
_ENOUGH = 2
# Of the stop words of a language, so many in the names of a catalog tell its language, if they are
# so many times as many as those of English.
_IN_NAMES, _TIMES = 4, 2
# Letters that have no accent to lose.
_UNACCENTED = str.maketrans(
    {"ß": "ss", "ø": "o", "æ": "ae", "ł": "l", "\u0131": "i", "đ": "d", "œ": "oe"}
)
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
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


@dataclass(frozen=True, slots=True)
class Language:
    """A language by the name that Snowball has for it.

    `stop` are its stop words, `generic` words that any question may use, `compounds` says that it
    writes compound nouns as one word.
    """

    name: str
    stop: frozenset[str]
    generic: frozenset[str]
    compounds: bool = False

    def keys(self, word: str) -> frozenset[str]:
        """What all forms of a word have in common, however accents are written.

        >>> german = languages()["german"]
        >>> bool(german.keys("Größen") & german.keys("groesse"))
        True
        """
        return _keys(self.name, word.lower())

    def words(self, question: str) -> dict[str, str]:
        """The distinct stems of a question without stop words, each as first written.

        The stems are those of the index, which is the same whatever language is asked in.
        """
        stems: dict[str, str] = {}
        for word in spelled(question).split():
            if word not in self.stop and not is_stop_word(word):
                stems.setdefault(stem(word), word)
        return stems


@cache
def languages() -> Mapping[str, Language]:
    """The languages that are known, by name."""
    text = files("dovetail.search").joinpath("languages.toml").read_text("utf-8")
    return {
        name: Language(
            name,
            frozenset(about["stop"].split()),
            frozenset(about["generic"].split()),
            bool(about.get("compounds", False)),
        )
        for name, about in tomllib.loads(text).items()
    }


def language_of(question: str, usual: Language | None = None) -> Language | None:
    """The language of a question, None for English; `usual` is that of the catalog.

    >>> found = language_of("Welche Kunden haben nichts bestellt?")
    >>> found.name if found else "", language_of("Which customers have no orders?")
    ('german', None)
    """
    words = {word for word in spelled(question).split() if len(word) > 1}
    english = sum(map(shapes_speech, words))
    counts = {
        name: sum(word in one.stop or word in one.generic for word in words)
        for name, one in languages().items()
    }
    best = max(counts, key=lambda name: counts[name])
    if usual is not None and counts[usual.name] >= max(counts[best], english):
        return usual
    return languages()[best] if counts[best] >= max(_ENOUGH, english + 1) else None


def language_of_names(words: Iterable[str]) -> Language | None:
    """The language that the words of a catalog's names and comments are in, None for English."""
    known = set(words)
    english = sum(map(is_stop_word, known))
    counts = {
        name: sum(word in known and not is_stop_word(word) for word in one.stop if len(word) > 1)
        for name, one in languages().items()
    }
    best = max(counts, key=lambda name: counts[name])
    enough = counts[best] >= max(_IN_NAMES, _TIMES * english + 1)
    return languages()[best] if enough else None


def plain(text: str) -> str:
    """A text in lower case without accents.

    >>> plain("Société"), plain("Größe"), plain("sjåfør")
    ('societe', 'grosse', 'sjafor')
    """
    parts = unicodedata.normalize("NFKD", text.lower().translate(_UNACCENTED))
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@lru_cache(maxsize=1 << 16)
def _keys(language: str, word: str) -> frozenset[str]:
    stemmed = _stemmer(language)
    forms = {word, plain(word), word.translate(_LETTERS)}
    return frozenset(plain(stemmed(form)) for form in forms)


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    from snowballstemmer import stemmer  # who asks in English need not load it

    stemmed: Callable[[str], str] = stemmer(language).stemWord
    return stemmed


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
