"""The words of names and questions as stems, so that `singers` matches `singer_in_concert`.

Stems are rough on purpose: two forms of a word need only end alike, not read well.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dovetail.names.words import singular, spelled

# Words that shape a question and name nothing.
_STOP_WORDS = frozenset(
    """a an the of in on at to for from by with and or not is are was were be been being do does did
    has have had having what which who whom whose when where why how many much each every all any
    some that this these those there their them they it its as than then more most less least if
    but so such only also can could would should will may i me my you your we our he she his her
    him show list give find return tell please provide identify get display""".split()  # noqa: SIM905
)
# Words that relate others, and that search counts, since names have them too.
_RELATIONS = frozenset(
    """per via vs versus between among during across within into onto over under above below after
    before since until while about against along around without toward towards through both either
    neither same other another did does our us still ever yet just very""".split()  # noqa: SIM905
)
_ENDINGS = ("ing", "ed", "er", "or", "ion", "ment", "al")
_LEAST_STEM = 4
# What belongs to somebody ("Solberg's office"), and a count ("the number of events"): neither the
# ending nor the count names anything.
_NAMES_NOTHING = re.compile(r"(?<=\w)['\u2019]s\b|\bnumbers? (?=of\b)", re.IGNORECASE)
# A question of more different words is not read to its end.
_MOST_WORDS = 400


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word in lower case without its ending.

    >>> [stem(word) for word in ("singers", "singing", "song", "treatments", "countries")]
    ['sing', 'sing', 'song', 'treat', 'country']
    """
    bare = singular(word)
    for ending in _ENDINGS:
        if bare.endswith(ending) and len(bare) - len(ending) >= _LEAST_STEM:
            bare = bare[: -len(ending)]
            break
    return bare[:-1] if len(bare) > _LEAST_STEM and bare.endswith("e") else bare


def is_stop_word(word: str) -> bool:
    """Whether a word in lower case only shapes a question and names nothing."""
    return word in _STOP_WORDS


def shapes_speech(word: str) -> bool:
    """Whether a word relates others and names nothing: it may be in a name, but is no reason.

    >>> shapes_speech("per"), shapes_speech("Carrier")
    (True, False)
    """
    return word.lower() in _RELATIONS or is_stop_word(word.lower())


def stems(name: str) -> list[str]:
    """The stems of a name's words, in order."""
    return [stem(word) for word in spelled(name).split()]


def query_words(question: str) -> dict[str, str]:
    """The distinct stems of a question without stop words, in order, each as first written.

    >>> query_words("Show the singers of each song, and what they are singing")
    {'sing': 'singers', 'song': 'song'}
    >>> query_words("Count the number of Solberg's visits, by room number")
    {'count': 'count', 'solberg': 'solberg', 'visit': 'visits', 'room': 'room', 'numb': 'number'}
    """
    written: dict[str, str] = {}
    meant: dict[str, None] = {}
    for word in spelled(_NAMES_NOTHING.sub("", question)).split():
        written.setdefault(stem(word), word)
        if word not in _STOP_WORDS:
            meant.setdefault(stem(word))
    return {each: written[each] for each in list(meant)[:_MOST_WORDS]}
