"""The options of commands: each is declared once, as typer takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# Of several commands.
Catalog = Annotated[
    Path | None,
    typer.Option(
        "-C",
        "--catalog",
        metavar="FOLDER",
        readable=False,
        help="The catalog's folder [.dovetail].",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print the rows as CSV, and nothing else.")]
Parquet = Annotated[
    Path | None,
    typer.Option("--parquet", metavar="FILE", help="Write the rows to a Parquet file."),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Where --csv or --json go, if to a file."),
]
LimitRows = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Return at most so many rows [100000].")
]
Timeout = Annotated[
    float | None, typer.Option(min=0.1, metavar="SECONDS", help="Run at most so long [60].")
]
Source = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="LABEL",
        help="Only tables of this source, or of sources in this folder (repeatable).",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar, no summary.")]
Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A language model: openai:NAME or local:FILE.gguf."),
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Ask the language model again, whatever it once replied."),
]
Embedder = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="minilm, st:NAME, openai:NAME or none [minilm]."),
]

# Of `dovetail index`.
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE...",
        help="SQLite or DuckDB file; table file (CSV, Excel, …); a folder or glob of them; "
        "URL of a server, warehouse or bucket. NAME=SOURCE gives it a label. Without any, all "
        "sources of the catalog are brought up to date.",
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Only tables that match the pattern (repeatable)."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="No tables that match the pattern (repeatable)."),
]
SampleRows = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="ROWS", help="Of each table of a warehouse, about so many rows [all]."
    ),
]
MaxScanBytes = Annotated[
    int | None,
    typer.Option(min=1, metavar="BYTES", help="Warehouse tables beyond that are sampled [10 GiB]."),
]
ReadCsv = Annotated[
    str | None,
    typer.Option(
        metavar="encoding=NAME,header=N",
        help="How the CSV files of these sources are written, where that is not seen: their "
        "encoding (shift_jis, gbk, cp1251 …), and the line that names the columns (0: none).",
    ),
]
NoValues = Annotated[
    bool,
    typer.Option(
        "--no-values",
        help="Leave every value in its source: keyed hashes, no samples, no examples. Later "
        "updates do the same.",
    ),
]
MaskColumn = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Show no value of columns of this name (repeatable)."),
]
ForgetSource = Annotated[
    list[str] | None,
    typer.Option(metavar="LABEL", help="Drop a source by its label (repeatable)."),
]
Dbt = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The manifest.json of a dbt project, or its folder: descriptions, tests as keys, "
        "lineage. Later updates read it again; '' forgets it.",
    ),
]
Check = Annotated[
    bool, typer.Option("--check", help="Read every table again, whatever its source says.")
]
Engine = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where to work: local or ray [local].")
]
RayAddress = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="The Ray cluster to use.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Worker processes [as many as pay off].")
]

# Of `dovetail ask`, and of search.
LookFor = Annotated[
    list[str] | None,
    typer.Option(
        "--look-for",
        metavar="PHRASE",
        help="Describes a table that the question needs; repeatable, eight are searched for.",
    ),
]
Question = Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words.")]
K = Annotated[
    int | None,
    typer.Option("--k", min=1, metavar="N", help="Candidates [graph: 16, llm: 8 to 24]."),
]
Selector = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Who chooses among the candidates: graph (no language model), llm, auto (llm if a "
        "language model is set, else graph), or a retriever of another package [auto].",
    ),
]
Breadth = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="SHARE",
        help="graph: how many tables it takes, from 0 (the best one) to 1 (all) [0.65].",
    ),
]
Sql = Annotated[
    bool,
    typer.Option("--sql", help="Print SQL: a language model's, or the skeleton if none is set."),
]
Dialect = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="--sql as the one source takes it: postgres, mysql, sqlite, … [duckdb].",
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="What decided, and why the next one stayed out; of a model, what it looked for, "
        "was shown and said.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Print the request that a model would be sent; send nothing."),
]

# Of `dovetail joins`.
JoinedTable = Annotated[
    str | None, typer.Argument(metavar="[TABLE]", help="Only the joins of this table.")
]
OtherTable = Annotated[
    str | None,
    typer.Argument(
        metavar="[OTHER]",
        help="Only those with this one, each held against the rows of the two tables.",
    ),
]
JoinPath = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="A B", help="The path from one table to another that a person would take."
    ),
]
Least = Annotated[float, typer.Option(metavar="SCORE", help="Joins that score above this.")]

# Of `dovetail serve`, and of mcp.
SeenTables = Annotated[
    list[str] | None,
    typer.Option("--tables", metavar="PATTERN", help="Tables that may be seen; repeatable. [all]"),
]
Tokens = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Who may ask: TOML with names and SHA-256 of tokens."),
]
PerMinute = Annotated[
    int, typer.Option(metavar="N", min=1, help="Requests of one caller in a minute.")
]
AtOnce = Annotated[
    int, typer.Option(metavar="N", min=1, help="Requests under way at once, of all callers.")
]
Processes = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=64,
        help="Processes that answer questions, each with "
        "the catalog open; one is the server itself.",
    ),
]
Notes = Annotated[
    bool, typer.Option("--notes", help="Let notes and descriptions be written, for everybody.")
]
