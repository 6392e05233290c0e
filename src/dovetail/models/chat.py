"""The chat-completions format, which every language model here speaks: requests and replies."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from dovetail.errors import ModelError
from dovetail.ports import Completion, Json, Message

SEED = 42
_PIECES = re.compile(r"[A-Za-z]{1,6}|[^\W\d_A-Za-z]|\d|[^\w\s]{1,2}|_|\n")


def request_body(
    model: str,
    messages: Sequence[Message],
    schema: Json | None,
    max_tokens: int,
    *,
    logprobs: bool = False,
) -> Json:
    """A request at temperature 0; what UTF-8 cannot say becomes a question mark."""
    body: Json = {
        "model": model,
        "messages": [
            {"role": message.role, "content": _encodable(message.content)} for message in messages
        ],
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": SEED,
    }
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": schema},
        }
    if logprobs:
        body["logprobs"] = True
    return body


def request_key(
    model_id: str,
    messages: Sequence[Message],
    schema: Json | None,
    max_tokens: int,
    *,
    logprobs: bool = False,
) -> str:
    """A name for a request: equal for equal ones, on every machine."""
    content = request_body(model_id, messages, schema, max_tokens, logprobs=logprobs)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_completion(reply: object, body: Json, *, seconds: float, where: str) -> Completion:
    """What a reply says, and the tokens it counts; those it does not count are estimated."""
    if not isinstance(reply, dict):
        raise ModelError(f"{where} answered with something that is not a chat completion")
    if error := reply.get("error"):
        raise ModelError(f"{where} answered with an error: {complaint(reply, str(error))[:300]}")
    try:
        text = reply["choices"][0]["message"].get("content") or ""
    except (LookupError, TypeError, AttributeError):
        text = None
    if not isinstance(text, str):
        raise ModelError(
            f"{where} answered with something that is not a chat completion; "
            "check that its address is that of an OpenAI-compatible API"
        )
    usage = reply.get("usage")
    counted = usage if isinstance(usage, dict) else {}
    asked = "\n".join(message["content"] for message in body["messages"])
    return Completion(
        text=text,
        tokens_in=_count(counted.get("prompt_tokens"), asked),
        tokens_out=_count(counted.get("completion_tokens"), text),
        seconds=seconds,
        logprobs=_logprobs(reply["choices"][0].get("logprobs")),
    )


def _logprobs(told: object) -> tuple[tuple[str, float], ...]:
    """The tokens of a reply with their log-probabilities; none, if anything there is amiss."""
    try:
        listed = told["content"] or ()  # type: ignore[index]
        pairs = [(token["token"], token["logprob"]) for token in listed]
    except (LookupError, TypeError):
        return ()
    sound = all(isinstance(token, str) and _is_number(chance) for token, chance in pairs)
    return tuple((token, float(chance)) for token, chance in pairs) if sound else ()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def complaint(reply: object, otherwise: str) -> str:
    """The message of an error reply."""
    error = reply.get("error") if isinstance(reply, dict) else None
    said = error.get("message", error.get("detail")) if isinstance(error, dict) else error
    return said if isinstance(said, str) else otherwise


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, where no tokenizer is at hand.

    Six letters of a word count as one token, as does every digit, every letter beyond ASCII, every
    end of a line and every two other signs.

    >>> estimate_tokens("SELECT name FROM customers WHERE id = 1234;")
    13
    """
    return len(_PIECES.findall(text))


def _count(given: object, text: str) -> int:
    return given if type(given) is int and given >= 0 else estimate_tokens(text)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
