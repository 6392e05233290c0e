"""Tables in memory (pandas, Polars, Arrow) as a source: written as Parquet, then read like files.

Profiling, joins and SQL run in processes of their own and come back later, when the frame may be
gone. So its rows are written down once, into the catalog's folder, and that copy is the source.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.atomic import file_checksum, make_folder, replace_file, replacing, seal, unseal
from dovetail.errors import SourceError, UsageError
from dovetail.sources.walk import table_suffix

_NOT_IN_A_NAME = re.compile(r"[\\\x00-\x1f\x7f]")
_LONGEST = 200
# The checksums of these files; no table, as its name begins with a dot.
_CHECKSUMS = ".checksums.json"


def write_frames(frames: Mapping[str, Any], folder: Path) -> Path:
    """Write tables into a folder, each to a Parquet file of its name; returns the folder.

    A file is replaced at once, so that a reader has the old rows or the new. Equal tables give
    equal bytes: an update then sees that nothing changed.
    """
    tables = {_file_name(name): _to_arrow(name, frame) for name, frame in frames.items()}
    for name, table in tables.items():
        path = folder / name
        try:
            make_folder(path.parent)
            _note_checksums(folder, {name: None})  # it may be the old file or the new from now on
            with replacing(path) as stream:
                pq.write_table(table, stream)
        except (pa.ArrowException, NotImplementedError) as error:
            raise SourceError(f"table {name!r} cannot be written as Parquet: {error}") from None
        except OSError as error:
            raise SourceError(
                f"cannot write {path}: {error.strerror or error}; tables in memory are written "
                "into the catalog's folder"
            ) from None
    _note_checksums(folder, {name: file_checksum(folder / name) for name in tables})
    return folder


def damaged_frames(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files that tables were written to and that are not as they were written."""
    if not folder.exists():
        return
    try:
        checksums = _checksums(folder)
    except ValueError as error:
        yield folder / _CHECKSUMS, str(error)
        return
    for name, checksum in checksums.items():
        file = folder / name
        if not file.is_file():
            yield file, "it is missing"
        elif checksum is not None and file_checksum(file) != checksum:
            yield file, "its checksum does not match"


def _checksums(folder: Path) -> dict[str, int | None]:
    """The checksum of each file that tables were written to; None where the writer was stopped."""
    file = folder / _CHECKSUMS
    return unseal(file.read_bytes())["files"] if file.exists() else {}


def _note_checksums(folder: Path, checksums: Mapping[str, int | None]) -> None:
    try:
        before = _checksums(folder)
    except ValueError:
        before = {}
    replace_file(folder / _CHECKSUMS, seal({"files": {**before, **checksums}}))


def is_frame(value: object) -> bool:
    """Whether a value of a mapping of sources is a table, and not a path or URL."""
    return not isinstance(value, str | os.PathLike)


def _file_name(name: object) -> str:
    """The file of a table: its name with a suffix, where a file can be called that."""
    if not isinstance(name, str):
        raise UsageError(f"a table in memory needs a name, not {name!r}")
    *folders, last = name.split("/")
    odd = (
        any(not part or part.startswith(".") for part in (*folders, last))
        or any(table_suffix(part) for part in folders)
        or _NOT_IN_A_NAME.search(name)
        or len(name.encode("utf-8", "replace")) > _LONGEST
    )
    if odd or not name.isprintable():
        raise UsageError(
            f"a table in memory cannot be called {name[:_LONGEST]!r}: it is kept in a file of that "
            "name; choose another"
        )
    return f"{name}.parquet"


def _to_arrow(name: str, frame: Any) -> pa.Table:
    """A frame as an Arrow table, without the metadata that its library adds."""
    try:
        table = _convert(frame)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = " ".join("; ".join(map(str, error.args)).split())
        raise SourceError(f"table {name!r} cannot be read: {reason}") from None
    if not table.num_columns:
        raise SourceError(f"table {name!r} has no columns")
    return table.replace_schema_metadata(None)


def _convert(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas" and hasattr(frame, "columns"):
        # A named index is a column of the table; one without a name only numbers its rows.
        if any(level is not None for level in frame.index.names):
            frame = frame.reset_index()
        return pa.Table.from_pandas(frame.rename(columns=str), preserve_index=False)
    if library == "polars" and hasattr(frame, "to_arrow") and hasattr(frame, "columns"):
        return frame.to_arrow()
    if hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
        if isinstance(table, pa.Table):
            return table
    raise TypeError(
        f"{type(frame).__qualname__} is no table in memory; give a pandas or Polars data frame, an "
        "Arrow table, or what has __arrow_c_stream__"
    )
