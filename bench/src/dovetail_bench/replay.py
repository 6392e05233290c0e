"""`replay:<dir>`: writes requests to a file and reads replies that a batch endpoint gave to them.

`requests.jsonl` and `responses.jsonl` are what OpenAI's Batch API takes and gives. `replay:<file>`
reads the replies of a compressed recording (`.jsonl.xz`), and writes nothing.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dovetail.catalog.descriptions import Journal
from dovetail.errors import MissingModelError, ModelError, PendingError, UsageError
from dovetail.models.cache import open_model
from dovetail.models.chat import read_completion, request_body, request_key
from dovetail.ports import LLM, Completion, Json, Message
from dovetail.settings import Settings

REQUESTS, RESPONSES, RECORDING = "requests.jsonl", "responses.jsonl", ".xz"
_UNNAMED = "unnamed"


def needed_model(catalog: Path, settings: Settings, what: str) -> LLM:
    """Open the language model that is set; without one the error says that `what` needs it."""
    model = open_model(catalog, settings)
    if model is None:
        raise MissingModelError(what)
    return model


class ReplayLLM:
    """The recorded replies of one model, and a list of what is still to be asked.

    A request is known by its conversation, schema and limit alone, so a record answers whatever
    the model is called. `DIR?model=NAME` puts the name into the requests.
    """

    def __init__(self, place: str, *, workers: int) -> None:
        del workers  # reading needs no turn
        folder, _, model = place.partition("?model=")
        if not folder:
            raise UsageError("replay: needs a folder: replay:DIR or replay:DIR?model=NAME")
        self._folder = Path(folder).expanduser()
        self._recorded = self._folder.suffix == RECORDING
        self._requests = Journal(self._folder / REQUESTS, sealed=False)
        asked = () if self._recorded else self._requests.new_lines()
        self._asked = {str(line.get("custom_id")) for line in asked}
        self._model = _settle_model(model, asked, self._folder)
        self._replies: dict[str, Json] = {}
        for line in self._responses():
            key = str(line.get("custom_id"))
            if key not in self._replies or not _failed(line):
                self._replies[key] = line

    def _responses(self) -> Sequence[Json]:
        if not self._recorded:
            return Journal(self._folder / RESPONSES, sealed=False).new_lines()
        try:
            with lzma.open(self._folder, "rt", encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]
        except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
            raise UsageError(f"replay: {self._folder} is no recording: {error}") from None

    @property
    def model_id(self) -> str:
        return f"replay:{self._model}"

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        """The recorded reply; where there is none, the request is written down instead."""
        key = request_key("", messages, schema, max_tokens)
        body = request_body(self._model, messages, schema, max_tokens)
        if key not in self._replies:
            if self._recorded:
                raise PendingError(f"{self._folder} has no reply to request {key[:12]}")
            self._write_down(key, body)
            raise PendingError(
                f"{self._folder} has no reply to request {key[:12]} yet; have {REQUESTS} answered, "
                f"and put the replies into {RESPONSES}"
            )
        where = f"request {key[:12]} of {self._folder / RESPONSES}"
        line = self._replies[key]
        if _failed(line):
            raise ModelError(f"{where} failed; have it answered again, and add the reply")
        recorded = read_completion(line["response"].get("body"), body, seconds=0.0, where=where)
        return replace(recorded, cached=True)

    def _write_down(self, key: str, body: Json) -> None:
        with self._requests.writing():
            self._asked.update(str(line.get("custom_id")) for line in self._requests.new_lines())
            if key in self._asked:
                return
            self._requests.append(
                {
                    "custom_id": key,
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": body,
                }
            )


def _settle_model(model: str, asked: Sequence[Json], folder: Path) -> str:
    body = asked[0].get("body") if asked else None
    before = body.get("model") if isinstance(body, dict) else None
    if model and before and model != before:
        raise UsageError(
            f"{folder} holds requests to {before}, not {model}; take another folder for each model"
        )
    return model or (before if isinstance(before, str) else _UNNAMED)


def _failed(line: Json) -> bool:
    response = line.get("response")
    return not isinstance(response, dict) or response.get("status_code", 200) != 200
