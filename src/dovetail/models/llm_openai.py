"""`openai:<name>`: a model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, Ollama, ...)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dovetail.errors import RefusedError, UsageError
from dovetail.models.chat import read_completion, request_body
from dovetail.models.endpoint import Endpoint, Patience, Send
from dovetail.ports import Completion, Json, Message

# What a request can do without, and the words by which an endpoint says that it must.
_DISPENSABLE = {
    "response_format": ("response_format", "json_schema", "structured output", "grammar", "guided"),
    "temperature": ("temperature",),
    "top_p": ("top_p", "top-p"),
    "top_k": ("top_k", "top-k"),
    "seed": ("seed",),
    "logprobs": ("logprobs", "log prob", "log-prob"),
}
# Beside temperature 0, the paper's sampling. Not a part of what replies are cached by: at
# temperature 0 it changes none.
_SAMPLING = {"top_p": 1, "top_k": 1}
# Of these the client has no parameter of its own.
_EXTRA = ("top_k",)


class OpenAILLM:
    """A model behind an endpoint; remembers what the endpoint said it does not support."""

    def __init__(
        self,
        name: str,
        *,
        workers: int,
        patience: Patience | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if not name:
            raise UsageError("openai: needs the name of a model: openai:NAME")
        self._name = name
        self._endpoint = Endpoint(name, workers=workers, patience=patience, environ=environ)
        self._unsupported: set[str] = set()

    @property
    def model_id(self) -> str:
        return f"openai:{self._name}"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 1024,
        logprobs: bool = False,
    ) -> Completion:
        """Ask the endpoint; without a shape for the reply, if it cannot keep to one."""
        asked = request_body(self._name, messages, schema, max_tokens, logprobs=logprobs)
        asked |= _SAMPLING
        started = time.perf_counter()
        while True:
            body = _without(asked, self._unsupported)
            try:
                reply = self._endpoint.call(_send(body))
                break
            except RefusedError as error:
                news = _unsupported(error, body)
                if not news:
                    raise
                self._unsupported |= news
        seconds = time.perf_counter() - started
        return read_completion(reply, asked, seconds=seconds, where=self._endpoint.where)


def _send(body: Json) -> Send:
    extra = {name: body[name] for name in _EXTRA if name in body}
    own = {name: value for name, value in body.items() if name not in extra}
    return lambda client, seconds: client.chat.completions.with_streaming_response.create(
        **own, extra_body=extra, timeout=seconds
    )


def _unsupported(error: RefusedError, body: Json) -> set[str]:
    """The parts of a request that an endpoint has just said it does not know."""
    if error.status not in (400, 403, 404, 422, 501):  # 403: OpenAI, of log-probabilities
        return set()
    said = error.said.lower()
    if "max_completion_tokens" in said and "max_tokens" in body:
        return {"max_tokens"}
    for part, words in _DISPENSABLE.items():
        if part in body and any(word in said for word in words):
            return {part}
    return set()


def _without(body: Json, unsupported: set[str]) -> Json:
    kept = {name: value for name, value in body.items() if name not in unsupported}
    if "max_tokens" in unsupported:
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept
