"""Query logs and their statements: files of SQL or of rows, and what a server has counted."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot.dialects import Dialect

from dovetail.catalog.lookup import tables_of_sources
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import SourceError, UsageError
from dovetail.plugins import open_source
from dovetail.ports import SourceSpec
from dovetail.sources.resolve import root, with_login
from dovetail.sources.walk import DATABASE_SUFFIXES

# The dialect of each kind of source, in the parser's words.
_DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite", "duckdb": "duckdb"}
_USUAL = "duckdb"
# A log has at most so many bytes, and so many statements of it are read.
MOST_BYTES = 2 << 30
MOST_STATEMENTS = 1_000_000
# A statement that is longer than this is counted as one that cannot be read.
LONGEST = 50_000
_SQL = (
    "sql", "query", "query_text", "sql_text", "statement", "statement_text", "gold_sql",
    "digest_text",
)  # fmt: skip
_QUESTION = ("question", "nl_question", "utterance", "natural_language_question")
_COUNT = ("calls", "count", "executions", "execution_count", "query_count", "count_star")
_TIME = (
    "last_seen", "last_used", "last_executed", "executed_at", "start_time", "started_at",
    "creation_time", "query_start", "timestamp", "time", "date", "end_time",
)  # fmt: skip
_SCRIPTS = (".sql", ".txt", ".log")
_TABULAR = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
_ASKED = re.compile(r"(?:question|q)\s*:\s*(.+)", re.IGNORECASE | re.DOTALL)
# What a script is taken apart by: the beginnings of quoted texts and comments with what ends each,
# and the ends of statements. A quote within a text is written twice: two texts side by side.
_ENDS = {"'": "'", '"': '"', "`": "`", "--": "\n", "/*": "*/"}
_BEGINS = re.compile(r"['\"`;]|--|/\*|\$\w{0,63}\$")
_MOMENT = re.compile(r"\d{4}-\d\d?-\d\d?([ T][\d:.Z+-]*)?", re.ASCII)
_TAG = re.compile(r"(?=(\$\w{0,63}\$))")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as a log has it: how often it ran, when last, and the question it answers."""

    sql: str
    count: int = 1
    last: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """A log to be learnt: its name, the dialects it may be in, and its statements.

    `tables` are those that its names can mean; all of the catalog where none are given.
    """

    name: str
    dialects: tuple[str, ...]
    statements: Iterable[Statement]
    tables: tuple[TableId, ...] = ()


def open_log(
    catalog: CatalogReader,
    location: str,
    *,
    dialect: str = "",
    sources: Sequence[str] = (),
    settled: Sequence[str] = (),
) -> Log:
    """The log that a user names: a file, the URL of a server, or the label of a source that is one.

    Without a `dialect`, that of the catalog's sources is tried, and then DuckDB's. `sources` says
    whose tables the log is about, `settled` are the sources that settings name, with their logins.
    """
    if dialect and dialect not in Dialect.classes:
        dialects = ", ".join(sorted(filter(None, Dialect.classes)))
        raise UsageError(f"the dialect {dialect!r} is not known; there are: {dialects}")
    spec = next((spec for spec in catalog.manifest.roots if spec.label == location), None)
    if spec is None:
        spec = root(location, Path.cwd())
    elif spec.kind != "path":
        spec = with_login(spec, settled)
    if spec.kind == "path":
        file = Path(spec.location)
        if not file.is_file():
            raise SourceError(f"there is no file {location}; check the path")
        about = tuple(tables_of_sources(catalog.ids, sources)) if sources else ()
        spoken = (dialect,) if dialect else _dialects(catalog, about)
        return Log(location, spoken, statements_in(file), about)
    label = next(
        (root.label for root in catalog.manifest.roots if root.location == spec.location), None
    )
    wanted = list(sources) or ([label] if label else [])
    about = tuple(tables_of_sources(catalog.ids, wanted)) if wanted else ()
    return Log(spec.location, (dialect or _DIALECTS.get(spec.kind, _USUAL),), _kept(spec), about)


def _kept(spec: SourceSpec) -> Iterator[Statement]:
    """The statements that a server has counted."""
    with closing(open_source(spec)) as source:
        counted = getattr(source, "statements", None)
        if counted is None:
            raise UsageError(f"{spec.location} keeps no statistics of statements; name a file")
        for sql, count, last in counted(MOST_STATEMENTS):
            yield Statement(str(sql).strip().rstrip(";"), max(int(count), 1), str(last or "")[:19])


