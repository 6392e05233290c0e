"""Languages: their stop words and stems, and which one a question or the names of a catalog are in.

English has rules of its own (query.py). The language of a question is told by its stop words; one
that has none is taken to be in the language of the catalog.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from dovetail.names.concepts import meaning_of
from dovetail.names.words import spelled
from dovetail.search.query import is_stop_word, shapes_speech, stem
from dovetail.search.slips import is_common

# Stop words, or words that any question may use, that tell a language where nothing else does.
_ENOUGH = 2
# What a word's looks add to them: each letter of an ending, and a letter that English lacks.
_PER_LETTER, _LETTER = 0.1, 0.3
# Of the stop words of a language, so many in the names of a catalog tell its language, if they are
# so many times as many as those of English.
_IN_NAMES, _TIMES = 4, 2
# Letters that have no accent to lose.
_UNACCENTED = str.maketrans(
    {"ß": "ss", "ø": "o", "æ": "ae", "ł": "l", "\u0131": "i", "đ": "d", "œ": "oe"}
)
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


@dataclass(frozen=True, slots=True)
class Language:
    """A language by the name that Snowball has for it.

    `stop` are its stop words, `generic` words that any question may use, `endings` those of its
    other words, `letters` some that English does not have; `compounds` says that it writes compound
    nouns as one word.
    """

    name: str
    stop: frozenset[str]
    generic: frozenset[str]
    endings: tuple[str, ...] = ()
    letters: frozenset[str] = frozenset()
    compounds: bool = False

    def shaping(self, words: Collection[str]) -> frozenset[str]:
        """Those of some words that any question in this language may use."""
        return (self.stop | self.generic).intersection(words)

    def likeness(self, words: Iterable[str]) -> float:
        """How much some words look like those of the language, by their ends and letters."""
        likeness = 0.0
        for word in words:
            ends = [len(end) for end in self.endings if word.endswith(end) and len(word) > len(end)]
            likeness += max(ends, default=0) * _PER_LETTER + _LETTER * bool(self.letters & {*word})
        return likeness

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
            tuple(about["endings"].split()),
            frozenset(about["letters"].split()),
            bool(about.get("compounds", False)),
        )
        for name, about in tomllib.loads(text).items()
    }


def language_of(question: str, usual: Language | None = None) -> Language | None:
    """The language of a question, None for English; `usual` is that of the catalog.

    Two stop words tell it, or one where most other words are none of English. Of several languages
    that have it the endings and letters of the words decide.

    >>> found = language_of("Welche Kunden haben nichts bestellt?")
    >>> found.name if found else "", language_of("Which customers have no orders?")
    ('german', None)
    >>> found = language_of("Offene Rechnungen von Hartmann")
    >>> found.name if found else ""
    'german'
    """
    words = {word for word in spelled(question).split() if len(word) > 1 and not word.isdigit()}
    english = {word for word in words if shapes_speech(word)}
    shaping = {name: one.shaping(words) for name, one in languages().items()}
    if usual is not None:
        most = max(len(english), *map(len, shaping.values()))
        if len(shaping[usual.name]) >= most:
            return usual
    if all(english - own and len(own - english) < _ENOUGH for own in shaping.values()):
        return None
    foreign = frozenset(word for word in words - english if _is_foreign(word))
    best = max(
        languages().values(),
        key=lambda one: len(shaping[one.name]) + one.likeness(foreign - shaping[one.name]),
    )
    own = shaping[best.name]
    if len(own - english) >= max(_ENOUGH, len(english - own) + 1):
        return best
    meant = any(meaning_of(plain(word)) for word in foreign - own)
    told = own - english or ((own or len(foreign) >= _ENOUGH) and meant)
    plainly = len(foreign - own) + meant > len(words - foreign - own) and not english - own
    return best if told and plainly else None


def _is_foreign(word: str) -> bool:
    """Whether a word is hardly used in English texts, or means another English word."""
    meant = meaning_of(plain(word))
    rare = not (word.isascii() and is_common(stem(word)))
    return rare or (meant is not None and stem(meant) != stem(word))


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
