"""The purposes of tables, written by a language model.

They are saved one by one, as lines of a file that only grows; the newest of each table becomes part
of the next generation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import PURPOSES
from dovetail.catalog.journal import Journal
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
