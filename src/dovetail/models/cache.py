"""Caches replies by what was asked: asking again costs nothing and gives the same words.

Only what could be used stays: a reply that was cut off is not kept, one that could not be read is
taken out again by who tried to, and a file that is not as it was written counts as absent. What a
model is sent can be seen: previewed without sending it, or logged.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from dovetail.atomic import OWNER_ONLY, make_folder, replace_file, seal, unseal
from dovetail.errors import MissingModelError, ModelError, PendingError, UsageError
from dovetail.models.chat import request_body, request_key
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Completion, Json, Message
from dovetail.settings import Settings
from dovetail.telemetry import traced

REPLIES = "replies"


def open_model(catalog: Path, settings: Settings) -> LLM | None:
    """Open the language model that is set, if any; its replies are kept in the catalog's folder."""
    if not settings.llm:
        return None
    model = open_llm(settings.llm, workers=settings.llm_workers)
    if settings.llm_log:
        model = LoggedLLM(model, Path(settings.llm_log))
    return CachedLLM(model, catalog / REPLIES, reuse=settings.llm_cache)


def chosen_model(
    catalog: Path, settings: Settings, llm: LLM | str | None, *, named: bool = True
) -> LLM | None:
    """The model that is passed or named, else the one of the settings; None if there is none.

    One that cannot be opened is an error, unless nobody `named` it: then it fails when asked.
    """
    if isinstance(llm, str | None):
        try:
            return open_model(catalog, settings.but(llm=llm))
        except ModelError as error:
            if named or llm is not None:
                raise
            return ClosedLLM(settings.llm or "", error)
    if not (hasattr(llm, "complete") and hasattr(llm, "model_id")):
        raise UsageError(
            f"{type(llm).__qualname__} is no language model: name one ('openai:MODEL'), or pass an "
            "object that has model_id and complete(), as dovetail.ports.LLM has"
        )
    return llm


def preview_model(catalog: Path, settings: Settings) -> tuple[LLM, PreviewLLM]:
    """The language model that is set as far as replies of it are kept, and what notes the request
    that would be sent next."""
    if not settings.llm:
        raise MissingModelError("to see what a model would be sent")
    try:
        preview = PreviewLLM(open_llm(settings.llm, workers=settings.llm_workers))
    except ModelError as error:  # that there is no key, say, is nothing to who sends nothing
        preview = PreviewLLM(ClosedLLM(settings.llm, error))
    return CachedLLM(preview, catalog / REPLIES, reuse=settings.llm_cache), preview


class ClosedLLM:
    """A model that could not be opened: who asks it is told why."""

    def __init__(self, name: str, error: ModelError) -> None:
        self.model_id = name
        self._error = error

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        """Never: the error says why."""
        del messages, schema, max_tokens
        raise self._error


def full_request(llm: LLM, messages: Sequence[Message], options: Mapping[str, Any]) -> Json:
    """The request that a model is sent, as it says itself or as chat completions have it."""
    own = getattr(llm, "request", None)
    if own is None:
        given = {"schema": None, "max_tokens": 1024, **options}
        name = llm.model_id.partition(":")[2] or llm.model_id
        return request_body(name, messages, **given)
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
        # A pipe that nobody reads would be waited for.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with self._turn, os.fdopen(os.open(self._file, flags, OWNER_ONLY), "wb") as stream:
                stream.write(line.encode())
        except OSError as error:
            raise ModelError(f"cannot log to {self._file}: {error.strerror}; see llm_log") from None


class CachedLLM:
    """A model whose replies are cached in a folder: a file per reply, with what the reply cost.

    Any number of processes may share the folder. A folder that cannot be written to only means that
    replies are not kept. Without `reuse` the model is asked, whatever it once replied.
    """

    def __init__(self, llm: LLM, folder: Path, *, reuse: bool = True) -> None:
        self._llm = llm
        self._folder = folder
        self._reuse = reuse

    @property
    def model_id(self) -> str:
        return self._llm.model_id

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        """The reply that was kept, with the tokens and seconds it once took, or a new one."""
        key = request_key(self.model_id, messages, schema, max_tokens)
        path = self._folder / key[:2] / f"{key[2:]}.json"
        forget = partial(path.unlink, missing_ok=True)
        if self._reuse:
            with suppress(OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
                return replace(_read(path), forget=forget)
        with traced("model", model=self.model_id):
            reply = self._llm.complete(messages, schema=schema, max_tokens=max_tokens)
        if reply.cached or reply.truncated:  # what is kept elsewhere may be changed there
            return reply
        with suppress(OSError):
            _write(path, self.model_id, reply)
        return replace(reply, forget=forget)


def damaged_replies(folder: Path) -> Iterator[Path]:
    """The files of replies below a folder that are not as they were written."""
    for path in sorted(folder.glob("*/*.json")):
        try:
            _read(path)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            yield path


def _read(path: Path) -> Completion:
    kept = unseal(path.read_bytes())
    if not isinstance(kept["text"], str):
        raise TypeError("text")
    return Completion(
        text=kept["text"],
        tokens_in=int(kept["tokens_in"]),
        tokens_out=int(kept["tokens_out"]),
        seconds=float(kept["seconds"]),
        cached=True,
    )


def _write(path: Path, model_id: str, reply: Completion) -> None:
    content: Json = {
        "model": model_id,
        "text": reply.text,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "seconds": reply.seconds,
    }
    make_folder(path.parent)
    replace_file(path, seal(content))
