"""Caches replies by what was asked: asking again costs nothing and gives the same words.

Only what could be used stays: a reply that was cut off is not kept, one that could not be read is
taken out again by who tried to, and a file that is not as it was written counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.atomic import make_folder, replace_file
from dovetail.errors import MissingModelError, ModelError
from dovetail.models.chat import request_key
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Completion, Json, Message
from dovetail.sealed import seal, unseal
from dovetail.settings import Settings
from dovetail.telemetry import traced

if TYPE_CHECKING:
    from dovetail.models.requests import PreviewLLM

REPLIES = "replies"


def open_model(catalog: Path, settings: Settings) -> LLM | None:
    """Open the language model that is set, if any; its replies are kept in the catalog's folder."""
    if not settings.llm:
        return None
    model = open_llm(settings.llm, workers=settings.llm_workers)
    if settings.llm_log:
        from dovetail.models.requests import LoggedLLM

        model = LoggedLLM(model, Path(settings.llm_log))
    return CachedLLM(model, catalog / REPLIES, reuse=settings.llm_cache)


def preview_model(catalog: Path, settings: Settings) -> tuple[LLM, PreviewLLM]:
    """The language model that is set as far as replies of it are kept, and what notes the request
    that would be sent next."""
    from dovetail.models.requests import PreviewLLM

    if not settings.llm:
        raise MissingModelError("to see what a model would be sent")
    preview = PreviewLLM(open_llm(settings.llm, workers=settings.llm_workers))
    return CachedLLM(preview, catalog / REPLIES, reuse=settings.llm_cache), preview


def needed_model(catalog: Path, settings: Settings, what: str) -> LLM:
    """Open the language model that is set; without one the error says that `what` needs it."""
    model = open_model(catalog, settings)
    if model is None:
        raise MissingModelError(what)
    return model


class ClosedLLM:
    """A model that could not be opened: who asks it is told why."""

    def __init__(self, name: str, error: ModelError) -> None:
        self.model_id = name
        self._error = error

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 1024,
        logprobs: bool = False,
    ) -> Completion:
        """Never: the error says why."""
        del messages, schema, max_tokens, logprobs
        raise self._error


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
        forget = partial(path.unlink, missing_ok=True)
        if self._reuse:
            with suppress(OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
                return replace(_read(path), forget=forget)
        with traced("model", model=self.model_id):
            reply = self._llm.complete(
                messages, schema=schema, max_tokens=max_tokens, logprobs=logprobs
            )
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
    make_folder(path.parent)
    replace_file(path, seal(content))
