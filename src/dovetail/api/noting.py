"""The notes on a catalog, for every way in: listed, written and taken back.

Who sees some tables alone reads and writes notes on those alone, and is told of no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dovetail.api.tables import CatalogTables
from dovetail.errors import UsageError
from dovetail.notes import notes
from dovetail.notes.file import SECTIONS, Entry, read_entries


def notes_file(catalog: CatalogTables) -> Path:
    """The file of a catalog's notes, which need not be there yet."""
    return notes.file_of(catalog.whole.reader)


def noted(catalog: CatalogTables) -> list[Entry]:
    """The entries that can be used and are about tables of a catalog alone."""
    whole = catalog.whole.reader
    about = notes.tables_of_entries(_entries(catalog), whole)
    if catalog.whole is catalog:
        return list(about)
    own = set(catalog.ids)
    return [entry for entry, tables in about.items() if tables and tables <= own]


def write_note(
    catalog: CatalogTables, section: str, key: str, value: str
) -> tuple[Path, list[str]]:
    """Write a note; returns the file, and what the data has against it."""
    if catalog.whole is not catalog:
        _require_own(Entry(0, section, key.strip(), value), catalog)
    return notes.note(catalog.whole.reader, section, key, value)


def remove_note(catalog: CatalogTables, key: str, sections: Sequence[str] = SECTIONS) -> list[str]:
    """Take the notes of a key back; returns the sections they stood in."""
    if catalog.whole is not catalog:
        own = {entry.section for entry in noted(catalog) if entry.key == key}
        sections = [section for section in sections if section in own]
    return notes.forget(catalog.whole.reader, key, sections)


def _entries(catalog: CatalogTables) -> list[Entry]:
    file = catalog.whole.reader.notes_file
    return [] if file is None else read_entries(file)[0]


def _require_own(entry: Entry, seen: CatalogTables) -> None:
    """Refuse a note on what somebody does not see, and tell nothing of it."""
    if problems := notes.notes_of([entry], seen.reader).problems:
        raise UsageError(problems[0].text)
    tables = notes.tables_of_entries([entry], seen.whole.reader).get(entry, frozenset())
    if not tables or not tables <= set(seen.ids):
        raise UsageError("name the tables that this note is about, each as source::name")
    own = {(each.section, each.key) for each in noted(seen)}
    hidden = {(each.section, each.key) for each in _entries(seen)} - own
    if (entry.section, entry.key) in hidden:
        raise UsageError("this cannot be noted; say it in other words")
