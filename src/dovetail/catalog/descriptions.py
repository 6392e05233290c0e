"""Descriptions of tables that no person wrote: kept as they come in, and laid over a generation.

They are saved one by one, as lines of a file that only grows, by any number of threads and
processes. A line names a table by its source, its name and its columns: rows may change, and what
is said of the table stays. The newest line of each table becomes part of the next generation, as
its comment and those of its columns, wherever no person wrote one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from dovetail.atomic import OWNER_ONLY, make_folder, replace_file, seal, unseal
from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import DESCRIPTIONS
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.domain import DICTIONARY, PERSON, Description, TableId
from dovetail.errors import CatalogError
from dovetail.ports import Json
from dovetail.text import encodable

FOLDER, FILE = "descriptions", "descriptions.jsonl"
_PART_FILE = "descriptions.json"
_TEXTS = ("table", "like", "author", "prompt", "text")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class TableKey:
    """What a description is kept by: a digest of a table's source, name and columns, and the same
    with the digits of the name left out (`like`), by which slices of a table are told."""

    exact: str
    like: str

    @classmethod
    def of(cls, table: TableId, columns: Iterable[str]) -> TableKey:
        """The key of a table with columns of these names, in any order.

        >>> slices = [TableKey.of(TableId("s", f"sales_{year}"), ["id"]) for year in (2023, 2024)]
        >>> slices[0].exact == slices[1].exact, slices[0].like == slices[1].like
        (False, True)
        """
        names = sorted(columns)
        like = _DIGITS.sub("0", table.name)
        return cls(_digest(table.source, table.name, names), _digest(table.source, like, names))


@dataclass(frozen=True, slots=True)
class Written:
    """A line of the file: a description, the key of its table, and the prompt that it answers.

    `sliced` says that it describes every slice of a table, also those that are not there yet.
    Whoever was not asked by a prompt of ours has none.
    """

    key: TableKey
    description: Description
    prompt: str = ""
    sliced: bool = False


class DescriptionFile:
    """The descriptions of a catalog's tables as far as they have been written by now."""

    def __init__(self, folder: Path) -> None:
        self.journal = Journal(folder / FOLDER / FILE)

    def lines(self) -> Iterator[Written]:
        """What came in since this was last called, oldest first."""
        for line in self.journal.new_lines():
            glosses = line.get("columns")
            if all(isinstance(line.get(name), str) for name in _TEXTS) and isinstance(
                glosses, dict
            ):
                yield Written(
                    TableKey(line["table"], line["like"]),
                    Description(
                        line["text"], line["author"], {str(k): str(v) for k, v in glosses.items()}
                    ),
                    line["prompt"],
                    line.get("sliced") is True,
                )

    def add(self, written: Iterable[Written], **more: str) -> None:
        """Write descriptions, a line each; `more` stands in each of the lines."""
        try:
            with self.journal.writing():
                for each in written:
                    self.journal.append(
                        {
                            "table": each.key.exact,
                            "like": each.key.like,
                            "sliced": each.sliced,
                            "author": each.description.author,
                            "prompt": each.prompt,
                            "text": each.description.text,
                            "columns": dict(each.description.glosses),
                            **more,
                        }
                    )
        except OSError as error:
            raise CatalogError(
                f"cannot write to {self.journal.path}: {error.strerror}; "
                "descriptions that were finished are kept"
            ) from None

    def of(self, records: Records) -> dict[TableId, Description]:
        """The newest description of each table that has one."""
        exact: dict[str, Description] = {}
        sliced: dict[str, Description] = {}
        for each in self.lines():
            exact[each.key.exact] = each.description
            if each.sliced:
                sliced[each.key.like] = each.description
        if not exact:
            return {}
        result = {}
        for table, key in table_keys(records):
            if description := exact.get(key.exact) or sliced.get(key.like):
                result[table] = description
        return result


def table_keys(records: Records) -> Iterator[tuple[TableId, TableKey]]:
    """Every table of some records with its key."""
    for table, names in zip(records.ids, records.by_table("name"), strict=True):
        yield table, TableKey.of(table, names)


def laid_over(
    records: Records, *layers: Mapping[TableId, Description]
) -> tuple[Records, dict[TableId, Description]]:
    """The records with descriptions as comments wherever there is none yet, the first layer before
    the next, and what of the descriptions that is."""
    if not any(layers):
        return records, {}
    comments = records.tables["comment"].to_pylist()
    on_columns = records.columns["comment"].to_pylist()
    names, bounds = records.columns["name"].to_pylist(), records.bounds.tolist()
    used: dict[TableId, Description] = {}
    for row, table in enumerate(records.ids):
        for description in (layer[table] for layer in layers if table in layer):
            text = "" if comments[row] else encodable(description.text)
            comments[row] = comments[row] or text
            glosses = {}
            for at in range(bounds[row], bounds[row + 1]):
                gloss = encodable(description.glosses.get(names[at], ""))
                if gloss and not on_columns[at]:
                    on_columns[at] = glosses[names[at]] = gloss
            if laid := Description(text, description.author, glosses):
                first = used.get(table, laid)
                both = {**glosses, **first.glosses}
                used[table] = replace(first if first.text else laid, glosses=both)
    changed = records.with_column("comment", comments)
    return changed.with_column_comments("comment", on_columns), used


