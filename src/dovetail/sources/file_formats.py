"""How a file of each format is read: the DuckDB relation of files that are alike."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.atomic import open_regular, require_regular
from dovetail.errors import RescanError, SourceError
from dovetail.sources import delimited, duck
from dovetail.sources.lake_tables import LAKES, checked_relation, log_files
from dovetail.sources.text_encoding import as_utf8
from dovetail.sources.workbook import read_sheet

# Formats whose values are all text, of a kind that is for us to find out.
UNTYPED = ("csv", "tsv", "excel")
_DELIMITED = ("csv", "tsv")
# Formats of which DuckDB reads a file where it is; of others a file elsewhere is brought here.
_IN_PLACE = ("parquet", "json")
_FILE_MAGIC, _OLD_FEATHER = b"ARROW1", b"FEA1"

# Other ways to read a table of text, by the signs in DuckDB's errors that it takes one.
_RAGGED, _ENCODING, _LONG_LINES, _LINE_ENDS = "ragged", "encoding", "long lines", "line ends"
_WAYS = {
    "Expected Number of Columns": _RAGGED,
    "not utf-8 encoded": _ENCODING,
    "Maximum line size": _LONG_LINES,
    "sniffing": _LINE_ENDS,
    "state machine": _LINE_ENDS,
}

# Levels of JSON that are read, and what each byte adds to them.
_DEEPEST, _QUOTE = 500, ord('"')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1


class FileReader:
    """Reads the files of one source; it remembers which tables must be read another way.

    `options` are what the user says of CSV files: `encoding`, and which line is the `header`; said
    of `many` files, it holds for those that do not show it themselves.
    `fetch` brings a file to this machine, where files are elsewhere: one of a format that is not
    read where it is, and one that is `wanted` here. `complaint` makes one line of an error.
    `ragged` has for each table, by file, the lines that were left out; `broken` has the parts that
    an attempt has shown to be broken, with the reason.
    """

    def __init__(
        self,
        options: Mapping[str, int | str],
        fetch: Callable[[str], str] | None = None,
        *,
        wanted: Callable[[str], bool] = lambda _: False,
        many: bool = False,
        complaint: Callable[[str], str] = duck.one_line,
    ) -> None:
        self._encoding, self._many = str(options.get("encoding", "")), many
        header = options.get("header")
        self._header = None if header is None else int(header)
        self.ragged: dict[str, dict[str, dict[str, str]]] = {}
        self.broken: dict[str, dict[str, str]] = {}
        self._ways: dict[str, set[str]] = {}
        self._fetch = fetch
        self._wanted = wanted
        self._complaint = complaint
        self._written_again: dict[tuple[str, str], str] = {}
        self._files = 0
        self._rewritten: tempfile.TemporaryDirectory[str] | None = None
        self._dialects: dict[tuple[str, bytes], delimited.Dialect] = {}

    def shape(self, table: str, kind: str, file: str) -> Hashable:
        """What files of a table must have in common to be read by one relation."""
        duck.literal(file)
        if kind in LAKES or self._stays_there(kind, file):
            return file
        file = self._here(kind, file)
        open_regular(file).close()  # one that is gone, closed to us or a pipe says so plainly
        if kind == "json":
            require_shallow(file)
        if kind in _DELIMITED:
            return self._dialect(kind, self._in_utf8(table, file))
        if kind == "parquet":
            try:
                return tuple((field.name, str(field.type)) for field in pq.read_schema(file))
            except (OSError, pa.ArrowException):
                return file  # which DuckDB explains, or reads
        return file

    def relation(self, table: str, kind: str, files: Sequence[str], *, sheet: str = "") -> str:
        """A call of DuckDB that gives the rows of files of one shape."""
        given, files = files, [self._here(kind, file) for file in files]
        if kind in _DELIMITED:
            files = [self._in_utf8(table, file) for file in files]
            dialect = self._dialect(kind, files[0])
            ways = self._ways.get(table, ())
            long_lines, ragged = _LONG_LINES in ways, ""
            if _RAGGED in ways:
                ragged = delimited.LEFT_OUT
                for file, named in zip(files, given, strict=True):
                    self.ragged.setdefault(table, {})[named] = delimited.ragged_lines(
                        file, dialect, long_lines=long_lines
                    )
            relation = delimited.read_csv(files, dialect, long_lines=long_lines, ragged=ragged)
            return delimited.in_plain_spelling(relation, dialect)
        if kind in ("excel", "arrow"):
            files = [self._as_parquet(kind, file, sheet) for file in files]
            kind = "parquet"
        if kind in LAKES:
            return checked_relation(kind, files[0], log_files(files[0], kind), _bytes)
        if kind == "avro":
            duck.load_extension("avro")
            return f"read_avro({duck.file_list(files)})"
        options = ", sample_size = -1" if kind == "json" else ""
        return f"read_{kind}({duck.file_list(files)}, hive_partitioning = false{options})"

    def is_blank(self, kind: str, file: str) -> bool:
        """Whether a file of text has no bytes, and so no rows and no columns."""
        if kind not in (*_DELIMITED, "json") or self._stays_there(kind, file):
            return False
        here = self._here(kind, file)
        require_regular(here)  # a pipe has no bytes either, and would be passed over
        return os.stat(here).st_size == 0

    def close(self) -> None:
        if self._rewritten is not None:
            self._rewritten.cleanup()

    @contextmanager
    def explained(self, table: str) -> Iterator[None]:
        """Turn DuckDB's errors into one line, or into news that a table reads another way."""
        try:
            yield
        except duckdb.InvalidInputException as error:
            reason = str(error)
            ways = self._ways.setdefault(table, set())
            another = next((w for sign, w in _WAYS.items() if sign in reason and w not in ways), "")
            if another:
                ways.add(another)
                raise RescanError(delimited.complaint(reason)) from None
            raise SourceError(delimited.complaint(reason)) from None
        except duck.ENGINE_ERRORS as error:
            raise SourceError(self._complaint(str(error))) from None

    def _here(self, kind: str, file: str) -> str:
        return self._fetch(file) if self._fetch and not self._stays_there(kind, file) else file

    def _stays_there(self, kind: str, file: str) -> bool:
        return self._fetch is not None and kind in _IN_PLACE and not self._wanted(file)

    def _dialect(self, kind: str, file: str) -> delimited.Dialect:
        """The dialect of a file; of files that begin with the same header, that of the first."""
        key = (kind, delimited.first_line(file))
        if key not in self._dialects:
            dialect = delimited.dialect_of(
                file, tab=kind == "tsv", header=self._header, many=self._many
            )
            if not dialect.header or dialect.skip:
                return dialect
            self._dialects[key] = dialect
        return self._dialects[key]

    def _in_utf8(self, table: str, file: str) -> str:
        """The file itself, or if it is in another encoding, where it is written again."""
        ways = self._ways.get(table, ())
        one_end = _LINE_ENDS in ways
        declared = bool(self._encoding) and not self._many
        other = _ENCODING in ways or declared or delimited.is_marked(file)
        if not other and not one_end:
            return file
        key = (file, str(one_end))
        if key not in self._written_again:
            target = self._scratch("csv")
            as_utf8(file, target, encoding=self._encoding, certain=declared, one_line_end=one_end)
            self._written_again[key] = target
        return self._written_again[key]

    def _as_parquet(self, kind: str, file: str, sheet: str) -> str:
        """Where a file of a format that DuckDB does not read is written as Parquet."""
        target = self._scratch("parquet")
        if kind == "excel":
            pq.write_table(read_sheet(file, sheet), target)
        else:
            write_parquet(file, target)
        return target

    def _scratch(self, suffix: str) -> str:
        self._rewritten = self._rewritten or tempfile.TemporaryDirectory(prefix="dovetail-")
        self._files += 1
        return os.path.join(self._rewritten.name, f"{self._files}.{suffix}")


