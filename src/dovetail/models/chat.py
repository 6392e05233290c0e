"""The chat-completions format, which every language model here speaks: requests and replies.

Many conversations are sent at once. The JSON in what a model wrote is read past fences, prose and
small damage.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Generator, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread

from dovetail.errors import ModelError
from dovetail.ports import LLM, Completion, Json, Message
from dovetail.text import encodable

SEED = 42
_PIECES = re.compile(r"[A-Za-z]{1,6}|[^\W\d_A-Za-z]|\d|[^\w\s]{1,2}|_|\n")
LIMIT = 1_000_000
# Mending takes time that grows with the square of what is left open.
_MENDABLE, _LEFT_OPEN = 20_000, 200
_THOUGHT = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*(?:\n|\Z)")
# Where a value may begin; a bracket in prose is followed by something else.
_OPENING = re.compile(r"""\{(?=\s*(?:["'}]|\w+\s*:))|\[(?=\s*[\[\]{"'\d-])""")
_STARTS, _DAMAGED = 50, 3

Container = dict[str, object] | list[object]
Reply = Completion | ModelError


def request_body(
    model: str,
    messages: Sequence[Message],
    schema: Json | None,
    max_tokens: int,
) -> Json:
    """A request at temperature 0; what UTF-8 cannot say becomes a question mark."""
    body: Json = {
        "model": model,
        "messages": [
            {"role": message.role, "content": encodable(message.content)} for message in messages
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
    return body


def request_key(
    model_id: str, messages: Sequence[Message], schema: Json | None, max_tokens: int
) -> str:
    """A name for a request: equal for equal ones, on every machine."""
    content = request_body(model_id, messages, schema, max_tokens)
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
        truncated=reply["choices"][0].get("finish_reason") == "length",
    )


def complaint(reply: object, otherwise: str) -> str:
    """The message of an error reply."""
    error = reply.get("error") if isinstance(reply, dict) else None
    message = error.get("message", error.get("detail")) if isinstance(error, dict) else error
    return message if isinstance(message, str) else otherwise


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


def without_thoughts(text: str) -> str:
    """Remove the `<think>…</think>` passages that some models write before their reply.

    A passage that is never closed stays: there is no telling where the reply begins. The text is
    read once from left to right, so a hostile reply costs no more than an ordinary one.

    >>> without_thoughts("<think>two tables?</think> [1, 2]")
    '[1, 2]'
    """
    kept, begin, opened = [], 0, -1
    for mark in _THOUGHT.finditer(text):
        if not mark[1] and opened < 0:
            opened = mark.start()
        elif mark[1] and opened >= 0:
            kept.append(text[begin:opened])
            begin, opened = mark.end(), -1
    return "".join([*kept, text[begin:]]).strip()


def fenced_blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a Markdown text: language in lower case, and content.

    A block ends at the next fence of the same length or with the text. The text is read once from
    left to right.

    >>> fenced_blocks("Here:\\n```SQL\\nSELECT 1\\n```\\nDone")
    [('sql', 'SELECT 1')]
    """
    blocks, at = [], 0
    while (fence := _FENCE.search(text, at)) is not None:
        end = text.find(fence[1], fence.end())
        content = text[fence.end() :] if end < 0 else text[fence.end() : end]
        blocks.append((fence[2].lower(), content.rstrip()))
        if end < 0:
            break
        at = end + len(fence[1])
    return blocks


def parse_json(text: str, *, mend: bool = True) -> Container | None:
    """The JSON object or array in a reply, or None if there is none; never raises.

    What is valid as it stands comes first: the whole reply, or one of its fenced parts. In prose an
    object goes before an array and a longer value before a shorter one; a damaged object is mended,
    unless `mend` is off. A reply that is longer than `LIMIT` holds none.

    >>> parse_json('Sure! ```json\\n{"group": [1, 2]}\\n```')
    {'group': [1, 2]}
    >>> parse_json('{"group": [1, 2'), parse_json('{"group": [1, 2', mend=False)
    ({'group': [1, 2]}, None)
    """
    if len(text) > LIMIT:
        return None
    text = without_thoughts(text)
    for part in (text, *(content for _, content in fenced_blocks(text))):
        value = _load(part)
        if value is not None:
            return value
    values = list(_values(text, mend=mend))
    return max(values, key=lambda value: (isinstance(value[1], dict), value[0]), default=(0, None))[
        1
    ]


def _load(text: str) -> Container | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _values(text: str, *, mend: bool) -> Iterator[tuple[int, Container]]:
    """The values in a text with their lengths, up to the first object that is damaged."""
    decoder = json.JSONDecoder()
    at = damaged = 0
    for _ in range(_STARTS):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        try:
            value, at = decoder.raw_decode(text, opening.start())
            yield at - opening.start(), value
        except (ValueError, RecursionError):
            # What stands inside a damaged object is a part of it, not an answer.
            damaged += 1
            last = opening[0] == "{" or damaged == _DAMAGED
            at = len(text) if last else opening.end()
            if mend and (mended := _mend(text[opening.start() :])):
                yield 0, mended


def _mend(text: str) -> Container | None:
    from json_repair import repair_json

    text = text[:_MENDABLE]
    if sum(map(text.count, "{[")) - sum(map(text.count, "}]")) > _LEFT_OPEN:
        return None
    try:
        value = repair_json(text, return_objects=True)
    except Exception:  # noqa: BLE001 - a reply is hostile input, and how its mending fails is no news
        return None
    return value if isinstance(value, dict | list) else None


def ask_all(
    llm: LLM, conversations: Sequence[Sequence[Message]], *, workers: int, max_tokens: Sequence[int]
) -> Generator[tuple[int, Reply], None, None]:
    """Each conversation's number with its reply, or with the error it ended in.

    `max_tokens` has the longest reply to each. Closing the generator asks no more. The threads end
    with the process, so that an interrupt does not wait for a model.
    """
    todo: SimpleQueue[int] = SimpleQueue()
    for number in range(len(conversations)):
        todo.put(number)
    replies: SimpleQueue[tuple[int, Completion | Exception]] = SimpleQueue()
    closed = Event()

    def work() -> None:
        while not closed.is_set():
            try:
                number = todo.get_nowait()
            except Empty:
                return
            try:
                longest = max_tokens[number]
                replies.put((number, llm.complete(conversations[number], max_tokens=longest)))
            except Exception as error:  # noqa: BLE001 - raised where the replies are taken
                replies.put((number, error))

    for _ in range(max(1, min(workers, len(conversations)))):
        Thread(target=work, daemon=True).start()
    try:
        for _ in conversations:
            number, reply = replies.get()
            if isinstance(reply, Exception) and not isinstance(reply, ModelError):
                raise reply
            yield number, reply
    finally:
        closed.set()
