"""Arrow files (Feather, IPC, streams), written again as Parquet, which DuckDB reads."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.errors import SourceError

_FILE_MAGIC, _OLD_FEATHER = b"ARROW1", b"FEA1"


def write_parquet(file: str, place: str) -> None:
    """Write an Arrow file as Parquet, batch by batch."""
    with open(file, "rb") as opened:
        head = opened.read(len(_FILE_MAGIC))
    if head.startswith(_OLD_FEATHER):
        raise SourceError("is a Feather file of version 1; write it again as version 2")
    try:
        with pa.memory_map(file) as source:
            in_file = head == _FILE_MAGIC
            reader = pa.ipc.open_file(source) if in_file else pa.ipc.open_stream(source)
            with pq.ParquetWriter(place, reader.schema) as out:
                for batch in _batches(reader, in_file=in_file):
                    out.write_batch(batch)
    except (pa.ArrowException, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SourceError(f"does not read as an Arrow file: {reason}") from None


def _batches(reader: pa.RecordBatchReader, *, in_file: bool) -> Iterator[pa.RecordBatch]:
    if not in_file:
        yield from reader
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)
