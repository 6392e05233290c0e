"""Renders candidates and their joins for a prompt, within a budget of tokens.

Each candidate can be written at several levels of detail. Where the budget is exceeded, the least
relevant candidate loses detail first, level by level, until at last candidates are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dovetail.domain import Table
from dovetail.domain.schema import WIDTH, markdown
from dovetail.domain.sql import transform_words
from dovetail.models.chat import estimate_tokens
from dovetail.retrieve.match import by_relevance
from dovetail.retrieve.prompt import (
    JoinedPair,
    PromptInput,
    Rendered,
    fit,
    named,
    render,
    shown_columns,
)
from dovetail.search.query import Query
from dovetail.text import cut, escape, fenced

# Width of cells and number of columns, from the most detailed to the least.
_FULL = ((WIDTH, None), (30, 16), (16, 6))
# Number of columns, and of examples among them.
_COMPACT = ((8, 4), (4, 1), (0, 0))
# Joins may take this share of the room; the weakest are left out first.
_PAIRS_SHARE = 0.25
# A join that is hardly one costs tokens and helps nobody decide.
_LEAST_SCORE = 0.25


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The texts of the tables and joins that fit the budget."""

    tables: list[str]
    pairs: list[str]
    narrowed: tuple[int, ...]
    joins_left_out: int

    def shown(self, text: str) -> Rendered:
        return Rendered(text, len(self.tables), self.narrowed, self.joins_left_out)


def render_full(prompt_input: PromptInput, room: int) -> tuple[Rendered, str]:
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
    return fitted.shown("\n\n".join(fitted.tables)), listed


def render_compact(prompt_input: PromptInput, room: int) -> tuple[Rendered, str]:
    """Render a line per table with the columns nearest to the question, and a line per join."""

    def levels(number: int, table: Table) -> list[str]:
        order = by_relevance(prompt_input.searcher, prompt_input.query, table)
        return [_line(number, table, order, prompt_input.query, *level) for level in _COMPACT]

    likely = [pair for pair in prompt_input.pairs if pair.edge.score > _LEAST_SCORE]
    lines = [(pair, _pair_line(pair)) for pair in likely]
    fitted = _fitted(prompt_input, levels, lines, room)
    return fitted.shown(fenced("\n".join([*fitted.tables, *fitted.pairs]))), ""


def _fitted(
    prompt_input: PromptInput,
    levels: Callable[[int, Table], list[str]],
    lines: Sequence[tuple[JoinedPair, str]],
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


def _strongest(lines: Sequence[tuple[JoinedPair, str]], room: int) -> list[tuple[JoinedPair, str]]:
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


def _pair_in_full(pair: JoinedPair) -> str:
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


def _pair_line(pair: JoinedPair) -> str:
    columns = " and ".join(
        f"{pair.left + 1}.{named(one)}={pair.right + 1}.{named(other)}"
        for one, other in pair.edge.columns
    )
    return f"{columns} {pair.edge.score:.1f}"


def narrowed(table: Table, columns: Sequence[int]) -> Table:
    """A table with some of its columns alone, in their own order."""
    kept = sorted(columns)
    return replace(
        table,
        columns=tuple(table.columns[at] for at in kept),
        sample=tuple(tuple(row[at] for at in kept) for row in table.sample),
    )


def render_grouped(given: PromptInput, room: int) -> tuple[Rendered, str]:
    """Render as the product does: joins are among the tables."""
    return render(given, room), ""
