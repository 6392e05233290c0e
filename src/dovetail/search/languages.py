"""Languages other than English: which one a question is in, its stop words, its stems.

English has rules of its own (query.py), and a question in English is read by them alone. The
language of a question is told by its stop words; a question that has none is taken to be in the
language of the catalog. Stems are Snowball's.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from dovetail.names.words import spelled
from dovetail.search.query import is_stop_word, shapes_speech, stem

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
