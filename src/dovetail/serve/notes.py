"""Notes and descriptions over HTTP: read by whoever sees their tables, written where allowed.

A note changes what everybody is told, so writing is off unless the server was started for it; and
who sees some tables alone reads and writes notes on those alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from dovetail.api.catalog import Catalog
from dovetail.errors import NotFoundError, UsageError
from dovetail.notes.file import Entry, read_entries
from dovetail.notes.notes import forget, note, notes_of, tables_of_entries
from dovetail.serve.descriptions import (
    MOST_DESCRIBED,
    Descriptions,
    SavedWords,
    ToDescribe,
    may_describe,
    save,
    to_describe,
)
from dovetail.serve.guarded import Caller
from dovetail.serve.seen import Seen, Served
from dovetail.text import written_out

Section = Literal["joins", "tables", "terms", "about", "questions", "domains"]
router = APIRouter(prefix="/api/v1")


class Noting(BaseModel):
    """A note: what stands left and right of the `=` in its section of the file."""

    section: Section
    key: str = Field(min_length=1, max_length=1_000, examples=["orders.client = customers.id"])
    value: str = Field(min_length=1, max_length=2_000, examples=["pin"])


@dataclass(frozen=True, slots=True)
class NoteView:
    """An entry of the file of notes."""

    section: str
    key: str
    value: str


@dataclass(frozen=True)
class NotesView:
    """The notes that the caller may see; `problems` are lines of the file that cannot be used."""

    writable: bool
    notes: list[NoteView]
    problems: list[str]


def may_write(request: Request) -> bool:
    """Whether the server lets this caller write notes."""
    caller: Caller = request.state.caller
    return bool(request.app.state.notes) and caller.notes


def _refused(why: str) -> dict[int | str, dict[str, Any]]:
    return {403: {"description": why}}


@router.get("/notes")
def list_notes(request: Request, live: Served, catalog: Seen) -> NotesView:
    """What people noted: joins, tables, terms, remarks, and questions with their tables."""
    whole = live.whole()
    problems = whole.notes.warnings if catalog is whole else ()
    return NotesView(
        writable=may_write(request),
        notes=[
            NoteView(one.section, written_out(one.key), written_out(one.value))
            for one in _visible(whole, catalog)
        ],
        problems=[written_out(text) for text in problems],
    )


@router.post("/notes", responses=_refused("Notes may not be written here."))
def write_note(request: Request, live: Served, catalog: Seen, wanted: Noting) -> NotesView:
    """Write a note; it counts from the next request on."""
    _require_writable(request)
    entry = Entry(0, wanted.section, wanted.key.strip(), wanted.value)
    _require_own(entry, live.whole(), catalog)
    note(live.whole().reader, entry.section, entry.key, entry.value)
    return list_notes(request, live, catalog)


@router.delete("/notes", responses=_refused("Notes may not be written here."))
def delete_note(
    request: Request,
    live: Served,
    catalog: Seen,
    section: Section,
    key: Annotated[str, Query(min_length=1, max_length=1_000)],
) -> NotesView:
    """Take a note back."""
    _require_writable(request)
    known = {(one.section, one.key) for one in _visible(live.whole(), catalog)}
    if (section, key) not in known:
        raise NotFoundError(f"there is no such note in [{section}]")
    forget(live.whole().reader, key, [section])
    return list_notes(request, live, catalog)


@router.get("/tables-to-describe", responses=_refused("Not to be described here."))
def tables_to_describe(
    request: Request, catalog: Seen, limit: Annotated[int, Query(ge=1, le=MOST_DESCRIBED)] = 10
) -> ToDescribe:
    """The next tables that nobody described yet, as a text that shows them."""
    _require_describing(request, catalog)
    return to_describe(catalog, limit)


@router.post("/descriptions", responses=_refused("Not to be described here."))
def save_descriptions(request: Request, catalog: Seen, given: Descriptions) -> SavedWords:
    """Describe tables, each under its name; this counts from the next request on."""
    _require_describing(request, catalog)
    return save(catalog, given)


def _require_describing(request: Request, catalog: Catalog) -> None:
    """Refuse whoever does not see all tables, or may not write notes."""
    if not may_write(request) or not may_describe(catalog):
        raise HTTPException(403, "whoever sees all tables describes them, where --notes allows it")


def _require_writable(request: Request) -> None:
    if not may_write(request):
        detail = "notes may not be written here; who runs the server can allow it (--notes)"
        raise HTTPException(403, detail)


def _entries(whole: Catalog) -> list[Entry]:
    file = whole.reader.notes_file
    return [] if file is None else read_entries(file)[0]


def _visible(whole: Catalog, seen: Catalog) -> list[Entry]:
    """The entries that are about tables which somebody sees: all, if that is the whole catalog."""
    about = tables_of_entries(_entries(whole), whole.reader)
    if seen is whole:
        return list(about)
    own = set(seen.ids)
    return [entry for entry, tables in about.items() if tables and tables <= own]


def _require_own(entry: Entry, whole: Catalog, seen: Catalog) -> None:
    """Refuse a note on what somebody does not see, and tell nothing of it."""
    if seen is whole:
        return
    if (found := notes_of([entry], seen.reader)).problems:
        raise UsageError(written_out(found.problems[0].text))
    tables = tables_of_entries([entry], whole.reader).get(entry, frozenset())
    if not tables or not tables <= set(seen.ids):
        raise UsageError("name the tables that this note is about, each as source::name")
    seen_keys = {(one.section, one.key) for one in _visible(whole, seen)}
    hidden = {(one.section, one.key) for one in _entries(whole)} - seen_keys
    if (entry.section, entry.key) in hidden:
        raise UsageError("this cannot be noted; say it in other words")
