"""Look: a model says what to search for, before any table is known.

It reads the question and the card of the catalog (card.py), and replies with a phrase for each
table that must exist. The search for each of them takes turns with that for the question itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.models.chat import parse_json
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.trace import Stage
from dovetail.search.query import clipped
from dovetail.text import cut, escape

# Phrases that are searched for, and characters of each.
MOST, LONGEST = 8, 160
# Tokens that the model may write.
_REPLY = 400
_SCHEMA: Json = {
    "type": "object",
    "properties": {"look_for": {"type": "array", "items": {"type": "string"}}},
    "required": ["look_for"],
    "additionalProperties": False,
}


def look(llm: LLM, question: str, card: str, stage: Stage) -> tuple[str, ...]:
    """What a model would look for, told to the stage of the trace; nothing where it says none."""
    messages = read_prompt("look").fill(card=card, question=" ".join(clipped(question).split()))
    reply = stage.ask(llm, messages, schema=_SCHEMA, max_tokens=_REPLY)
    value = parse_json(reply.text)
    listed = value.get("look_for") if isinstance(value, dict) else value
    given = phrases(listed) if isinstance(listed, list) else ()
    stage.facts["looked_for"] = list(given)
    if not given:
        reply.forget()
        stage.fall_back("the reply names nothing to look for; the search goes by the question")
    return given


def given_phrases(given: Sequence[str]) -> Stage:
    """The stage of the trace where whoever asks says what to look for, and no model is asked."""
    return Stage("look", facts={"looked_for": list(given)})


def phrases(listed: object) -> tuple[str, ...]:
    """The phrases in a list, each once and on one line: no more and no longer than is searched.

    A text that is in no list is one phrase.

    >>> phrases(["orders\\n by  customer", "", 3, "orders by customer"]), phrases("orders")
    (('orders by customer',), ('orders',))
    """
    if isinstance(listed, str):
        listed = [listed]
    if not isinstance(listed, list | tuple):
        return ()
    texts = (" ".join(text[: 4 * LONGEST].split()) for text in listed if isinstance(text, str))
    distinct = dict.fromkeys(escape(cut(text, LONGEST)) for text in texts if text)
    return tuple(distinct)[:MOST]
