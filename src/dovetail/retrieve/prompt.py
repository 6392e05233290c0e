"""The prompt of `llm`: candidates in groups that belong together, as many as the question needs.

Where the search tells candidates apart, a few are shown; where its scores are flat, up to 24.
Tables that belong together by joins, names and (where they may be used) sources form a group with
the joins between them, those that only names suggest as well. Columns that the question speaks of
are always named, and so are the columns of the joins.

Each candidate can be written at several levels of detail. Where the budget of tokens is exceeded,
the least relevant candidate loses detail first, level by level, until at last candidates are left
out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

from dovetail.domain import Candidate, JoinEdge, Table, TableId
from dovetail.domain.tables import TIMES
from dovetail.joins.graph import JoinGraph
from dovetail.models.chat import estimate_tokens
from dovetail.names.links import NameJoin, name_join
from dovetail.names.table_name import qualifier
from dovetail.ports import Json, Message
from dovetail.prompts import read_prompt
from dovetail.retrieve.groups import Belonging, split
from dovetail.retrieve.match import (
    by_relevance,
    deciding_columns,
    example,
    explained_columns,
    quoted_cells,
)
from dovetail.search.query import Query, clipped, stems
from dovetail.search.searcher import Searcher
from dovetail.text import PromptText, cut, escape, fenced

# What a prompt may take without the question: so much for each table of the catalog, the least and
# the most. The more tables there are, the more are alike.
_A_TABLE, _LEAST_TOKENS, _MOST_TOKENS = 3, 800, 1_600
# How many candidates there are by default: a tenth of the tables, between these.
_LEAST_SHOWN, MOST = 20, 24
# The fewest candidates that are shown without a look, and the share of all relevance that those
# left out may hold.
FEWEST = 8
_LEFT = 0.05
# Between the first candidates each join is shown, between others those of some certainty alone.
_FIRST = 8
_LEAST_SCORE, _SURE = 0.25, 0.95
# Columns in addition to those that decide, examples, and characters of the description, from the
# most detailed level to the least: for the first candidates and for the others.
_LEVELS = ((8, 3, 100), (5, 2, 80), (3, 1, 60), (2, 0, 40))
_LEVELS_OTHERS = ((4, 1, 60), (3, 0, 60), (2, 0, 40), (1, 0, 40))
# Joins may take this share of the room.
_JOINS_SHARE = 0.2
_HEADER = 6
# Characters of a name, of a cell, and of what a term means.
_NAME, _CELL, _MEANING = 60, 20, 300
# What stands over the terms that people defined.
_DEFINED = "# terms as people here define them: a term needs each of its tables, and no other"


@dataclass(frozen=True, slots=True)
class JoinedPair:
    """Two candidates, by their indices in the ranking, and the join of highest score.

    `left` is the index of the edge's left table, whichever of the two ranks first.
    """

    left: int
    right: int
    edge: JoinEdge


def usual_tokens(tables: int) -> int:
    """How many tokens a prompt takes by default over a catalog of so many tables.

    >>> usual_tokens(70), usual_tokens(400), usual_tokens(5_000)
    (800, 1200, 1600)
    """
    return min(max(_A_TABLE * tables, _LEAST_TOKENS), _MOST_TOKENS)


def usual_candidates(tables: int) -> int:
    """How many candidates are shown by default over a catalog of so many tables.

    >>> usual_candidates(70), usual_candidates(5_000)
    (20, 24)
    """
    return min(max(tables // 10, _LEAST_SHOWN), MOST)


def joined_pairs(joins: JoinGraph, candidates: Sequence[Candidate]) -> list[JoinedPair]:
    """The pairs of candidates that a join with a score above 0 connects, in their order."""
    pairs = []
    for (i, first), (j, second) in combinations(enumerate(candidates), 2):
        edges = joins.between(first.id, second.id)
        if edges and edges[0].score > 0:
            ends = (i, j) if edges[0].left == first.id else (j, i)
            pairs.append(JoinedPair(*ends, edges[0]))
    return pairs


def worth_showing(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first candidates that hold all but a small share of the relevance: 8 or more.

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


@dataclass(frozen=True, slots=True)
class PromptInput:
    """What a prompt is rendered from: the query, the candidates and their joined pairs.

    `use_sources`: that tables are of one source and schema may be used, and said. `sought` is what
    was looked for beside the question; columns that it speaks of are shown first.
    """

    searcher: Searcher
    query: Query
    candidates: Sequence[Candidate]
    pairs: Sequence[JoinedPair]
    use_sources: bool = False
    sought: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of candidates and joins in a prompt, and what it leaves out.

    The first `count` candidates are in it, those numbered in `narrowed` with less detail.
    """

    text: str
    count: int
    narrowed: tuple[int, ...] = ()
    joins_left_out: int = 0

    def cuts(self, candidates: Sequence[Candidate]) -> Json:
        """What the prompt had no room for, as the trace has it; empty if nothing."""
        cuts: Json = {
            "left_out": [str(candidate.id) for candidate in candidates[self.count :]],
            "narrowed": [str(candidates[number - 1].id) for number in self.narrowed],
            "joins_left_out": self.joins_left_out,
        }
        return cuts if any(cuts.values()) else {}


@dataclass(frozen=True, slots=True)
class SelectPrompt:
    """The messages to a model, what they show, and how many tokens that takes beyond those wanted:
    no candidate is left out for them."""

    messages: Sequence[Message]
    shown: Rendered
    over: int


def select_prompt(given: PromptInput, tokens: int, context: int) -> SelectPrompt:
    """The prompt that asks a model to choose among candidates.

    Without the question, and what notes say that its terms mean, it has about `tokens`: detail is
    left out beyond, but no candidate. With these, it has at most `context`.
    """
    prompt = read_prompt("select")
    question = " ".join(clipped(given.query.text).split())
    number = {one.id: str(at) for at, one in enumerate(given.candidates, start=1)}
    terms = defined_terms(given.searcher, given.query.text, number)
    empty = prompt.fill(question=question, tables="")
    told = estimate_tokens(question) + estimate_tokens(terms)
    taken = sum(estimate_tokens(message.content) for message in empty) + estimate_tokens(terms)
    room = tokens - taken + told
    shown = render(given, min(room, context - taken), context - taken)
    tables = PromptText(shown.text + terms)
    over = max(0, estimate_tokens(shown.text) - room)
    return SelectPrompt(prompt.fill(question=question, tables=tables), shown, over)


def defined_terms(
    searcher: Searcher, question: str, called: Mapping[TableId, str] = MappingProxyType({})
) -> PromptText:
    """What people's notes say that terms of a question mean, fenced, to stand behind what a prompt
    shows; nothing where it says none. Tables go by their names, or as they are `called`."""
    lines = []
    for each in searcher.definitions(question):
        tables = []
        for table in filter(searcher.covers, each.tables):
            name = called.get(searcher.representative(table), named(table.name))
            columns = ", ".join(map(named, each.columns_of(table)))
            tables.append(f"{name} (column {columns})" if columns else name)
        meaning = [escape(cut(each.text, _MEANING)), ", ".join(tables)]
        lines.append(f"{named(each.term)}: {'; tables '.join(filter(None, meaning))}")
    return PromptText("\n" + fenced("\n".join((_DEFINED, *lines))) if lines else "")


def render(given: PromptInput, room: int, limit: int | None = None) -> Rendered:
    """Render the candidates in groups, each with its joins, in about `room` tokens.

    No candidate is left out below `limit`; without one, the room is the limit.
    """
    return _Grouping(given).rendered(room, room if limit is None else limit)


@dataclass(frozen=True, slots=True)
class _Line:
    """A join of two candidates as the prompt has it; `note` says where it holds, and how surely."""

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
        *more, (last, _) = self.columns
        first = [f"{self.left + 1}.{named(a)}={self.right + 1}.{named(b)} and " for a, b in more]
        return f"{''.join(first)}{self.left + 1}.{named(last)}="

    @property
    def rest(self) -> str:
        """The second table, with its column unless it has the name of the first one's."""
        left, right = self.columns[-1]
        return f"{self.right + 1}" + ("" if left == right else f".{named(right)}")

    def names(self, at: int) -> set[str]:
        """The columns of a candidate that the line names."""
        columns = {pair[at == self.right] for pair in self.columns}
        return columns if at in self.ends else set()