def _bytes(file: str) -> bytes:
    with open_regular(file) as opened:
        return opened.read()


def size_of(files: Sequence[str]) -> int:
    """The size of files; what cannot be looked at is told when it is read."""
    total = 0
    for file in files:
        try:
            total += os.stat(file).st_size
        except OSError:
            continue
    return total


def write_parquet(file: str, target: str) -> None:
    """Write an Arrow file as Parquet, batch by batch."""
    with open(file, "rb") as opened:
        head = opened.read(len(_FILE_MAGIC))
    if head.startswith(_OLD_FEATHER):
        raise SourceError("is a Feather file of version 1; write it again as version 2")
    try:
        with pa.memory_map(file) as source:
            in_file = head == _FILE_MAGIC
            reader = pa.ipc.open_file(source) if in_file else pa.ipc.open_stream(source)
            with pq.ParquetWriter(target, reader.schema) as out:
                for batch in _batches(reader, in_file=in_file):
                    # Offsets may lead out of their buffers, to whatever is there in memory.
                    batch.validate(full=True)
                    out.write_batch(batch)
    except (pa.ArrowException, NotImplementedError, MemoryError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SourceError(f"does not read as an Arrow file: {reason}") from None


def require_shallow(file: str) -> None:
    """Refuse JSON that is nested beyond what its reader takes: it would end the process.

    Brackets in texts do not count; what is escaped in them is taken out first.
    """
    depth, inside, rest = 0, 0, b""
    with pa.input_stream(file) as stream:
        while chunk := stream.read(1 << 22):
            chunk = rest + chunk
            rest = chunk[len(chunk.rstrip(b"\\")) :]  # it may escape what comes next
            chunk = chunk[: len(chunk) - len(rest)]
            plain = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
            signs = np.frombuffer(plain, np.uint8)
            quoted = np.bitwise_xor.accumulate(signs == _QUOTE) ^ bool(inside)
            steps = _STEPS[signs]
            steps[quoted] = 0
            levels = depth + np.cumsum(steps, dtype=np.int64)
            if len(levels):
                if levels.max() > _DEEPEST:
                    raise SourceError(f"is nested more than {_DEEPEST} levels deep")
                depth, inside = int(levels[-1]), int(quoted[-1])


def _batches(reader: pa.RecordBatchReader, *, in_file: bool) -> Iterator[pa.RecordBatch]:
    if not in_file:
        yield from reader
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)
