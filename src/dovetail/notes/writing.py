"""Writes notes: each is held against the catalog first, so that none says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.errors import UsageError
from dovetail.notes.file import SECTIONS, Entry, put_entry, read_entries, remove_entry
from dovetail.notes.reading import notes_of


def note(catalog: CatalogReader, section: str, key: str, value: str) -> Path:
    """Write an entry into the catalog's file of notes; an error says what is wrong with it."""
    file = file_of(catalog)
    found = notes_of([Entry(0, section, key.strip(), value)], catalog)
    if found.problems:
        raise UsageError(str(found.problems[0]))
    put_entry(file, section, key.strip(), value)
    return file


def forget(catalog: CatalogReader, key: str, sections: Sequence[str] = SECTIONS) -> list[str]:
    """Take the entries of a key out of the file; returns the sections they stood in."""
    file = file_of(catalog)
    gone = [section for section in sections if remove_entry(file, section, key)]
    if not gone:
        known = ", ".join(repr(entry.key) for entry in read_entries(file)[0][:8]) or "none"
        raise UsageError(f"{file.name} has no entry {key!r}; there are: {known}")
    return gone


def file_of(catalog: CatalogReader) -> Path:
    """The file of a catalog's notes, which need not be there yet."""
    if catalog.notes_file is None:
        raise UsageError("notes are not used (the setting use_notes); turn them on to write some")
    return catalog.notes_file
