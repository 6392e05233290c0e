"""`openai:<name>`: models behind an OpenAI-compatible endpoint (vLLM, llama.cpp, Ollama, …).

Language models by their chat completions, embedders by their embeddings; one way to call.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Vectors
from dovetail.errors import ModelError, RefusedError, UsageError
from dovetail.models.chat import read_completion, request_body
from dovetail.models.endpoint import Endpoint, Patience, Send
from dovetail.models.vectors import unit_vectors, well_formed
from dovetail.ports import Completion, Json, Message

# What a request can do without, and the words by which an endpoint says that it must.
_DISPENSABLE = {
    "response_format": ("response_format", "json_schema", "structured output", "grammar", "guided"),
    "temperature": ("temperature",),
    "seed": ("seed",),
}
Vector = npt.NDArray[np.generic]

# Requests for embeddings that are under way at a time, and the texts of one.
CONCURRENT, BATCH = 4, 128
# A request may hold some 300,000 tokens and a text 8,191; in some scripts a character is a token.
CHARACTERS, BATCH_CHARACTERS = 8_000, 200_000


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

    def request(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Json:
        """What is sent to the endpoint, as long as it has not said what it does not support."""
        return request_body(self._name, messages, schema, max_tokens)

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        """Ask the endpoint; without a shape for the reply, if it cannot keep to one."""
        asked = self.request(messages, schema=schema, max_tokens=max_tokens)
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
    return lambda client, seconds: client.chat.completions.with_streaming_response.create(
        **body, timeout=seconds
    )


def _unsupported(error: RefusedError, body: Json) -> set[str]:
    """The parts of a request that an endpoint has just said it does not know."""
    if error.status not in (400, 404, 422, 501):
        return set()
    complaint = error.said.lower()
    if "max_completion_tokens" in complaint and "max_tokens" in body:
        return {"max_tokens"}
    for part, words in _DISPENSABLE.items():
        if part in body and any(word in complaint for word in words):
            return {part}
    return set()


def _without(body: Json, unsupported: set[str]) -> Json:
    kept = {name: value for name, value in body.items() if name not in unsupported}
    if "max_tokens" in unsupported:
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept


class OpenAIEmbedder:
    """An embedding model behind an endpoint; nothing is sent until something is asked for."""

    def __init__(self, name: str, *, patience: Patience | None = None) -> None:
        if not name:
            raise UsageError("embedder 'openai' needs a model: openai:<name>")
        self._name = name
        what = f"embedder {self.model_id!r}"
        self._endpoint = Endpoint(what, workers=CONCURRENT, patience=patience)

    @property
    def model_id(self) -> str:
        return f"openai:{self._name}"

    @cached_property
    def dimension(self) -> int:
        """The length of a vector; only the endpoint knows it, and is asked once."""
        return len(self._ask(["dimension"])[0])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text, several batches under way at a time."""
        batches = list(_batches([well_formed(text)[:CHARACTERS] for text in texts]))
        vectors: list[Vector] = []
        if batches:
            with ThreadPoolExecutor(min(CONCURRENT, len(batches))) as pool:
                try:  # in the context of who asks, whom a server may see go
                    asked = [pool.submit(copy_context().run, self._ask, one) for one in batches]
                    vectors = [row for one in asked for row in one.result()]
                finally:  # after a failure, what is still waiting is not paid for
                    pool.shutdown(cancel_futures=True)
        return unit_vectors(
            vectors, rows=len(texts), dimension=self.dimension, model_id=self.model_id
        )

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions as documents are embedded: the endpoint does not tell them apart."""
        return self.embed_documents(texts)

    def _ask(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of one request, in the order of its texts."""
        inputs = [text or " " for text in texts]  # an empty input is an error to OpenAI
        answer = self._endpoint.call(
            lambda client, seconds: client.embeddings.with_streaming_response.create(
                model=self._name, input=inputs, encoding_format="float", timeout=seconds
            )
        )
        try:
            return _vectors(answer, len(texts))
        except ValueError as error:
            raise ModelError(
                f"{self._endpoint.where} sent no embeddings ({error}); "
                "is OPENAI_BASE_URL that of an API?"
            ) from None


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in their order, as many at a time as a request may hold."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == BATCH or characters + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _vectors(answer: Any, count: int) -> list[Vector]:
    """The vectors of an answer; what is not one raises ValueError."""
    try:
        rows = {row["index"]: np.asarray(row["embedding"]) for row in answer["data"]}
        vectors = [rows[number] for number in range(count)]
    except (KeyError, TypeError):
        raise ValueError(f"not a list of {count} embeddings") from None
    if any(row.dtype.kind not in "if" or row.ndim != 1 or not row.size for row in vectors):
        raise ValueError("an embedding is not a list of numbers")
    return vectors
