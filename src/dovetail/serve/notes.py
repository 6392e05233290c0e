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

from dovetail.api import noting
from dovetail.api.catalog import Catalog
from dovetail.api.noting import noted
from dovetail.errors import NotFoundError
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
from dovetail.serve.seen import Seen
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
def list_notes(request: Request, catalog: Seen) -> NotesView:
    """What people noted: joins, tables, terms, remarks, and questions with their tables."""
    problems = catalog.notes.warnings if catalog.whole is catalog else ()
    return NotesView(
        writable=may_write(request),
        notes=[
            NoteView(one.section, written_out(one.key), written_out(one.value))
            for one in noted(catalog)
        ],
        problems=[written_out(text) for text in problems],
    )


@router.post("/notes", responses=_refused("Notes may not be written here."))
def write_note(request: Request, catalog: Seen, wanted: Noting) -> NotesView:
    """Write a note; it counts from the next request on."""
    _require_writable(request)
    noting.write_note(catalog, wanted.section, wanted.key, wanted.value)
    return list_notes(request, catalog)


@router.delete("/notes", responses=_refused("Notes may not be written here."))
def delete_note(
    request: Request,
    catalog: Seen,
    section: Section,
    key: Annotated[str, Query(min_length=1, max_length=1_000)],
) -> NotesView:
    """Take a note back."""
    _require_writable(request)
    if (section, key) not in {(one.section, one.key) for one in noted(catalog)}:
        raise NotFoundError(f"there is no such note in [{section}]")
    noting.remove_note(catalog, key, [section])
    return list_notes(request, catalog)


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