def _dialects(catalog: CatalogReader, about: Sequence[TableId]) -> tuple[str, ...]:
    """The dialects that queries over some tables, or all, may be written in: the usual one last."""
    kinds = {root.label: root.kind for root in catalog.manifest.roots}
    labels = dict.fromkeys(table.source for table in about or catalog.ids)
    dialects = []
    for label in labels:
        kind = kinds.get(label, "")
        if kind in ("", "path"):
            files = label.lower().endswith(DATABASE_SUFFIXES)
            duck = label.lower().endswith((".duckdb", ".ddb"))
            kind = "sqlite" if files and not duck else "duckdb"
        dialects.append(_DIALECTS.get(kind, _USUAL))
    return tuple(dict.fromkeys([*dialects, _USUAL]))


def statements_in(file: Path) -> Iterator[Statement]:
    """The statements of a file of SQL, CSV, JSON, JSON lines or Parquet."""
    suffix = file.suffix.lower()
    if suffix not in (*_SCRIPTS, *_TABULAR):
        suffixes = ", ".join((*_SCRIPTS, *_TABULAR))
        raise UsageError(f"{file.name} is no query log by its name; there are: {suffixes}")
    try:
        if file.stat().st_size > MOST_BYTES:
            raise SourceError(f"{file} has more than {MOST_BYTES >> 30} GB; it is not read")
        if suffix in _SCRIPTS:
            yield from script(file.read_text("utf-8", errors="replace"))
        else:
            yield from _from_rows(_rows(file, suffix), file)
    except (OSError, ValueError, csv.Error, RecursionError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise SourceError(f"cannot read {file}: {reason}") from None


def script(text: str) -> Iterator[Statement]:
    """The statements of a script; a comment `-- question: …` before one is what it answers."""
    start, question = 0, ""
    for begin, end in _pieces(text):
        if text.startswith(("--", "/*"), begin):
            asked = _ASKED.fullmatch(text[begin:end].strip("-/* \n"))
            question = " ".join(asked[1].split()) if asked else question
        elif text[begin] == ";":
            yield Statement(text[start:begin].strip(), question=question)
            start, question = end, ""
    if text[start:].strip():
        yield Statement(text[start:].strip(), question=question)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where quoted texts, comments and semicolons begin and end, in time that grows with the text.

    What begins and never ends is none. That is known beforehand, by the last place of every end:
    no search for one goes through the rest of the text in vain.
    """
    last = {end: text.rfind(end) for end in _ENDS.values()}
    tags = {tag[1]: tag.start() for tag in _TAG.finditer(text)} if "$" in text else {}
    at = 0
    while piece := _BEGINS.search(text, at):
        begin, at = piece.span()
        if piece[0] != ";":
            end = _ENDS.get(piece[0], piece[0])
            if last.get(end, tags.get(end, -1)) < at:
                at = len(text) if end == "\n" else begin + 1
                if end != "\n":
                    continue
            else:
                at = text.index(end, at) + len(end) * (end != "\n")
        yield begin, at


def _rows(file: Path, suffix: str) -> Iterator[Mapping[str, Any]]:
    if suffix == ".parquet":
        for batch in pq.ParquetFile(file).iter_batches(batch_size=1024):
            yield from batch.to_pylist()
    elif suffix in (".csv", ".tsv"):
        csv.field_size_limit(16 << 20)
        with file.open(encoding="utf-8", errors="replace", newline="") as stream:
            yield from csv.DictReader(stream, delimiter="\t" if suffix == ".tsv" else ",")
    elif suffix == ".json" and _is_array(file):
        rows = json.loads(file.read_bytes())
        yield from (row for row in rows if isinstance(row, dict))
    else:
        with file.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                yield _object(line)


def _is_array(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(64).lstrip().startswith(b"[")


def _object(line: str) -> Mapping[str, Any]:
    """The object of a line; a line that holds none is a row without SQL."""
    try:
        record = json.loads(line)
    except (RecursionError, ValueError):
        return {"sql": line if line.strip() else ""}
    return record if isinstance(record, dict) else {}


def _from_rows(rows: Iterator[Mapping[str, Any]], file: Path) -> Iterator[Statement]:
    named = False
    for row in rows:
        folded = {str(key).casefold(): value for key, value in row.items()}
        named = named or any(name in folded for name in _SQL)
        sql = _first(folded, _SQL)
        if isinstance(sql, str) and sql.strip():
            yield Statement(
                sql.strip().rstrip(";"),
                _count(_first(folded, _COUNT)),
                _moment(_first(folded, _TIME)),
                " ".join(str(_first(folded, _QUESTION) or "").split()),
            )
    if not named:
        raise SourceError(
            f"{file.name} has no column of queries; call it one of: {', '.join(_SQL)}"
        )


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _moment(value: Any) -> str:
    """When a statement ran; nothing where a column of that name has something else."""
    text = str(value or "")[:19]
    return text if _MOMENT.fullmatch(text) else ""


def _count(value: Any) -> int:
    try:
        return min(max(int(value), 1), 1 << 40)
    except (OverflowError, TypeError, ValueError):
        return 1
