"""What tables and columns are named in twelve languages, and what is short for such words.

A line of `lexicon.txt` is one thing: its words in each language, the commonest first, English in
front. A system of one company is named in one language mostly, which its own words tell; so `AVD`
in a Swedish system is short for `avdelning`, a department, and `LEV` for a supplier or a delivery.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from dovetail.names.words import Words, singular

_FILE = "lexicon.txt"
_LANGUAGES = (
    "english", "german", "french", "spanish", "italian", "dutch", "portuguese", "swedish", "danish",
    "norwegian", "finnish", "polish", "czech",
)  # fmt: skip
_ENGLISH = _LANGUAGES[0]
# A language is that of a system if so many of its words are of the language alone, and so many for
# each that is English.
_LEAST_OWN, _LEAST_SHARE = 8, 0.3
# What may follow a word in names, and what then stands in its place.
_ENDINGS = (
    ("n", ""), ("en", ""), ("en", "e"), ("s", ""), ("es", ""), ("es", "e"), ("er", ""), ("er", "e"),
    ("e", ""), ("r", ""), ("ar", ""), ("ar", "e"), ("or", "a"), ("a", ""), ("na", ""), ("t", ""),
    ("erna", "a"), ("et", ""), ("i", "o"), ("i", "e"), ("e", "a"), ("x", ""), ("aux", "al"),
    ("is", "l"), ("y", ""), ("y", "a"),
)  # fmt: skip
_LEAST_STEM = 4
# The letters of an abbreviation, and how many things it may be short for to say anything.
_SHORT, _MOST_MEANT = range(3, 8), 2
_VOWELS = frozenset("aeiouy")


@dataclass(frozen=True)
class Lexicon:
    """The words of one language, in lower case without accents, each with what it means in English,
    the likeliest first."""

    language: str
    meanings: Mapping[str, Words]

    def meaning(self, word: str) -> Words:
        """What a word means, in the singular or another form; nothing where it is not known."""
        return next((self.meanings[one] for one in _forms(word) if one in self.meanings), ())

    def short_for(self, word: str) -> Words:
        """What a word may be short for: one that it begins, or begins but for the vowels.

        >>> lexicons()["swedish"].short_for("franv"), lexicons()["german"].short_for("abtl")
        (('absence',), ('department',))
        """
        if len(word) not in _SHORT:
            return ()
        listed = self._sorted
        at = bisect_left(listed, word)
        begun = []
        while at < len(listed) and listed[at].startswith(word):
            begun.append(listed[at])
            at += 1
        meant = _heads(self.meanings[one] for one in begun)
        if not meant and not _VOWELS & {*word[1:]}:
            meant = _heads(self.meanings[one] for one in self._by_consonants.get(word, ()))
        return meant if len(meant) <= _MOST_MEANT else ()

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.meanings)

    @cached_property
    def _by_consonants(self) -> Mapping[str, Words]:
        """The words by the first letters of what is left of them without vowels but a first one."""
        found: dict[str, Words] = {}
        for word in self._sorted:
            bare = word[0] + "".join(letter for letter in word[1:] if letter not in _VOWELS)
            for size in _SHORT:
                if len(bare) >= size:
                    found[bare[:size]] = (*found.get(bare[:size], ()), word)
        return found


def _lines() -> list[str]:
    return files("dovetail.names").joinpath(_FILE).read_text("utf-8").splitlines()


@cache
def lexicons() -> Mapping[str, Lexicon]:
    """The lexicon of each language."""
    rows = [line.split("|") for line in _lines()]
    found = {}
    for at, language in enumerate(_LANGUAGES):
        meanings: dict[str, Words] = {}
        for row in rows:
            head = row[0].split()[0].replace("_", " ")
            for word in row[at].split():
                meanings[word] = (*meanings.get(word, ()), head)
        found[language] = Lexicon(language, meanings)
    return found


def names_thing(word: str) -> bool:
    """Whether an English word names something that companies keep data of.

    >>> [word for word in ("salaries", "nationality", "mostly", "carry") if names_thing(word)]
    ['salaries', 'nationality']
    """
    return singular(word.lower()) in _things()


@cache
def _things() -> frozenset[str]:
    """The English words of the lexicon, those of names of two words as well."""
    cells = (line.partition("|")[0].replace("_", " ") for line in _lines())
    return frozenset(singular(word) for cell in cells for word in cell.split())


def lexicon_of(words: Collection[str]) -> Lexicon | None:
    """The lexicon of the language that a system's words are in; None for English or none known.

    >>> words = "kunde auftrag lieferant rechnung menge preis anzahl betrag abteilung".split()
    >>> found = lexicon_of(words)
    >>> found.language if found else ""
    'german'
    """
    every = lexicons()
    english = {word for word in words if every[_ENGLISH].meaning(word)}
    others = [one for one in every.values() if one.language != _ENGLISH]
    own = [sum(word not in english and bool(one.meaning(word)) for word in words) for one in others]
    best = max(own)
    return others[own.index(best)] if best >= max(_LEAST_OWN, _LEAST_SHARE * len(english)) else None


def _forms(word: str) -> Iterator[str]:
    yield word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM - len(instead):
            yield word.removesuffix(ending) + instead


def _heads(meant: Iterator[Words]) -> Words:
    return tuple(dict.fromkeys(one for words in meant for one in words))
