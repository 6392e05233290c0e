"""`openai:<name>`: the embeddings endpoint of OpenAI, or of any server that speaks like it.

Address and key come from OPENAI_BASE_URL and OPENAI_API_KEY, and from nowhere else. The client
waits and tries again by itself: exponential backoff with jitter, or as long as Retry-After says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Vectors
from dovetail.errors import ModelError, UsageError
from dovetail.models.embed_vectors import unit_vectors, well_formed

if TYPE_CHECKING:
    from openai import OpenAI

Vector = npt.NDArray[np.generic]

TIMEOUT = 60.0
RETRIES = 6
CONCURRENT = 4
BATCH = 128
# A request may hold some 300,000 tokens and a text 8,191; in some scripts a character is a token.
CHARACTERS, BATCH_CHARACTERS = 8_000, 200_000
_REMEDIES = {
    400: "does the endpoint know the model, and take texts this long?",
    401: "set OPENAI_API_KEY",
    403: "set OPENAI_API_KEY to a key that may use the model",
    404: "check the model's name and OPENAI_BASE_URL",
    429: "wait, or raise the endpoint's limits",
}


class OpenAIEmbedder:
    """A model behind an endpoint."""

    def __init__(self, name: str, client: OpenAI) -> None:
        self._name = name
        self._client = client
        self._where = urlsplit(str(client.base_url)).hostname or "the endpoint"

    @property
    def model_id(self) -> str:
        return f"openai:{self._name}"

    @cached_property
    def dimension(self) -> int:
        """The length of a vector; only the endpoint knows it, and is asked once."""
        return len(self._ask(["dimension"])[0])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text, several batches under way at a time."""
        sent = [well_formed(text)[:CHARACTERS] for text in texts]
        batches = list(_batches(sent))
        found: list[Vector] = []
        if batches:
            with ThreadPoolExecutor(min(CONCURRENT, len(batches))) as pool:
                try:
                    found = [row for rows in pool.map(self._ask, batches) for row in rows]
                finally:  # after a failure, what is still waiting is not paid for
                    pool.shutdown(cancel_futures=True)
        return unit_vectors(
            found, rows=len(texts), dimension=self.dimension, model_id=self.model_id
        )

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions as documents are embedded: the endpoint does not tell them apart."""
        return self.embed_documents(texts)

    def _ask(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of one request, in the order of its texts."""
        import openai

        # An empty input is an error to OpenAI.
        inputs = [text or " " for text in texts]
        try:
            reply = self._client.embeddings.with_raw_response.create(
                model=self._name, input=inputs, encoding_format="float"
            )
            return _vectors(reply.http_response.json(), len(texts))
        except openai.APIStatusError as error:
            # The body of an error may repeat part of the key.
            remedy = _REMEDIES.get(error.status_code, "try again later")
            raise self._failed(f"answered with status {error.status_code}; {remedy}") from None
        except openai.APITimeoutError:
            raise self._failed(f"took over {TIMEOUT:.0f} s to answer; try again later") from None
        except openai.APIConnectionError:
            raise self._failed("cannot be reached; check OPENAI_BASE_URL") from None
        except ValueError as error:
            raise self._failed(
                f"sent no embeddings ({error}); is OPENAI_BASE_URL that of an API?"
            ) from None

    def _failed(self, how: str) -> ModelError:
        return ModelError(f"embedder {self.model_id!r}: {self._where} {how}")


def open_openai(name: str) -> OpenAIEmbedder:
    """A model by its name; nothing is sent until something is asked for."""
    if not name:
        raise UsageError("embedder 'openai' needs a model: openai:<name>")
    from openai import OpenAI

    key, address = (os.environ.get(f"OPENAI_{part}") or None for part in ("API_KEY", "BASE_URL"))
    if not key and not address:
        raise ModelError(
            f"embedder 'openai:{name}' needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server "
            "that asks for no key, in the environment"
        )
    client = OpenAI(api_key=key or "none", base_url=address, timeout=TIMEOUT, max_retries=RETRIES)
    return OpenAIEmbedder(name, client)


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
        found = [rows[place] for place in range(count)]
    except (KeyError, TypeError):
        raise ValueError(f"not a list of {count} embeddings") from None
    if any(row.dtype.kind not in "if" or row.ndim != 1 or not row.size for row in found):
        raise ValueError("an embedding is not a list of numbers")
    return found
