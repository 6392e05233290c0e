"""The purposes of tables, written by a language model.

They are saved one by one, as lines of a file that only grows, by any number of threads and
processes; the newest of each table becomes part of the next generation.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import PURPOSES
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.ports import Json

FOLDER, FILE = "purposes", "purposes.jsonl"
_PART_FILE = "purposes.json"
_KEYS = ("digest", "name", "content", "model", "prompt", "purpose")


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a table is for (empty if the model cannot tell), and the model and prompt behind it."""

    text: str
    model: str
    prompt: str


def purposes(catalog: CatalogReader) -> dict[TableId, Purpose]:
    """The purposes of a catalog's tables that its generation has."""
    part = catalog.parts.get(PURPOSES)
    if part is None:
        return {}
    try:
        return {
            TableId(str(source), str(name)): Purpose(*map(str, rest))
            for source, name, *rest in part.json(_PART_FILE)
        }
    except DAMAGE as error:
        raise part.damaged(_PART_FILE, repr(error)) from None


def written_purposes(catalog: CatalogReader) -> dict[TableId, Purpose]:
    """The purposes of a catalog's tables as far as they have been written by now."""
    lines = purpose_lines(purpose_journal(catalog))
    newest = {(line["digest"], line["name"]): line for line in lines}
    digests = catalog.records.tables["digest"].to_pylist()
    result = {}
    for table, digest in zip(catalog.ids, digests, strict=True):
        if line := newest.get((digest, table.name)):
            result[table] = Purpose(line["purpose"], line["model"], line["prompt"])
    return result


def as_rows(written: Mapping[TableId, Purpose]) -> list[list[str]]:
    """Purposes as the file of their part has them."""
    return [
        [table.source, table.name, each.text, each.model, each.prompt]
        for table, each in sorted(written.items())
    ]


def write_rows(rows: list[list[str]], folder: Path) -> None:
    """Write purposes into the folder of their part."""
    (folder / _PART_FILE).write_text(json.dumps(rows, ensure_ascii=False), "utf-8")


def purpose_journal(catalog: CatalogReader) -> Journal:
    """Where purposes are written."""
    return Journal(catalog.folder / FOLDER / FILE)


def purpose_lines(journal: Journal) -> Iterator[Json]:
    """The lines that came in, oldest first.

    Each names a table's contents (`digest`) and name, what the model saw of it (`content`), the
    model, the prompt, and the purpose.
    """
    for line in journal.new_lines():
        if all(isinstance(line.get(key), str) for key in _KEYS):
            yield line


class Journal:
    """A file of JSON lines that only ever grows, which knows what others added to it meanwhile.

    A process killed while it writes leaves at most one torn line: readers pass over it, and the
    next writer cuts it off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = Lock()
        self._seen = 0

    def new_lines(self) -> list[Json]:
        """The lines added since this was last called, without damaged ones."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(self._seen)
                raw = stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return []
        whole = raw[: raw.rfind(b"\n") + 1]
        self._seen += len(whole)
        return list(_parsed(whole))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep everybody else from writing: what `new_lines` says holds until the end."""
        with self._turn:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                _cut_torn_line(descriptor)
                yield
            finally:
                os.close(descriptor)

    def append(self, record: Json) -> None:
        """Add a line; only while `writing`."""
        line = json.dumps(record, ensure_ascii=False) + "\n"
        with self.path.open("ab", buffering=0) as stream:
            stream.write(line.encode())


def _parsed(raw: bytes) -> Iterator[Json]:
    for line in raw.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _cut_torn_line(descriptor: int, step: int = 1 << 16) -> None:
    size = end = os.fstat(descriptor).st_size
    while end:
        start = max(end - step, 0)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        end = start + newline + 1
        if newline >= 0:
            break
    if end != size:
        os.ftruncate(descriptor, end)
