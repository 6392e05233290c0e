"""The purposes of tables, written by a language model: lines of a file, the newest in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.journal import Journal
from dovetail.ports import Json

FOLDER, FILE = "purposes", "purposes.jsonl"
_KEYS = ("digest", "name", "content", "model", "prompt", "purpose")


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a table is for (empty if the model cannot tell), and the model and prompt behind it."""

    text: str
    model: str
    prompt: str


def purposes(catalog: CatalogReader) -> Mapping[TableId, Purpose]:
    """The purposes of a catalog's tables, as far as they have been written."""
    lines = purpose_lines(purpose_journal(catalog))
    newest = {(line["digest"], line["name"]): line for line in lines}
    digests = catalog.records.tables["digest"].to_pylist()
    found = {}
    for table, digest in zip(catalog.ids, digests, strict=True):
        if line := newest.get((digest, table.name)):
            found[table] = Purpose(line["purpose"], line["model"], line["prompt"])
    return found


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