@dataclass(frozen=True)
class _Grouping:
    """The candidates of a prompt, their groups and their joins."""

    given: PromptInput

    def rendered(self, room: int, limit: int) -> Rendered:
        lines = self._affordable(int(room * _JOINS_SHARE))
        spent = sum(estimate_tokens(text) + 1 for text in _texts(lines))
        spent += _HEADER * (len(self._blocks) + 1)
        texts = [self._levels(at, lines) for at in range(len(self._tables))]
        costs = [[estimate_tokens(text) + 1 for text in row] for row in texts]
        levels = fit(costs, room - spent, limit - spent)
        count = sum(level < len(row) for level, row in zip(levels, texts, strict=True))
        chosen = [texts[at][levels[at]] for at in range(count)]
        kept = [line for line in lines if max(line.left, line.right) < count]
        body = "\n".join(self._body(chosen, kept))
        narrowed = tuple(at + 1 for at in range(count) if levels[at])
        return Rendered(fenced(body), count, narrowed, len(self._joins) - len(kept))

    @cached_property
    def _tables(self) -> list[Table]:
        return [self.given.searcher.described(one.id) for one in self.given.candidates]

    @cached_property
    def _wider(self) -> Query:
        """The question with what was looked for."""
        given = self.given
        return given.searcher.analyse(". ".join((given.query.text, *given.sought)))

    @cached_property
    def _groups(self) -> list[list[int]]:
        """The indices of candidates that belong together, the most relevant group first."""
        belonging = Belonging(self.given.searcher, use_sources=self.given.use_sources)
        ids = [one.id for one in self.given.candidates]
        return [sorted(group) for group in split(range(len(ids)), belonging.pairs(ids).together)]

    @cached_property
    def _blocks(self) -> list[list[int]]:
        """The groups as they are listed: where sources may be told, those of each one together."""
        if not self.given.use_sources:
            return self._groups
        blocks: list[list[int]] = []
        for group in self._groups:
            by_source: dict[str, list[int]] = {}
            for at in group:
                by_source.setdefault(self._tables[at].id.source, []).append(at)
            blocks += by_source.values()
        return blocks

    @cached_property
    def _schemas(self) -> dict[int, str]:
        """The schema or folder of candidates whose block is of one: its heading says it for all."""
        schemas: dict[int, str] = {}
        for block in self._blocks:
            shared = {qualifier(self._tables[at].name) for at in block}
            if len(block) > 1 and len(shared) == 1:
                schemas |= dict.fromkeys(block, shared.pop())
        return schemas

    @cached_property
    def _joins(self) -> list[_Line]:
        """The joins between candidates that the prompt would show, had it room, in their order.

        Two tables that no join connects may be linked by a name, where values cannot tell.
        """
        lines = {}
        for pair in self.given.pairs:
            first = max(pair.left, pair.right) < _FIRST
            score = pair.edge.score
            if self._on_dates(pair):  # by way of a calendar, anything joins anything
                continue
            if score > (0 if first else _LEAST_SCORE):
                note = f" where {pair.edge.where}" if pair.edge.when else ""
                note += f" {score:.1f}" if score < _SURE else ""
                line = _Line(pair.left, pair.right, pair.edge.columns, score, note)
                lines[line.ends] = line
        for line in self._name_links():
            if line.ends not in lines or lines[line.ends].score < _LEAST_SCORE:
                lines[line.ends] = line
        return sorted(lines.values(), key=self._priority)

    def _on_dates(self, pair: JoinedPair) -> bool:
        """Whether a join goes by dates alone."""
        kinds = {one.name: one.profile.kind for one in self._tables[pair.left].columns}
        return all(kinds[name] in TIMES for name, _ in pair.edge.columns)

    def _name_links(self) -> Iterator[_Line]:
        """The joins that names alone suggest between candidates of one group."""
        linked = self.given.searcher.joined([one.id for one in self.given.candidates])
        for group in self._groups:
            for left, right in combinations(group, 2):
                if linked[left, right] <= 0:
                    continue
                join = name_join(self._tables[left], self._tables[right])
                if join is not None and not self._is_banned(left, right, join):
                    yield _Line(left, right, ((join.left, join.right),), 0.0, " ?")

    def _is_banned(self, left: int, right: int, join: NameJoin) -> bool:
        """Whether the notes say that a join by these names is none."""
        ends = self._tables[left].id, self._tables[right].id
        edge = JoinEdge(*ends, ((join.left, join.right),), 0.0, "", 0.0, {})
        return self.given.searcher.notes.forbids(edge)

    def _priority(self, line: _Line) -> tuple[bool, bool, float, int, int]:
        """Joins of the first candidates come first, then those inside a group, then by score."""
        first, last = sorted(line.ends)
        inside = any(line.ends <= set(group) for group in self._groups)
        return last >= _FIRST, not inside, -line.score, first, last

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

    def _levels(self, at: int, lines: Sequence[_Line]) -> list[str]:
        """A candidate's line at each level of detail; what decides is in all of them."""
        table, query = self._tables[at], self.given.query
        order = by_relevance(self.given.searcher, self._wider, table)
        decide = deciding_columns(self.given.searcher, query, table)
        explained = explained_columns(self.given.searcher, query, table)
        quoted = quoted_cells(self.given.searcher, query, table)
        first = [column for column in order if column in decide]
        rest = [column for column in order if column not in decide]
        in_joins = {name for line in lines for name in line.names(at)}
        texts = []
        for more, examples, longest in _LEVELS if at < _FIRST else _LEVELS_OTHERS:
            shown = [*first, *rest[: max(0, more - len(first))]]
            parts = list(shown_columns(table, shown, quoted, examples, explained))
            named_here = {table.columns[column].name for column in shown} | in_joins
            hidden = any(column.name not in named_here for column in table.columns)
            parts[-1:] = [f"{part}…" for part in parts[-1:]] if hidden else parts[-1:]
            own = named(table.name.removeprefix(self._schemas.get(at, "")).lstrip("./"))
            line = f"{at + 1} {own}({', '.join(parts)}){self._parts(table)}"
            texts.append(line + self._described(table, longest))
        return texts

    def _parts(self, table: Table) -> str:
        """By what the tables are told apart that a candidate represents: years, copies."""
        family = self.given.searcher.families.of(table.id)
        if family is None or not self.given.searcher.ranks_families:
            return ""
        labels = sorted(one.label or named(one.name) for one in family.partitions)
        if len(labels) < 2:
            return ""
        between = ", " if len(labels) == 2 else " … "
        return f" parts {labels[0]}{between}{labels[-1]}"

    def _described(self, table: Table, longest: int) -> str:
        """What a candidate is, where its name says little: words that the sentence explains."""
        text = table.comment
        if not text or set(stems(table.name.rpartition(".")[2])) <= set(stems(text)):
            return ""
        return f": {escape(cut(text, longest))}"

    def _body(self, texts: Sequence[str], lines: Sequence[_Line]) -> Iterator[str]:
        """Each block with its joins; then tables that belong to no other, and joins across."""
        left = list(lines)
        shown = [[at for at in block if at < len(texts)] for block in self._blocks]
        for block in shown:
            if len(block) > 1:
                yield f"# {self._where(block)}".rstrip()
                yield from (texts[at] for at in block)
                inside = [line for line in left if line.ends <= set(block)]
                yield from _texts(inside)
                left = [line for line in left if line not in inside]
        single = sorted(block[0] for block in shown if len(block) == 1)
        if single and len(single) < len(texts):
            yield "# others"
        for at in single:
            yield texts[at].replace(" ", f" {self._where([at])} ".replace("  ", " "), 1)
        yield from _texts(left)

    def _where(self, block: Sequence[int]) -> str:
        """The source of a block, if that may be said, and the schema that its tables share."""
        source = self.given.searcher.catalog.source_names[self._tables[block[0]].id.source]
        names = [source if self.given.use_sources else "", self._schemas.get(block[0], "")]
        return " ".join(named(name) for name in names if name)


