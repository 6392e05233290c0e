"""Options that several commands take, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dovetail.catalog.reader import CatalogReader
    from dovetail.settings import Settings

CatalogOption = Annotated[
    Path | None,
    typer.Option(
        "-C",
        "--catalog",
        metavar="FOLDER",
        readable=False,
        help="The catalog's folder [.dovetail].",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print the rows as CSV, and nothing else.")]
ParquetOption = Annotated[
    Path | None,
    typer.Option("--parquet", metavar="FILE", help="Write the rows to a Parquet file."),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Where --csv or --json go, if to a file."),
]
LimitRowsOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Return at most so many rows [100000].")
]
TimeoutOption = Annotated[
    float | None, typer.Option(min=0.1, metavar="SECONDS", help="Run at most so long [60].")
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="LABEL",
        help="Only tables of this source, or of sources in this folder (repeatable).",
    ),
]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar, no summary.")]
LLMOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A language model: openai:NAME or local:FILE.gguf."),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="minilm, st:NAME, openai:NAME or none [minilm]."),
]


def settings_for(catalog: Path | None, **given: Any) -> Settings:
    """The settings in force, with what the command line gives."""
    from dovetail.settings import load_settings

    return load_settings().but(catalog=str(catalog) if catalog else None, **given)


def open_catalog(catalog: Path | None) -> CatalogReader:
    """The catalog that the command line or the settings name."""
    from dovetail.catalog.reader import CatalogReader

    settings = settings_for(catalog)
    return CatalogReader.open(settings.catalog, settings)
