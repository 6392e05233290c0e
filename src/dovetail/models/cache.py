"""Caches replies by what was asked: asking again costs nothing and gives the same words."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from dovetail.errors import MissingModelError
from dovetail.models.chat import request_key
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Completion, Json, Message
from dovetail.settings import Settings

REPLIES = "replies"


def open_model(catalog: Path, settings: Settings) -> LLM | None:
    """Open the language model that is set, if any; its replies are kept in the catalog's folder."""
    if not settings.llm:
        return None
    model = open_llm(settings.llm, workers=settings.llm_workers)
    return CachedLLM(model, catalog / REPLIES)


def needed_model(catalog: Path, settings: Settings, what: str) -> LLM:
    """Open the language model that is set; without one the error says that `what` needs it."""
    model = open_model(catalog, settings)
    if model is None:
        raise MissingModelError(what)
    return model


class CachedLLM:
    """A model whose replies are cached in a folder: a file per reply, with what the reply cost.

    Any number of processes may share the folder. A file that cannot be read counts as absent,
    and a folder that cannot be written to only means that replies are not kept.
    """

    def __init__(self, llm: LLM, folder: Path) -> None:
        self._llm = llm
        self._folder = folder

    @property
    def model_id(self) -> str:
        return self._llm.model_id

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 1024,
        logprobs: bool = False,
    ) -> Completion:
        """The reply that was kept, with the tokens and seconds it once took, or a new one."""
        key = request_key(self.model_id, messages, schema, max_tokens, logprobs=logprobs)
        path = self._folder / key[:2] / f"{key[2:]}.json"
        with suppress(OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return _read(path)
        reply = self._llm.complete(
            messages, schema=schema, max_tokens=max_tokens, logprobs=logprobs
        )
        if not reply.cached:  # what is kept elsewhere may be changed there
            with suppress(OSError):
                _write(path, self.model_id, reply)
        return reply


def _read(path: Path) -> Completion:
    kept = json.loads(path.read_bytes())
    if not isinstance(kept["text"], str):
        raise TypeError("text")
    return Completion(
        text=kept["text"],
        tokens_in=int(kept["tokens_in"]),
        tokens_out=int(kept["tokens_out"]),
        seconds=float(kept["seconds"]),
        cached=True,
        logprobs=tuple((str(token), float(chance)) for token, chance in kept.get("logprobs", ())),
    )


def _write(path: Path, model_id: str, reply: Completion) -> None:
    content: Json = {
        "model": model_id,
        "text": reply.text,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "seconds": reply.seconds,
    }
    if reply.logprobs:
        content["logprobs"] = reply.logprobs
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = mkstemp(dir=path.parent, suffix=".new")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(content, stream)
    Path(temporary).replace(path)