def _texts(lines: Sequence[_Line]) -> list[str]:
    """Joins as text; those of one column with the same certainty share a line, its name first."""
    by_begin: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        by_begin.setdefault((line.begins, line.note), []).append(line.rest)
    return [
        f"{begins}{','.join(sorted(rests, key=lambda rest: '.' in rest))}{note}"
        for (begins, note), rests in by_begin.items()
    ]


def fit(costs: Sequence[Sequence[int]], room: int, limit: int) -> list[int]:
    """Return the level of each candidate: as detailed as fits, the last ones cut first.

    `costs` has a row per candidate, with what each level costs; the level after the last leaves
    the candidate out and costs nothing. That happens only beyond the limit.

    >>> fit([[50, 20], [50, 20], [50, 20]], 100, 100), fit([[50, 20], [50, 20], [50, 20]], 30, 50)
    ([0, 1, 1], [1, 1, 2])
    """
    levels = [0] * len(costs)
    spent = sum(row[0] for row in costs)
    deepest = max((len(row) for row in costs), default=0)
    for level in range(1, deepest + 1):
        for at in reversed(range(len(costs))):
            if spent <= (room if level < len(costs[at]) else limit):
                return levels
            row = [*costs[at], 0]
            spent += row[level] - row[levels[at]]
            levels[at] = level
    return levels


def shown_columns(
    table: Table,
    order: Sequence[int],
    quoted: Mapping[int, str],
    examples: int,
    explained: Collection[int] = (),
) -> Iterator[str]:
    """Columns of a table as a line of a prompt names them, the first with examples.

    Those that only their comments explain have them in any case, others beside examples; `quoted`
    are the cells that the question quotes.
    """
    for at in order:
        name = named(table.columns[at].name)
        comment = table.columns[at].comment
        if comment and (examples or at in explained):
            name = f'{name} "{escape(cut(comment, _CELL + _CELL))}"'
        cell = example(table, at, quoted) if examples else None
        if cell is None:
            yield name
            continue
        examples -= 1
        yield f"{name} '{escape(cut(cell, _CELL))}'"


def named(name: str) -> str:
    """A name as a prompt has it: on one line, not too long, and no mark of a chat template.

    Of a name that is too long the middle is left out: what tells two apart stands at the end.
    """
    if len(name) > _NAME:
        name = f"{name[: _NAME // 3]}…{name[-(_NAME - _NAME // 3 - 1) :]}"
    return escape(name)