def write_part(laid: Mapping[TableId, Description], folder: Path) -> None:
    """Write the descriptions of a generation into the folder of their part."""
    (folder / _PART_FILE).write_text(part_text(laid), "utf-8")


def part_text(laid: Mapping[TableId, Description]) -> str:
    """The descriptions of a generation as the file of their part has them."""
    rows = [
        [table.source, table.name, each.text, each.author, dict(each.glosses)]
        for table, each in sorted(laid.items())
    ]
    return json.dumps(rows, ensure_ascii=False)


def laid_descriptions(catalog: CatalogReader) -> dict[TableId, Description]:
    """What of a generation's comments no person wrote."""
    part = catalog.parts.get(DESCRIPTIONS)
    if part is None:
        return {}
    try:
        return {
            TableId(str(source), str(name)): Description(str(text), str(author), dict(glosses))
            for source, name, text, author, glosses in part.json(_PART_FILE)
        }
    except DAMAGE as error:
        raise part.damaged(_PART_FILE, repr(error)) from None


def written_texts(catalog: CatalogReader) -> tuple[list[str], list[str]]:
    """What people and data dictionaries say of each table and of each column, not what models do,
    which guess by the same names."""
    records = catalog.records
    tables, columns = (part["comment"].to_pylist() for part in (records.tables, records.columns))
    names, bounds = records.columns["name"].to_pylist(), records.bounds.tolist()
    row = {table: number for number, table in enumerate(catalog.ids)}
    for table, each in laid_descriptions(catalog).items():
        if each.author == DICTIONARY:
            continue
        if each.text:
            tables[row[table]] = ""
        for at in range(bounds[row[table]], bounds[row[table] + 1]):
            if names[at] in each.glosses:
                columns[at] = ""
    return tables, columns


def descriptions(catalog: CatalogReader) -> dict[TableId, Description]:
    """What is said of each table of a generation, and by whom; comments of persons included."""
    laid, result = laid_descriptions(catalog), {}
    for table, comment in zip(
        catalog.ids, catalog.records.tables["comment"].to_pylist(), strict=True
    ):
        own = laid.get(table)
        if own is not None and (own.text or not comment):
            result[table] = own
        elif comment:
            result[table] = Description(comment, PERSON, own.glosses if own else {})
    return result


def _digest(*things: object) -> str:
    return hashlib.sha256(repr(things).encode("utf-8", "replace")).hexdigest()[:32]


class Journal:
    """A file of JSON lines that only ever grows, which knows what others added to it meanwhile.

    A process killed while it writes leaves at most one torn line: readers pass over it, and the
    next writer cuts it off. Lines have checksums, unless others are to read and write them.
    """

    def __init__(self, path: Path, *, sealed: bool = True) -> None:
        self.path = path
        self._sealed = sealed
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
        return [record for _, record in self._intact(whole)]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep everybody else from writing: what `new_lines` says holds until the end."""
        with self._turn:
            make_folder(self.path.parent)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, OWNER_ONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                _cut_torn_line(descriptor)
                yield
            finally:
                os.close(descriptor)

    def append(self, record: Json) -> None:
        """Add a line; only while `writing`."""
        with self.path.open("ab", buffering=0) as stream:
            line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
            stream.write(seal(record) if self._sealed else line)

    def damaged(self) -> list[int]:
        """The numbers of the lines that are not as they were written."""
        raw = self.path.read_bytes() if self.path.exists() else b""
        *lines, torn = raw.split(b"\n")
        numbers = [number for number, line in enumerate(lines, 1) if not any(self._intact(line))]
        return [*numbers, len(lines) + 1] if torn else numbers

    def mend(self) -> None:
        """Leave damaged lines out; only while `writing`."""
        replace_file(self.path, b"".join(line for line, _ in self._intact(self.path.read_bytes())))

    def _intact(self, raw: bytes) -> Iterator[tuple[bytes, Json]]:
        """The lines that are as they were written, with what they hold."""
        for line in raw.split(b"\n"):
            with suppress(ValueError, RecursionError):
                record = unseal(line + b"\n") if self._sealed else json.loads(line)
                if isinstance(record, dict):
                    yield line + b"\n", record


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
