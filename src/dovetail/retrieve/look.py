"""Look: a model says what to search for, before any table is known.

It reads the question and the card of the catalog, and replies with a phrase for each table that
must exist. The search for each of them takes turns with that for the question itself.

The card is what a model must know of a catalog for that: a line for each schema of a source, with
the number of its tables and the words that their names are made of, so that the model asks in the
catalog's own words, languages and abbreviations. It is the same for every question, which endpoints
that keep the beginning of prompts make use of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.models.chat import estimate_tokens, parse_json
from dovetail.names.table_name import MARKERS, Marker
from dovetail.names.words import spelled
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.groups import schema_of
from dovetail.retrieve.trace import Stage
from dovetail.search.query import clipped, is_stop_word, stem
from dovetail.search.searcher import Searcher
from dovetail.text import cut, escape, fenced

# Phrases that are searched for, and characters of each.
_PHRASES, _LONGEST = 8, 160
# Tokens that the model may write.
_REPLY = 400
_SCHEMA: Json = {
    "type": "object",
    "properties": {"look_for": {"type": "array", "items": {"type": "string"}}},
    "required": ["look_for"],
    "additionalProperties": False,
}
# Tokens of a card: so many for each table, and the fewest and the most.
_A_TABLE, _FEWEST, _MOST = 1.4, 320, 2_000
# Of these, what the lines may take before any word stands in them.
_FOR_LINES = 0.6
# Characters of the name of a source or schema, and of a word.
_NAME, _WORD = 40, 24
# Shorter words say nothing.
_SHORTEST = 2


def look(llm: LLM, question: str, card: str, stage: Stage, longest: int) -> tuple[str, ...]:
    """What a model would look for, told to the stage of the trace; nothing where it says none, or
    where asking it takes more than `longest` tokens."""
    messages = read_prompt("look").fill(card=card, question=" ".join(clipped(question).split()))
    if sum(estimate_tokens(message.content) for message in messages) > longest:
        stage.fall_back("the catalog's card does not fit llm_context; nobody was asked to look")
        return ()
    reply = stage.ask(llm, messages, schema=_SCHEMA, max_tokens=_REPLY)
    value = parse_json(reply.text)
    listed = value.get("look_for") if isinstance(value, dict) else value
    given = phrases(listed) if isinstance(listed, list) else ()
    stage.facts |= _told(listed if isinstance(listed, list) else ())
    if not given:
        reply.forget()
        stage.fall_back("the reply names nothing to look for; the search goes by the question")
    return given


def given_phrases(given: Sequence[str]) -> Stage:
    """The stage of the trace where whoever asks says what to look for, and no model is asked."""
    return Stage("look", facts=_told(given))


def _told(listed: object) -> dict[str, object]:
    """What the trace says of a list of phrases: what is looked for, and how many entries are not,
    by why."""
    distinct = _distinct(listed)
    given = distinct[:_PHRASES]
    entries = len(listed) if isinstance(listed, list | tuple) else 1
    dropped = {
        f"beyond the first {_PHRASES}": len(distinct) - len(given),
        "repeated, or no phrase": entries - len(distinct),
    }
    dropped = {why: number for why, number in dropped.items() if number}
    return {"looked_for": list(given), **({"dropped": dropped} if dropped else {})}


def phrases(listed: object) -> tuple[str, ...]:
    """The phrases in a list, each once and on one line: no more and no longer than is searched.

    A text that is in no list is one phrase.

    >>> phrases(["orders\\n by  customer", "", 3, "orders by customer"]), phrases("orders")
    (('orders by customer',), ('orders',))
    """
    return _distinct(listed)[:_PHRASES]


def _distinct(listed: object) -> tuple[str, ...]:
    """All phrases in a list."""
    if isinstance(listed, str):
        listed = [listed]
    if not isinstance(listed, list | tuple):
        return ()
    texts = (" ".join(text[: 4 * _LONGEST].split()) for text in listed if isinstance(text, str))
    distinct = dict.fromkeys(escape(cut(text, _LONGEST)) for text in texts if text)
    return tuple(distinct)


def card(searcher: Searcher, *, use_sources: bool) -> str:
    """The card of the tables that are searched, fenced.

    Without `use_sources` nothing but the tables' own names is used.
    """
    schemas = _schemas(searcher, use_sources=use_sources)
    left = _room(sum(schema.tables for schema in schemas))
    shown, left = _affordable(schemas, left)
    turns = sorted(
        ((turn + 1) / schema.tables**0.5, at, turn)
        for at, schema in enumerate(shown)
        for turn in range(len(schema.words))
    )
    words: list[list[str]] = [[] for _ in shown]
    for _, at, turn in turns:
        word = shown[at].words[turn]
        left -= estimate_tokens(word) + 1
        if left < 0:
            break
        words[at].append(word)
    by_source: dict[str, list[str]] = {}
    for schema, own in zip(shown, words, strict=True):
        line = f"{schema.line}: {', '.join(own)}" if own else schema.line
        by_source.setdefault(schema.source, []).append(line)
    lines: list[str] = []
    for source, (first, *rest) in by_source.items():
        if source and rest:
            lines += [source, *(f" {line}" for line in (first, *rest))]
        else:
            lines += [f"{source} {first}".strip(), *rest]
    if more := len(schemas) - len(shown):
        lines.append(f"and {more:,} smaller ones")
    return fenced("\n".join(lines))


@dataclass(frozen=True, slots=True)
class _Schema:
    """A schema of a source: how many tables it has, and their words, the commonest first."""

    source: str
    name: str
    tables: int
    words: Sequence[str]

    @property
    def line(self) -> str:
        """What stands in its line before the words."""
        return f"{self.name} ({self.tables:,})".strip()


def _room(tables: int) -> int:
    return int(min(max(_A_TABLE * tables, _FEWEST), _MOST))


def _schemas(searcher: Searcher, *, use_sources: bool) -> list[_Schema]:
    """The schemas of tables, the largest first."""
    names: dict[tuple[str, str], list[str]] = {}
    for table in searcher.ids:
        source, schema = schema_of(table).split("::", 1)
        own = table.name.removeprefix(schema).strip("./")
        names.setdefault((source if use_sources else "", schema), []).append(own)
    schemas = []
    for (source, schema), listed in names.items():
        short = searcher.catalog.source_names.get(source, "")
        where, name = escape(cut(short, _NAME)), escape(cut(schema, _NAME))
        schemas.append(_Schema(where, name, len(listed), _words(listed, searcher)))
    return sorted(schemas, key=lambda schema: (-schema.tables, schema.source, schema.name))


def _words(names: Sequence[str], searcher: Searcher) -> list[str]:
    """The words of names: the commonest first, then those that most tables of the catalog say."""
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    for name in names:
        for word in dict.fromkeys(spelled(name).split()):
            if _says_something(word):
                counts[stem(word)] += 1
                written.setdefault(stem(word), word)
    said = {key: searcher.lexical.named_in(key) for key in counts}
    ranked = sorted(counts, key=lambda key: (-counts[key], -said[key], key))
    return [escape(cut(written[key], _WORD)) for key in ranked]


def _says_something(word: str) -> bool:
    """Whether a word may say what a table holds; numbers, stop words and marks of copies do not."""
    long = len(word) >= _SHORTEST and not word.isdigit()
    return long and not is_stop_word(word) and MARKERS.get(word) is not Marker.COPY


def _affordable(schemas: Sequence[_Schema], room: int) -> tuple[list[_Schema], int]:
    """The largest schemas, as many as there is room for, and the room that is left for words."""
    shown: list[_Schema] = []
    left = room
    sources: set[str] = set()
    for schema in schemas:
        cost = estimate_tokens(schema.line) + 2
        cost += 0 if schema.source in sources else estimate_tokens(schema.source) + 1
        if shown and left - cost < (1 - _FOR_LINES) * room and room == _MOST:
            break
        left -= cost
        sources.add(schema.source)
        shown.append(schema)
    return shown, left
