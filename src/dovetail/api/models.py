"""The language model that a call of the API uses: named, passed, or of the settings."""

from __future__ import annotations

from pathlib import Path

from dovetail.errors import MissingModelError, UsageError
from dovetail.models.cache import open_model
from dovetail.ports import LLM
from dovetail.settings import Settings


def chosen_model(folder: Path, settings: Settings, llm: LLM | str | None) -> LLM | None:
    """The model that is passed or named, else the one of the settings; None if there is none."""
    if isinstance(llm, str | None):
        return open_model(folder, settings.but(llm=llm))
    if not (hasattr(llm, "complete") and hasattr(llm, "model_id")):
        raise UsageError(
            f"{type(llm).__qualname__} is no language model: name one ('openai:MODEL'), or pass an "
            "object that has model_id and complete(), as dovetail.ports.LLM has"
        )
    return llm


def model_for_sql(folder: Path, settings: Settings, llm: LLM | str | None) -> LLM:
    """The model that writes SQL; an error that names the remedy if there is none."""
    model = chosen_model(folder, settings, llm)
    if model is None:
        raise MissingModelError("writing SQL")
    return model
