"""The prompt `grouped`: candidates in groups that belong together, as many as the question needs.

Where the search tells candidates apart, a few are shown; where its scores are flat, up to thirty.
Tables that belong together by joins, names and (where they may be used) sources stand in a group
with the joins between them, those that only names suggest as well. Columns that the question
speaks of are always named, and so are the columns of the joins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from dovetail.domain import Candidate, Table
from dovetail.models.chat import estimate_tokens
from dovetail.names.links import name_join
from dovetail.retrieve.column_relevance import by_relevance, deciding
from dovetail.retrieve.graph.belonging import Belonging, place_of
from dovetail.retrieve.graph.groups import members
from dovetail.retrieve.prompt_tables import PromptInput, Rendered, fit, named, shown_columns
from dovetail.text import cut, escape, fenced

# What the whole prompt may take: 1,200 tokens with the reply. On the paper's widest corpus, whose
# prompts have 11,100, that is less than an eighth.
TOKENS = 1_180
# The fewest and the most candidates, and the share of all relevance that those left out may hold.
FEWEST, MOST = 8, 30
_LEFT = 0.05
# The candidates that are likely: between them each join is shown, between others sure ones alone.
_LIKELY = 8
_LEAST_SCORE, _SURE = 0.25, 0.95
# Columns beside those that decide, and examples, from the most detailed level to the least: for
# likely candidates and for the others.
_LEVELS = ((8, 3), (5, 2), (3, 1), (0, 0))
_LEVELS_OTHERS = ((4, 1), (2, 0), (0, 0), (0, 0))
# Joins may take this share of the room.
_JOINS_SHARE = 0.3
_HEADER = 6
# Characters of a source's name.
_SOURCE = 40


def worth_showing(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first candidates that hold all but a small share of the relevance: from 8 to 30.

    >>> from dovetail.domain import TableId
    >>> steep = [Candidate(TableId("s", f"t{n:02}"), 0.5**n, {}) for n in range(30)]
    >>> flat = [Candidate(TableId("s", f"t{n:02}"), 0.2, {}) for n in range(30)]
    >>> len(worth_showing(steep)), len(worth_showing(flat))
    (8, 29)
    """
    left = _LEFT * sum(one.relevance for one in candidates)
    count = len(candidates)
    while count > FEWEST and left >= candidates[count - 1].relevance:
        count -= 1
        left -= candidates[count].relevance
    return list(candidates[:count])


def render_grouped(prompt_input: PromptInput, room: int) -> Rendered:
    """Render the candidates in groups, each with its joins, within a budget of tokens."""
    return _Grouping(prompt_input).rendered(room)


@dataclass(frozen=True, slots=True)
class _Line:
    """A join of two candidates as the prompt has it; `note` says how certain it is."""

    left: int
    right: int
    columns: tuple[tuple[str, str], ...]
    score: float
    note: str

    @property
    def ends(self) -> frozenset[int]:
        return frozenset((self.left, self.right))

    @property
    def begins(self) -> str:
        """The line up to the second table: what begins alike can be said on one line."""
        *more, (one, _) = self.columns
        first = [f"{self.left + 1}.{named(a)}={self.right + 1}.{named(b)} and " for a, b in more]
        return f"{''.join(first)}{self.left + 1}.{named(one)}="

    @property
    def rest(self) -> str:
        """The second table, with its column unless it has the name of the first one's."""
        one, other = self.columns[-1]
        return f"{self.right + 1}" + ("" if one == other else f".{named(other)}")

    def names(self, place: int) -> set[str]:
        """The columns of a candidate that the line names."""
        mine = [columns[place == self.right] for columns in self.columns]
        return set(mine) if place in self.ends else set()


