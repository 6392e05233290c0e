"""`local:<path.gguf>`: a model that runs in this process, through llama.cpp (extra `llm-local`)."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from dovetail.errors import MissingExtraError, ModelError
from dovetail.models.chat import read_completion, request_body
from dovetail.models.waiting import turn
from dovetail.ports import Completion, Json, Message

CONTEXT = 16_384
_PROBES, _PROBE_BYTES = 64, 1 << 16


class LocalLLM:
    """A GGUF file, loaded when first asked; answers one call at a time."""

    def __init__(self, path: str, *, workers: int) -> None:
        del workers  # the cores are the limit: calls wait for each other
        self._path = Path(path).expanduser()
        if not self._path.is_file():
            raise ModelError(
                f"there is no model at {path or '(no path)'}; name a GGUF file: local:PATH"
            )
        try:
            import xllamacpp
        except ImportError:
            raise MissingExtraError("a model in this process", "llm-local") from None
        self._library: Any = xllamacpp
        self._turn = Lock()

    @cached_property
    def model_id(self) -> str:
        """The file's name, and a digest of its size and of pieces from all over it."""
        size = self._path.stat().st_size
        digest = hashlib.sha256(str(size).encode())
        with self._path.open("rb") as stream:
            for probe in range(_PROBES):
                stream.seek(max(size - _PROBE_BYTES, 0) * probe // (_PROBES - 1))
                digest.update(stream.read(_PROBE_BYTES))
        return f"local:{self._path.name}@{digest.hexdigest()[:12]}"

    @cached_property
    def _server(self) -> Any:
        params = self._library.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = CONTEXT
        params.n_parallel = 1
        params.verbosity = 0
        # A prompt that shares a beginning with the one before it must not read differently for it.
        params.cache_prompt = False
        # It also listens, on localhost; we do not call it there, and nobody else shall.
        params.api_keys = [secrets.token_hex(32)]
        params.cors_origins = "http://localhost"
        try:
            return self._library.Server(params)
        except RuntimeError:
            raise ModelError(
                f"cannot load {self._path}; check that it is a whole GGUF file and fits in memory"
            ) from None

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        """Run the model; with a schema, its reply is held to that shape."""
        body = request_body(self._path.name, messages, schema, max_tokens)
        with turn(self._turn):
            server = self._server
            started = time.perf_counter()
            try:
                reply = server.handle_chat_completions(body)
            except (ValueError, RuntimeError) as error:
                raise ModelError(f"{self._path.name} cannot answer: {error}") from None
            seconds = time.perf_counter() - started
        return read_completion(reply, body, seconds=seconds, where=self._path.name)
