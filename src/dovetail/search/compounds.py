"""Words that are written as one: compounds, and names without anything between their words.

They are split by the vocabulary of the catalog, never by a dictionary: what the catalog has no
words for stays whole.
"""

from __future__ import annotations

from collections.abc import Callable

# What may stand between the parts of a compound: Rechnung-s-datum, Kunde-n-nummer.
LINKS = ("", "s", "es", "n", "en", "er", "e")
_LEAST_PART = 3
_LONGEST = 60


def split(
    word: str,
    known: Callable[[str], bool],
    *,
    links: tuple[str, ...] = ("",),
    least: int = _LEAST_PART,
) -> tuple[str, ...]:
    """The parts of a word that are all known, as few as possible; none where it cannot be split.

    >>> vocabulary = {"order", "line", "item", "lineitem"}
    >>> split("orderlineitem", vocabulary.__contains__)
    ('order', 'lineitem')
    >>> split("kundennummer", {"kunde", "nummer"}.__contains__, links=LINKS)
    ('kunde', 'nummer')
    """
    if not 2 * least <= len(word) <= _LONGEST:
        return ()
    best: dict[int, tuple[str, ...]] = {0: ()}
    for end in range(least, len(word) + 1):
        for start in range(end - least, -1, -1):
            if start not in best or (start == 0 and end == len(word)):
                continue
            part = _part(word[start:end], known, links if end < len(word) else ("",), least)
            found = (*best[start], part)
            if part and (end not in best or len(found) <= len(best[end])):
                best[end] = found
    return best.get(len(word), ())


def _part(text: str, known: Callable[[str], bool], links: tuple[str, ...], least: int) -> str:
    """The known word that a piece is, less what links it to the next; empty if there is none."""
    for link in links:
        if text.endswith(link) and len(text) - len(link) >= least:
            bare = text[: len(text) - len(link)]
            if known(bare):
                return bare
    return ""
