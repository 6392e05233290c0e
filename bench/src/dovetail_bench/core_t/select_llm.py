"""Selects tables by one call of a language model (Section 4.2.2).

The prompt `full` shows what the paper's does: sampled rows, purposes, every pair with its score.
The prompt `compact` asks for the same decision from a schema line per table and a line per join,
`grouped`, the product's, from the same lines in groups of tables that belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dovetail.domain import Candidate
from dovetail.errors import UsageError
from dovetail.models.chat import estimate_tokens
from dovetail.ports import LLM, Json, Message
from dovetail.prompts import Prompt, read_prompt
from dovetail.retrieve.prompt import TOKENS, JoinedPair, PromptInput, Rendered
from dovetail.retrieve.trace import Stage, clipped
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.text import cut, escape
from dovetail_bench.core_t.prompt_tables import render_compact, render_full, render_grouped
from dovetail_bench.core_t.reply import Selection, parse_selection
from dovetail_bench.prompts import PROMPTS as FOLDER

FULL, COMPACT, GROUPED = PROMPTS = "full", "compact", "grouped"
# Of a model's context, what a prompt may take by our estimate: tokens of odd texts are shorter.
_SHARE = 0.75
_REPLY_KEPT = 1_000

_NUMBERS = {"type": "array", "items": {"type": "integer"}}
_TABLES: Json = {
    "type": "object",
    "properties": {"tables": _NUMBERS},
    "required": ["tables"],
    "additionalProperties": False,
}
_GROUP: Json = {
    "type": "object",
    "properties": {"group_index": {"type": "integer"}, "table_indices": _NUMBERS},
    "required": ["group_index", "table_indices"],
    "additionalProperties": False,
}
_GROUPS: Json = {
    "type": "object",
    "properties": {
        "thoughts": {"type": "string"},
        "groups": {"type": "array", "items": _GROUP},
        "selected_group_index": {"type": "integer"},
    },
    "required": ["thoughts", "groups", "selected_group_index"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Form:
    """A prompt, the function that renders tables and pairs, and the JSON schema of the reply.

    `tokens` is what a prompt may take by itself, however much the model reads.
    """

    prompt: Prompt
    show: Callable[[PromptInput, int], tuple[Rendered, str]]
    schema: Json
    tokens: int | None = None


FORMS = {
    FULL: _Form(read_prompt("select_full", FOLDER), render_full, _GROUPS),
    COMPACT: _Form(read_prompt("select_compact", FOLDER), render_compact, _TABLES),
    GROUPED: _Form(read_prompt("select"), render_grouped, _TABLES, TOKENS),
}


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """How a model is asked.

    `context` is how many tokens it takes in and writes together, `reply` how many it may write;
    `structured` asks the endpoint to hold it to the shape of the reply. `use_sources`: the prompt
    may tell which tables are of one source. With `strict`, a reply whose JSON is damaged cannot be
    used; else it is mended where that can be done.
    """

    prompt: str = FULL
    context: int = 16_384
    reply: int = 1_024
    structured: bool = True
    use_sources: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        if self.prompt not in PROMPTS:
            known = ", ".join(PROMPTS)
            raise UsageError(f"prompt {self.prompt!r} is not known; there are: {known}")

    @property
    def budget(self) -> int:
        """The number of tokens a prompt may have, by our estimate."""
        most = int(_SHARE * self.context) - self.reply
        own = FORMS[self.prompt].tokens
        return most if own is None else min(most, own)


@dataclass(frozen=True, slots=True)
class LLMSelector:
    """Asks a model to choose among candidates, and records prompt and reply in the trace."""

    searcher: Searcher
    llm: LLM
    options: SelectOptions

    def select(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        pairs: Sequence[JoinedPair],
        stage: Stage,
    ) -> Selection:
        """Return the selection of one call; a reply that cannot be used gives a reason instead."""
        stage.facts |= {"prompt": self.options.prompt, "model": self.llm.model_id}
        if len(candidates) < 2:
            return Selection(tables=tuple(range(1, len(candidates) + 1)))
        messages, shown = self._prompt(query, candidates, pairs)
        if cuts := shown.cuts(candidates):
            stage.facts["cut"] = cuts
        if not shown.count:
            return Selection(reason=f"no candidate fits {self.options.budget} tokens")
        form = FORMS[self.options.prompt]
        completion = stage.ask(
            self.llm,
            messages,
            schema=form.schema if self.options.structured else None,
            max_tokens=self.options.reply,
        )
        selection = parse_selection(completion.text, shown.count, strict=self.options.strict)
        stage.facts |= {
            "reply": escape(cut(completion.text, _REPLY_KEPT)),
            "groups": {str(number): list(group) for number, group in selection.groups.items()},
            "selected": list(selection.tables),
            "dropped": dict(selection.dropped),
        }
        return selection

    def _prompt(
        self, query: Query, candidates: Sequence[Candidate], pairs: Sequence[JoinedPair]
    ) -> tuple[Sequence[Message], Rendered]:
        form = FORMS[self.options.prompt]
        asked = " ".join(clipped(query.text).split())
        room = self.options.budget - _constant(form.prompt, asked)
        given = PromptInput(self.searcher, query, candidates, pairs, self.options.use_sources)
        shown, listed = form.show(given, room)
        return form.prompt.fill(question=asked, tables=shown.text, pairs=listed), shown


def _constant(prompt: Prompt, question: str) -> int:
    """Count the tokens of a prompt without tables and question data."""
    empty = prompt.fill(question=question, tables="", pairs="")
    return sum(estimate_tokens(message.content) for message in empty)
