"""Words of several languages, and abbreviations, for the things that most companies keep tables of.

Systems of one company are named in several languages and by several generations of people: what one
calls a customer is a Kunde in the next. Only words that mean one thing in such names are here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files

# One thing a line: English first, then other languages, singular, without accents. What companies
# keep tables of comes before the line of dashes, other notions after it.
_FILE, _END = "glossary.txt", "--"
# Letters of a word that may stand for it.
_SHORT = 4


@cache
def _glossary() -> tuple[list[list[str]], list[list[str]]]:
    """The words of each thing that companies keep tables of, and of each other notion."""
    text = files("dovetail.names").joinpath(_FILE).read_text("utf-8").strip()
    lines = [line.split() for line in text.replace("\n    ", " ").split("\n")]
    end = lines.index([_END])
    return lines[:end], lines[end + 1 :]


@cache
def _things() -> Mapping[str, int]:
    """The number of the thing that each word is for."""
    return {word: number for number, line in enumerate(_glossary()[0]) for word in line}


@cache
def meanings() -> Mapping[str, str]:
    """The words of other languages for things and notions, each with the English word.

    >>> meanings()["kunde"]
    'customer'
    """
    things, notions = _glossary()
    return {word: line[0] for line in (*things, *notions) for word in line[1:]}


# What makes one of many, in languages other than English: endings, and what they stand for.
_PLURALS = (("en", ""), ("n", ""), ("es", ""), ("er", ""), ("i", "o"), ("i", "e"), ("e", "a"))


@lru_cache(maxsize=1 << 17)
def thing_of(word: str) -> int | None:
    """The number of the thing that a word is for, in the singular or the plural; None for others.

    >>> thing_of("kunden") == thing_of("customer") == thing_of("clienti")
    True
    """
    things = _things()
    return next((things[one] for one in _singulars(word) if one in things), None)


@lru_cache(maxsize=1 << 17)
def meaning_of(word: str) -> str | None:
    """The English word for one of another language, without accents, if the glossary has it.

    >>> meaning_of("kunden"), meaning_of("customers")
    ('customer', None)
    """
    known = meanings()
    forms = (*_singulars(word), word.removesuffix("s"))
    return next((known[one] for one in forms if one in known), None)


def _singulars(word: str) -> Iterator[str]:
    """A word as it is, and what it may be one of many of."""
    yield word
    for ending, instead in _PLURALS:
        if len(word) > 4 and word.endswith(ending):
            yield word.removesuffix(ending) + instead


@lru_cache(maxsize=1 << 14)
def other_words(word: str) -> tuple[str, ...]:
    """All words for the thing that a word is for, or that it alone is short for; none for others.

    >>> "mitarbeiter" in other_words("anst"), other_words("comp")
    (True, ())
    """
    things = _things()
    thing = thing_of(word)
    if thing is None and len(word) >= _SHORT:
        possible = {number for other, number in things.items() if other.startswith(word)}
        thing = possible.pop() if len(possible) == 1 else None
    return () if thing is None else tuple(_glossary()[0][thing])


def same_thing(one: str, other: str) -> bool:
    """Whether two words are for the same thing, whatever the language.

    >>> same_thing("customer", "kunde"), same_thing("customer", "order")
    (True, False)
    """
    thing = thing_of(one)
    return thing is not None and thing == thing_of(other)