@dataclass(frozen=True)
class _Grouping:
    """The candidates of a prompt, their groups and their joins."""

    given: PromptInput

    def rendered(self, room: int) -> Rendered:
        lines = self._affordable(int(room * _JOINS_SHARE))
        spent = sum(estimate_tokens(text) + 1 for text in _texts(lines))
        spent += _HEADER * (len(self._groups) + 1)
        texts = [self._levels(place, lines) for place in range(len(self._tables))]
        levels = fit([[estimate_tokens(text) + 1 for text in row] for row in texts], room - spent)
        count = sum(level < len(row) for level, row in zip(levels, texts, strict=True))
        chosen = [texts[place][levels[place]] for place in range(count)]
        kept = [line for line in lines if max(line.left, line.right) < count]
        body = "\n".join(self._body(chosen, kept))
        narrowed = tuple(place + 1 for place in range(count) if levels[place])
        return Rendered(fenced(body), "", count, narrowed, len(self._joins) - len(kept))

    @cached_property
    def _tables(self) -> list[Table]:
        return [self.given.searcher.catalog[one.id] for one in self.given.candidates]

    @cached_property
    def _groups(self) -> list[list[int]]:
        """The places of candidates that belong together, the most relevant group first."""
        belonging = Belonging(self.given.searcher, use_sources=self.given.use_sources)
        ids = [one.id for one in self.given.candidates]
        return [sorted(group) for group in members(range(len(ids)), belonging.pairs(ids).together)]

    @cached_property
    def _joins(self) -> list[_Line]:
        """The joins between candidates that the prompt would show, had it room, the likely first.

        Two tables that no join connects may be linked by a name, where values cannot tell.
        """
        found = {}
        for pair in self.given.pairs:
            likely = max(pair.left, pair.right) < _LIKELY
            score = pair.edge.score
            if score > (0 if likely else _LEAST_SCORE):
                note = f" {score:.1f}" if score < _SURE else ""
                line = _Line(pair.left, pair.right, pair.edge.columns, score, note)
                found[line.ends] = line
        for line in self._name_links():
            if line.ends not in found or found[line.ends].score < _LEAST_SCORE:
                found[line.ends] = line
        return sorted(found.values(), key=self._priority)

    def _name_links(self) -> Iterator[_Line]:
        """The joins that names alone suggest between candidates of one group."""
        linked = self.given.searcher.joined([one.id for one in self.given.candidates])
        for group in self._groups:
            for at, one in enumerate(group):
                for other in group[at + 1 :]:
                    if linked[one, other] <= 0:
                        continue
                    join = name_join(self._tables[one], self._tables[other])
                    if join is not None:
                        yield _Line(one, other, ((join.left, join.right),), 0.0, " ?")

    def _priority(self, line: _Line) -> tuple[bool, bool, float, int, int]:
        """Joins of likely candidates first, then those inside a group, then by score."""
        first, last = sorted(line.ends)
        inside = any(line.ends <= set(group) for group in self._groups)
        return last >= _LIKELY, not inside, -line.score, first, last

    def _affordable(self, room: int) -> list[_Line]:
        """The first joins that there is room for."""
        kept: list[_Line] = []
        begun: set[str] = set()
        for line in self._joins:
            text = line.rest if line.begins in begun else line.begins + line.rest + line.note
            room -= estimate_tokens(text) + 1
            if room < 0:
                break
            begun.add(line.begins)
            kept.append(line)
        return kept

    def _levels(self, place: int, lines: Sequence[_Line]) -> list[str]:
        """A candidate's line at each level of detail; what decides stands in all of them."""
        table, query = self._tables[place], self.given.query
        order = by_relevance(self.given.searcher, query, table)
        decide = deciding(self.given.searcher, query, table)
        first = [at for at in order if at in decide]
        rest = [at for at in order if at not in decide]
        in_joins = {name for line in lines for name in line.names(place)}
        texts = []
        for more, examples in _LEVELS if place < _LIKELY else _LEVELS_OTHERS:
            shown = [*first, *rest[: max(0, more - len(first))]]
            parts = list(shown_columns(table, shown, query, examples))
            named_here = {table.columns[at].name for at in shown} | in_joins
            hidden = sum(column.name not in named_here for column in table.columns)
            parts += [f"+{hidden}"] if hidden else []
            texts.append(f"{place + 1} {named(table.name)}({', '.join(parts)}){self._alike(table)}")
        return texts

    def _alike(self, table: Table) -> str:
        """How many tables a candidate stands for, where it stands for a family."""
        family = self.given.searcher.families.of(table.id)
        count = len(family.tables) if family is not None else 1
        return f" one of {count} alike" if count > 1 and self.given.searcher.ranks_families else ""

    def _body(self, texts: Sequence[str], lines: Sequence[_Line]) -> Iterator[str]:
        """Each group with its joins; then tables that belong to no other, and joins across."""
        left = list(lines)
        alone: list[int] = []
        number = 0
        for group in self._groups:
            shown = [place for place in group if place < len(texts)]
            if len(shown) < 2:
                alone += shown
                continue
            number += 1
            yield f"Group {number}{self._source(shown)}"
            yield from (texts[place] for place in shown)
            inside = [line for line in left if line.ends <= set(shown)]
            yield from _texts(inside)
            left = [line for line in left if line not in inside]
        if alone:
            if number:
                yield "Others"
            yield from (texts[place] for place in sorted(alone))
        yield from _texts(left)

    def _source(self, group: Sequence[int]) -> str:
        """Where the tables of a group are kept, if that may be told and is one place."""
        if not self.given.use_sources:
            return ""
        places = Counter(place_of(self._tables[place].id) for place in group)
        where, schema = next(iter(places)).split("::", 1)
        name = schema or where.rpartition("/")[2]
        return f" in {escape(cut(name, _SOURCE))}" if len(places) == 1 else ""


def _texts(lines: Sequence[_Line]) -> list[str]:
    """Joins as text; those of one column with the same certainty share a line, its name first."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        found.setdefault((line.begins, line.note), []).append(line.rest)
    return [
        f"{begins}{','.join(sorted(rests, key=lambda rest: '.' in rest))}{note}"
        for (begins, note), rests in found.items()
    ]
