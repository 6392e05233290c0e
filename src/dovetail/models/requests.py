"""What a language model is sent, to be seen: previewed without sending it, or logged."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from dovetail.atomic import OWNER_ONLY
from dovetail.errors import ModelError, PendingError
from dovetail.models.chat import request_body
from dovetail.ports import LLM, Completion, Json, Message


def full_request(llm: LLM, messages: Sequence[Message], options: Mapping[str, Any]) -> Json:
    """The request that a model is sent, as it says itself or as chat completions have it."""
    own = getattr(llm, "request", None)
    if own is None:
        given = {"schema": None, "max_tokens": 1024, **options}
        return request_body(llm.model_id, messages, **given)
    body: Json = own(messages, **options)
    return body


class PreviewLLM:
    """Stands in the place of a model: notes the requests, sends none, and has no reply."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.requests: list[Json] = []

    @property
    def model_id(self) -> str:
        return self._llm.model_id

    def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        self.requests.append(full_request(self._llm, messages, options))
        raise PendingError("nothing is sent by a dry run")


class LoggedLLM:
    """A model of which each request and reply is added to a file, for its owner alone to read."""

    def __init__(self, llm: LLM, file: Path) -> None:
        self._llm, self._file = llm, file
        self._turn = Lock()

    @property
    def model_id(self) -> str:
        return self._llm.model_id

    def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        self._add({"request": full_request(self._llm, messages, options)})
        reply = self._llm.complete(messages, **options)
        self._add(
            {"reply": reply.text, "tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
        )
        return reply

    def _add(self, what: Json) -> None:
        line = json.dumps({"time": time.time(), "model": self.model_id, **what}) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        try:
            with self._turn, os.fdopen(os.open(self._file, flags, OWNER_ONLY), "wb") as stream:
                stream.write(line.encode())
        except OSError as error:
            raise ModelError(f"cannot log to {self._file}: {error.strerror}; see llm_log") from None
