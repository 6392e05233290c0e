"""Settings come from `dovetail.toml`, then `DOVETAIL_*` variables, then the call or command.

Each of the three overrides the one before it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dovetail.atomic import open_regular
from dovetail.errors import UsageError

FILE = "dovetail.toml"
PREFIX = "DOVETAIL_"
# The least and the greatest value of settings that are numbers.
BOUNDS: Mapping[str, tuple[float, float]] = {
    "sample": (0, 1 << 40), "max_scan_bytes": (1, 1 << 60),
    "sample_rows": (0, 1_000), "seed": (0, (1 << 63) - 1), "join_rows": (0, 1),
    "join_unique": (0, 1), "workers": (1, 10_000), "breadth": (0, 1),
    "refuse_below": (0, 1),
    "llm_workers": (1, 10_000), "llm_context": (256, 1 << 31),
    "llm_calls": (1, 3), "llm_seconds": (0.1, 604_800), "llm_tokens": (100, 1 << 20),
    "llm_below": (0, 2),
    "llm_price_in": (0, 1e6), "llm_price_out": (0, 1e6), "query_seconds": (0.001, 604_800),
    "query_memory_mb": (16, 1 << 30), "index_memory_mb": (256, 1 << 30),
    "query_rows": (1, 1 << 40),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default.

    >>> settings = Settings(embedder="none").but(query_seconds=5.0)
    >>> settings.embedder, settings.query_seconds
    ('none', 5.0)
    """

    catalog: str = ".dovetail"
    sources: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    views: bool = False
    sample: int = 0
    max_scan_bytes: int = 10 << 30
    csv: str = ""
    no_values: bool = False
    mask: bool = True
    mask_columns: tuple[str, ...] = ()
    run_billed: bool = False
    sample_rows: int = 5
    seed: int = 42
    join_rows: float = 0.7
    join_unique: float = 0.8
    families: bool = True
    join_sources: bool = True
    use_declared: bool = True
    use_comments: bool = True
    use_notes: bool = True
    notes: str | None = None
    dbt: str | None = None
    engine: str = "local"
    ray_address: str | None = None
    workers: int | None = None
    index_memory_mb: int = 4096
    embedder: str = "minilm"
    selector: str = "auto"
    breadth: float = 0.65
    refuse_below: float = 0.1
    use_sources: bool = True
    llm: str | None = None
    llm_cache: bool = True
    llm_workers: int = 8
    llm_context: int = 16_384
    llm_calls: int = 3
    llm_seconds: float = 120.0
    llm_tokens: int | None = None
    llm_below: float = 0.95
    llm_log: str | None = None
    llm_price_in: float = 0.0
    llm_price_out: float = 0.0
    query_seconds: float = 60.0
    query_memory_mb: int = 1024
    query_rows: int = 100_000
    sql_repair: bool = True

    def __post_init__(self) -> None:
        for name, (lowest, highest) in BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not lowest <= value <= highest:  # NaN is in no range
                raise UsageError(
                    f"setting {name!r} is {value}; it must be from {lowest:,} to {highest:,}"
                )

    def but(self, **given: Any) -> Settings:
        """Return these settings with every given value that is not None in place of its own."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def load_settings(folder: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of a folder: its `dovetail.toml`, overridden by environment variables.

    >>> load_settings(environ={"DOVETAIL_EMBEDDER": "none"}).embedder
    'none'
    """
    file = (folder or Path.cwd()) / FILE
    settings = _merge(Settings(), _written(file), where=str(file))
    variables = os.environ if environ is None else environ
    values = {
        field.name: _parse(field.name, variables[key])
        for field in fields(Settings)
        if (key := PREFIX + field.name.upper()) in variables
    }
    return _merge(settings, values, where="the environment")


def _written(file: Path) -> Mapping[str, Any]:
    """What a file of settings says; nothing where there is none."""
    try:
        with open_regular(file) as stream:
            return tomllib.load(stream)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise UsageError(f"{file}: {error}") from None
    except RecursionError:
        raise UsageError(f"{file} is nested too deeply to be settings") from None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None


def _merge(settings: Settings, values: Mapping[str, Any], *, where: str) -> Settings:
    for name, value in values.items():
        default = Settings.__dataclass_fields__.get(name)
        if default is None:
            listed = ", ".join(field.name for field in fields(Settings))
            raise UsageError(f"{where}: setting {name!r} is not known; there are: {listed}")
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
