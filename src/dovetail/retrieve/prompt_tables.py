"""Renders candidates and their joins for a prompt, within a budget of tokens.

Each candidate can be written at several levels of detail. Where the budget is exceeded, the least
relevant candidate loses detail first, level by level, until at last candidates are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dovetail.domain import Candidate, Table
from dovetail.domain.schema import WIDTH, markdown
from dovetail.domain.sql import transform_words
from dovetail.models.chat import estimate_tokens
from dovetail.retrieve.column_relevance import by_relevance, example, narrowed
from dovetail.retrieve.join_pairs import Pair
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.text import cut, escape, fenced

# Width of cells and number of columns, from the most detailed to the least.
_FULL = ((WIDTH, None), (30, 16), (16, 6))
# Number of columns, and of examples among them.
_COMPACT = ((8, 4), (4, 1), (0, 0))
_NAME, _CELL = 60, 20
# Joins may take this share of the room; the weakest are left out first.
_PAIRS_SHARE = 0.25
# A join that is hardly one costs tokens and helps nobody decide.
_LEAST_SCORE = 0.25


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of candidates and joins in a prompt, and what it leaves out.

    The first `count` candidates are in it, those numbered in `narrowed` with less detail.
    """

    tables: str
    pairs: str
    count: int
    narrowed: tuple[int, ...] = ()
    joins_left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The texts of the tables and joins that fit the budget."""

    tables: list[str]
    pairs: list[str]
    narrowed: tuple[int, ...]
    joins_left_out: int

    def shown(self, tables: str, pairs: str) -> Rendered:
        return Rendered(tables, pairs, len(self.tables), self.narrowed, self.joins_left_out)


@dataclass(frozen=True, slots=True)
class PromptInput:
    """What a prompt is rendered from: the query, the candidates and their joinable pairs.

    `use_sources`: that tables are of one source and schema may be used, and told.
    """

    searcher: Searcher
    query: Query
    candidates: Sequence[Candidate]
    pairs: Sequence[Pair]
    use_sources: bool = False


def render_full(prompt_input: PromptInput, room: int) -> Rendered:
    """Render sampled rows and purposes, each table in a fence of its own, and every pair."""

    def levels(number: int, table: Table) -> list[str]:
        purpose = prompt_input.searcher.purposes.get(table.id, "")
        order = by_relevance(prompt_input.searcher, prompt_input.query, table)
        return [
            _in_full(number, _some_columns(table, order, columns), purpose, width, len(order))
            for width, columns in _FULL
        ]

    lines = [(pair, _pair_in_full(pair)) for pair in prompt_input.pairs]
    fitted = _fitted(prompt_input, levels, lines, room)
    listed = fenced("\n".join(fitted.pairs)) if fitted.pairs else "none"
    return fitted.shown("\n\n".join(fitted.tables), listed)


def render_compact(prompt_input: PromptInput, room: int) -> Rendered:
    """Render a line per table with the columns nearest to the question, and a line per join."""

    def levels(number: int, table: Table) -> list[str]:
        order = by_relevance(prompt_input.searcher, prompt_input.query, table)
        return [_line(number, table, order, prompt_input.query, *level) for level in _COMPACT]

    likely = [pair for pair in prompt_input.pairs if pair.edge.score > _LEAST_SCORE]
    lines = [(pair, _pair_line(pair)) for pair in likely]
    fitted = _fitted(prompt_input, levels, lines, room)
    return fitted.shown(fenced("\n".join([*fitted.tables, *fitted.pairs])), "")


def fit(costs: Sequence[Sequence[int]], room: int) -> list[int]:
    """Return the level of each candidate: as detailed as fits, the last ones cut first.

    `costs` has a row per candidate, with what each level costs; the level after the last leaves
    the candidate out and costs nothing.

    >>> fit([[50, 20], [50, 20], [50, 20]], 100)
    [0, 1, 1]
    """
    levels = [0] * len(costs)
    spent = sum(row[0] for row in costs)
    deepest = max((len(row) for row in costs), default=0)
    for level in range(1, deepest + 1):
        for place in reversed(range(len(costs))):
            if spent <= room:
                return levels
            row = [*costs[place], 0]
            spent += row[level] - row[levels[place]]
            levels[place] = level
    return levels


def _fitted(
    prompt_input: PromptInput,
    levels: Callable[[int, Table], list[str]],
    lines: Sequence[tuple[Pair, str]],
    room: int,
) -> _Fitted:
    pairs = _strongest(lines, int(room * _PAIRS_SHARE))
    spent = sum(estimate_tokens(text) + 1 for _, text in pairs)
    catalog = prompt_input.searcher.catalog
    texts = [
        levels(number, catalog[candidate.id])
        for number, candidate in enumerate(prompt_input.candidates, start=1)
    ]
    # Each text ends a line or two; counting two keeps the sum on the safe side.
    chosen = fit([[estimate_tokens(text) + 2 for text in row] for row in texts], room - spent)
    # Candidates are left out from the end, so those that stay are the first ones.
    count = sum(level < len(row) for level, row in zip(chosen, texts, strict=True))
    joined = [text for pair, text in pairs if max(pair.left, pair.right) < count]
    return _Fitted(
        tables=[texts[place][chosen[place]] for place in range(count)],
        pairs=joined,
        narrowed=tuple(place + 1 for place in range(count) if chosen[place]),
        joins_left_out=len(lines) - len(joined),
    )


def _strongest(lines: Sequence[tuple[Pair, str]], room: int) -> list[tuple[Pair, str]]:
    """Keep the highest-scored joins that fit, in the order they came."""
    kept = set()
    for place in sorted(range(len(lines)), key=lambda place: -lines[place][0].edge.score):
        room -= estimate_tokens(lines[place][1]) + 1
        if room < 0:
            break
        kept.add(place)
    return [line for place, line in enumerate(lines) if place in kept]


def _some_columns(table: Table, order: Sequence[int], most: int | None) -> Table:
    return table if most is None or len(order) <= most else narrowed(table, order[:most])


def _in_full(number: int, table: Table, purpose: str, width: int, columns: int) -> str:
    parts = [markdown(table, width=width)]
    if beyond := columns - len(table.columns):
        parts.append(f"({beyond} more columns)")
    parts += _comments(table, width)
    if purpose:
        parts.append(f"Purpose: {escape(cut(purpose, 4 * width))}")
    return f"Candidate {number}\n{fenced(chr(10).join(parts))}"


def _comments(table: Table, width: int) -> Iterator[str]:
    """What the comments on a table and on its columns say, a line each."""
    if table.comment:
        yield f"Comment: {escape(cut(table.comment, 4 * width))}"
    for column in table.columns:
        if column.comment:
            yield f"Comment on {named(column.name)}: {escape(cut(column.comment, width))}"


def _pair_in_full(pair: Pair) -> str:
    left, right = (named(end.name) for end in (pair.edge.left, pair.edge.right))
    columns = " and ".join(
        f"{left}.{named(one)} = {right}.{named(other)}" for one, other in pair.edge.columns
    )
    after = f" {transform_words(pair.edge.transform)}" if pair.edge.transform else ""
    return f"{pair.left + 1} and {pair.right + 1}: {pair.edge.score:.2f}, {columns}{after}"


def _line(
    number: int, table: Table, order: Sequence[int], query: Query, columns: int, examples: int
) -> str:
    parts = list(shown_columns(table, order[:columns], query, examples))
    if beyond := len(order) - len(parts):
        parts.append(f"+{beyond}")
    return f"{number} {named(table.name)}({', '.join(parts)})"


def shown_columns(table: Table, order: Sequence[int], query: Query, examples: int) -> Iterator[str]:
    """Some columns of a table as a line of a prompt names them, the first with examples."""
    for place in order:
        name = named(table.columns[place].name)
        if comment := table.columns[place].comment:
            name = f'{name} "{escape(cut(comment, _CELL + _CELL))}"'
        cell = example(table, place, query) if examples else None
        if cell is None:
            yield name
            continue
        examples -= 1
        yield f"{name} '{escape(cut(cell, _CELL))}'"


def _pair_line(pair: Pair) -> str:
    columns = " and ".join(
        f"{pair.left + 1}.{named(one)}={pair.right + 1}.{named(other)}"
        for one, other in pair.edge.columns
    )
    return f"{columns} {pair.edge.score:.1f}"


def named(name: str) -> str:
    """A name as a prompt has it: on one line, not too long, and no mark of a chat template."""
    return escape(cut(name, _NAME))
