"""A question's words with marks for what they name: *how many T0 of each C1 have C2 over N3*.

Tables, columns, values and numbers are marked by the word that they begin at (`schema_links.py`).
What a rule has read is blanked, so that no other rule reads it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from dovetail.components import Components
from dovetail.domain import JoinEdge, Table
from dovetail.domain.sql import NUMBER
from dovetail.retrieve import grammar
from dovetail.retrieve.parts import Condition, Reading, Ref
from dovetail.retrieve.schema_links import SchemaLink, SchemaLinks, Value
from dovetail.search.query import stems

# The last letter of *shipp-ed*.
_DOUBLED = re.compile(r"([^\Waeiou])\1$")


class MarkedText:
    """A marked question over tables that joins connect, and what has been read of it."""

    def __init__(
        self, links: SchemaLinks, tables: Sequence[Table], joins: Sequence[JoinEdge]
    ) -> None:
        self.links, self.tables, self.reading = links, tables, Reading()
        self.numbers = dict(_numbers(links))
        self.things: dict[str, Ref] = {}
        self.values: dict[str, Value] = {}
        self.heads: dict[int, bool] = {}
        self.ends: dict[str, int] = {}
        self.starts: dict[int, int] = {}
        self.text = "".join(self._marked())
        self.main = links.tables[0].table if links.tables else tables[0]
        components = Components(edges=((edge.left, edge.right) for edge in joins))
        root = components.root(self.main.id)
        self.joined = {frozenset((edge.left, edge.right)) for edge in joins}
        self.near = {one.id for one in tables if components.root(one.id) == root}
        self.referred = {edge.right for edge in joins} - {edge.left for edge in joins}

    def _marked(self) -> Iterator[str]:
        """The question's words, with marks for what they name."""
        at, length, head, seen, last = 0, 0, True, False, " "
        words, places = self.links.words, self.links.at
        while at < len(words):
            gap = self.links.text[places[at - 1][1] : places[at][0]].strip() if at else ","
            begins = bool(gap in (",", ".", ";", "?", "") and gap) or words[at - 1] == "and"
            mark, end = self._mark(at)
            if grammar.ASKS.fullmatch(words[at]) or (
                begins and grammar.BEGINS.fullmatch(words[at])
            ):
                head = True
            elif seen and grammar.CLAUSE.fullmatch(mark):  # "orders" that are a table are none
                head = head and words[at] == "with" and words[at - 1] in ("along", "together")
            if (
                mark[0] == "C"
                and last[0] == "T"
                and grammar.DEED.fullmatch(" ".join(words[at:end]))
            ):
                head = False  # "which suppliers delivered to schools"
            seen, last = seen or mark[0] in "CT", mark
            if mark not in grammar.DROPPED:
                self.heads[length], self.starts[at] = head, length
                yield f"{mark} "
                length += len(mark) + 1
            at = end

    def _mark(self, at: int) -> tuple[str, int]:
        """A word or the mark of what begins there, and where the next one begins."""
        table, column, value = self.links.at_word(at)
        named = _named(table, column)
        if at in self.numbers and not (named and named.column):
            self.values |= {f"N{at}": value} if value else {}
            return f"N{at}", self.numbers[at][1]
        if value and value.start == at and (value.named or not named):
            self.values[f"V{at}"] = value
            return f"V{at}", value.end
        if named and named.start == at:
            kind = "C" if named.column else "T"
            self.things[f"{kind}{at}"] = Ref(named.table, named.column)
            self.ends[f"{kind}{at}"] = named.end
            return f"{kind}{at}", named.end
        return self.links.words[at], at + 1

    def blank(self, start: int, end: int) -> None:
        """What was read is not read again."""
        self.text = (
            self.text[:start] + re.sub(r"\S", "\u00b7", self.text[start:end]) + self.text[end:]
        )

    def in_head(self, at: int) -> bool:
        """Whether a word stands where a question says what it wants to see."""
        return self.heads[max(start for start in self.heads if start <= at)]

    def thing(self, at: int, skipped: int = 0, kinds: str = "CT") -> tuple[Ref, int, int] | None:
        """What is named next, at most so many words on, and where."""
        ahead = re.compile(
            rf" ?{grammar.FILLER}(?:{grammar.DISTINCT} )?(?:\w+ ){{0,{skipped}}}?([{kinds}]\d+)"
        )
        match = ahead.match(self.text, at)
        return (self.things[match[1]], match.start(1), match.end(1)) if match else None

    def _number(self, mark: str) -> str:
        return self.numbers[int(mark[1:])][0]

    def _where(self, at: int, of: Ref, operator: str, *values: str) -> None:
        self.reading.where.append(Condition(at, of, operator, values))

    def _by_link(self) -> list[Table]:
        """The tables, those that the question names first, in its order."""
        named = [link.table for link in self.links.tables]
        return list({table.id: table for table in (*named, *self.tables)}.values())

    def _words_before(self, at: int) -> Sequence[str]:
        """The question's words up to a place of its marked text."""
        place = re.match(r"[CTVN\u00b7](\d+)", self.text[at:])
        return self.links.words[: int(place[1])] if place else self.links.words

    def _unread_between(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The words of a part of the question that no rule has read, by where they are marked."""
        for word, at in self.starts.items():
            unread = re.match(r"N\d|[^CTV\u00b7]", self.text[at:])
            if unread and start <= self.links.at[word][0] < end:
                yield at, self.links.words[word]


def _named(table: SchemaLink | None, column: SchemaLink | None) -> SchemaLink | None:
    """Of a table and a column that a word names, the one that is meant."""
    if table is None or column is None:
        return table or column
    own = column.column and set(stems(column.column.name)) <= set(stems(table.table.name))
    return table if own else column


def _numbers(links: SchemaLinks) -> Iterator[tuple[int, tuple[str, int]]]:
    """The numbers in a question, by their first word, each with where the next word is."""
    starts = {start: at for at, (start, _) in enumerate(links.at)}
    for match in grammar.NUMBER.finditer(links.text):
        number, at = match.group().replace(",", ""), starts.get(match.start())
        if at is not None and re.fullmatch(NUMBER, number):
            inside = sum(match.start() <= start < match.end() for start, _ in links.at)
            yield at, (number, at + inside)
    for at, word in enumerate(links.words):
        if word in grammar.NUMBERS:
            yield at, (str(grammar.NUMBERS.index(word)), at + 1)


@lru_cache(maxsize=1 << 14)
def _root(word: str) -> str:
    """A word without its ending: *ship* of *shipped*, *birth* of *born*."""
    return _DOUBLED.sub(r"\1", grammar.ENDING.sub("", grammar.IRREGULAR.get(word, word)))


def akin(word: str, other: str) -> bool:
    """Whether two words are forms of one: *rated* and *rating*, *expire* and *expiry*."""
    short, long = sorted((_root(word), _root(other)), key=len)
    return long.startswith(short) and len(short) > (2 if short == long else 4)
