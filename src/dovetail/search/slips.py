"""Slips of the pen: a word with two letters changed round, or one letter wrong.

A word that nothing in a catalog is called, and that English texts hardly use, may be another one
that was written wrongly, in the question or in the data: `recieved`, but not `patent` for patient.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import chain, takewhile
from string import ascii_lowercase

from dovetail.search.query import stem

# In a word of so many letters any one letter may be wrong: few others are as near by chance. In a
# shorter one two letters are changed round, or one is doubled or not.
_LEAST_ANY_SLIP = 6
# A word that English texts use so often is no slip; there are some 12,000, and the commonest slips
# (`definately`) are used less than half as often.
_COMMON = 4e6


@cache
def _common_stems() -> frozenset[str]:
    """The stems of common English words, by the counts of the package wordsegment, which has the
    most frequent words first."""
    with files("wordsegment").joinpath("unigrams.txt").open(encoding="utf-8") as lines:
        counts = (line.split("\t") for line in lines)
        return frozenset(stem(word) for word, _ in takewhile(_is_common, counts))


def _is_common(counted: list[str]) -> bool:
    return float(counted[1]) >= _COMMON


def is_common(stemmed: str) -> bool:
    """Whether a stem is that of a word that English texts use often.

    >>> is_common("patent"), is_common("reciev")
    (True, False)
    """
    return stemmed in _common_stems()


def is_slip(word: str, meant: str) -> bool:
    """Whether a word is another one with two letters changed round or one letter wrong.

    >>> is_slip("reciev", "receiv"), is_slip("adress", "address"), is_slip("voice", "invoice")
    (True, True, False)
    """
    start = next(
        (at for at, pair in enumerate(zip(word, meant, strict=False)) if pair[0] != pair[1]), None
    )
    if start is None:
        start = min(len(word), len(meant))
    mine, other = word[start:], meant[start:]
    if mine[:2] == other[1::-1] and mine[2:] == other[2:]:
        return True
    one_more, one_less = mine[1:] == other, mine == other[1:]
    doubled = (one_more and mine[:1] == word[start - 1]) or (
        one_less and other[:1] == word[start - 1]
    )
    return doubled or (
        len(word) >= _LEAST_ANY_SLIP and (one_more or one_less or mine[1:] == other[1:])
    )


def slips(word: str) -> Iterator[str]:
    """The words that a word may be but for a slip, the likeliest kinds first.

    The first letter is taken to be right, and letters to be those of English. A common word is
    right as well; it may have been written wrongly elsewhere, by a slip of the likeliest kinds.

    >>> list(slips("hall")), len(set(slips("recieved")))
    (['hlal', 'hhall', 'haall', 'halll'], 389)
    """
    if is_common(stem(word)):
        return (slip for slip in _likely_slips(word) if not is_common(stem(slip)))
    return chain(_likely_slips(word), _any_slips(word))


def _likely_slips(word: str) -> Iterator[str]:
    """A word with two letters changed round, or with one doubled or not."""
    cuts = range(1, len(word))
    yield from (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        for at in cuts[:-1]
        if word[at] != word[at + 1]
    )
    again = [at for at in cuts if word[at] == word[at - 1]]
    yield from (word[:at] + word[at + 1 :] for at in again)
    ends = range(1, len(word) + 1)
    yield from (word[:at] + word[at - 1] + word[at:] for at in ends if at not in again)


def _any_slips(word: str) -> Iterator[str]:
    """A word without a letter, with another in its place, or with one more, if it is long."""
    if len(word) < _LEAST_ANY_SLIP:
        return
    cuts, ends = range(1, len(word)), range(1, len(word) + 1)
    yield from (word[:at] + word[at + 1 :] for at in cuts)
    for letter in ascii_lowercase:
        yield from (word[:at] + letter + word[at + 1 :] for at in cuts if word[at] != letter)
        yield from (word[:at] + letter + word[at:] for at in ends)
