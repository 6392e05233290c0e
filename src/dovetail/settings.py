"""Settings: `dovetail.toml`, then `DOVETAIL_*` variables, then what a call or command says."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dovetail.errors import UsageError

FILE = "dovetail.toml"
PREFIX = "DOVETAIL_"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default."""

    catalog: str = ".dovetail"
    sources: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    views: bool = False
    comparison: str = "coerced"
    sample_rows: int = 5
    seed: int = 42
    join_rows: float = 0.7
    join_unique: float = 0.8
    engine: str = "local"
    ray_address: str | None = None
    workers: int | None = None
    embedder: str = "minilm"
    recall: float = 0.6
    unsure: float = 0.7
    llm: str | None = None
    llm_workers: int = 8
    llm_context: int = 16_384
    llm_price_in: float = 0.0
    llm_price_out: float = 0.0
    query_seconds: float = 60.0
    query_memory_mb: int = 1024
    query_rows: int = 100_000
    sql_repair: bool = True

    def but(self, **given: Any) -> Settings:
        """These settings, with those that are not None put in their place."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def load_settings(folder: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings that hold in a folder."""
    file = (folder or Path.cwd()) / FILE
    settings = Settings()
    if file.is_file():
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{file}: {error}") from None
        settings = _merge(settings, values, where=str(file))
    variables = os.environ if environ is None else environ
    known = {PREFIX + field.name.upper(): field.name for field in fields(Settings)}
    values = {
        known[key]: _parse(known[key], text) for key, text in variables.items() if key in known
    }
    return _merge(settings, values, where="the environment")


def _merge(settings: Settings, values: Mapping[str, Any], *, where: str) -> Settings:
    for name, value in values.items():
        default = Settings.__dataclass_fields__.get(name)
        if default is None:
            known = ", ".join(field.name for field in fields(Settings))
            raise UsageError(f"{where}: setting {name!r} is not known; there are: {known}")
        expected = _expected(name)
        if isinstance(value, list) and expected is tuple:
            value = tuple(str(entry) for entry in value)
        if type(value) is int and expected is float:
            value = float(value)
        if type(value) is not expected:
            shown = "a list of texts" if expected is tuple else f"of type {expected.__name__}"
            given = type(value).__name__  # not the value: it may hold a password
            raise UsageError(f"{where}: setting {name!r} must be {shown}, not {given}")
        settings = settings.but(**{name: value})
    return settings


def _expected(name: str) -> type:
    annotation = str(Settings.__dataclass_fields__[name].type)
    kinds: dict[str, type] = {
        "str": str, "tuple": tuple, "bool": bool, "int": int, "float": float,
    }  # fmt: skip
    return next(kind for text, kind in kinds.items() if annotation.startswith(text))


def _parse(name: str, text: str) -> Any:
    expected = _expected(name)
    if expected is tuple:
        return [entry.strip() for entry in text.split(",") if entry.strip()]
    if expected is bool:
        if text.lower() in ("1", "true", "yes", "on", "0", "false", "no", "off", ""):
            return text.lower() in ("1", "true", "yes", "on")
        raise UsageError(
            f"the environment: {PREFIX}{name.upper()} must be true or false, not {text!r}"
        )
    if expected in (int, float):
        try:
            return expected(text)
        except ValueError:
            wanted = "a whole number" if expected is int else "a number"
            raise UsageError(
                f"the environment: {PREFIX}{name.upper()} must be {wanted}, not {text!r}"
            ) from None
    return text
