"""The REST interface: the catalog over HTTP, as JSON, with OpenAPI.

FastAPI describes the routes; what every request passes before it meets one (`guarded.py`) it cannot
know, so that is added for those who generate clients: who may ask, and the problem that comes back
where something is wrong (RFC 9457).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from dovetail.errors import DovetailError, MissingExtraError

try:
    from fastapi import APIRouter, FastAPI, Query, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.openapi.utils import get_openapi
    from fastapi.responses import JSONResponse, Response, StreamingResponse
    from fastapi.routing import APIRoute
    from prometheus_client import generate_latest
    from pydantic import BaseModel, Field
    from starlette.exceptions import HTTPException
except ImportError as missing:
    raise MissingExtraError("the REST server", "server") from missing

from dovetail.api.catalog import Catalog
from dovetail.domain import JoinEdge
from dovetail.names.table_name import unqualified
from dovetail.names.words import spelled
from dovetail.serve import browse, query
from dovetail.serve import notes as noting
from dovetail.serve.asking import ASK, CANDIDATES, GIVEN, SEARCH, Asking, status_of
from dovetail.serve.bundle import add_page
from dovetail.serve.guarded import OPEN, Access, Guarded, Metrics, RequestLimits, problem
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.notes import may_write
from dovetail.serve.seen import Seen
from dovetail.serve.views import (
    LONGEST_PHRASE,
    MOST_PHRASES,
    RankedTable,
    TableSetDetail,
    message_of,
    safe,
)
from dovetail.text import CONFIDENCE, written_out

# Candidates of a search that nobody gave a number for: as many as `graph` looks at.
_CANDIDATES = 16
# How many are told, how many joins are looked at, and what a name must be to stand in a sentence.
_MANY, _LOOKED_AT = 4, 200
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_]{2,39}")
# What a request may meet, by status.
_PROBLEMS = (400, 401, 403, 404, 413, 422, 429, 502, 503)
_SCHEME = "token"
# How server-sent events are described: OpenAPI has no word for a stream of them.
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events, each `event: NAME` and `data: JSON`: `search` (a list "
        "of RankedTable), `joins` (a list of JoinDetail), `set` (a TableSetDetail), `end`; or "
        "`problem` (a Problem), which ends the stream.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
Text = Annotated[str, Query(min_length=1, max_length=4_000)]
Phrases = Annotated[
    tuple[Annotated[str, Field(max_length=LONGEST_PHRASE)], ...], Query(max_length=MOST_PHRASES)
]


questions, state = APIRouter(prefix="/api/v1"), APIRouter()


class Ask(BaseModel):
    """A question, and how it is asked."""

    question: str = Field(min_length=1, max_length=4_000, examples=["Who ordered what?"])
    breadth: float | None = Field(None, ge=0, le=1, description="0 few tables, 1 all that join.")
    selector: str | None = Field(None, max_length=100, description="graph, llm, auto …")
    k: int | None = Field(None, ge=1, le=100, description="How many candidates.")
    looking_for: list[Annotated[str, Field(max_length=LONGEST_PHRASE)]] = Field(
        default_factory=list,
        max_length=MOST_PHRASES,
        description="A phrase for each table that the question needs; eight are searched for.",
    )
    explain: bool = Field(default=False, description="Say what decided, where graph chose.")
    sources: list[str] | None = Field(None, max_length=100, description="These sources alone.")


class Given(BaseModel):
    """Tables that somebody names as the set for a question."""

    question: str = Field("", max_length=4_000)
    tables: list[str] = Field(min_length=1, max_length=50, examples=[["orders", "customers"]])


class Problem(BaseModel):
    """What went wrong (RFC 9457): `detail` says it in a line, with what to do."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str


class About(BaseModel):
    """What a page needs to know of the server: how questions are asked, and some to begin with.

    `confidence` are words for how sure something is, each from a bound on; `sources` are short
    names of the sources by their labels, and `billed` those that bill for queries, on which a page
    runs none by itself.
    """

    version: str
    language_model: bool
    notes_writable: bool
    breadth: float
    examples: list[str]
    confidence: list[tuple[float, str]]
    sources: dict[str, str]
    billed: list[str]


class Stats(BaseModel):
    """What the catalog holds."""

    tables: int
    sources: int
    columns: int
    rows: int
    families: int
    generation: int


def rest_app(
    live: LiveCatalog,
    access: Access,
    limits: RequestLimits | None = None,
    *,
    hosts: frozenset[str] = frozenset(),
    notes: bool = False,
    log: bool = True,
    asking: Asking | None = None,
) -> FastAPI:
    """The application; `access` says who may ask, `limits` how much, `notes` whether to write.

    `hosts` are the names that it answers to; without any, all are. `asking` answers questions.
    """
    from dovetail import __version__

    app = FastAPI(
        title="dovetail",
        version=__version__,
        description="Which few tables answer a question, and how they join.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation_id,
    )
    _describe(app)
    metrics = Metrics()
    metrics.generations.set_function(lambda: live.generations)
    app.state.live, app.state.asking, app.state.metrics = live, asking or Asking(live), metrics
    app.state.notes = notes and live.whole().reader.notes_file is not None
    _add_errors(app, live.folder)
    app.include_router(questions)
    app.include_router(query.router)
    app.include_router(browse.router)
    app.include_router(state)
    app.include_router(noting.router)
    add_page(app)
    app.add_middleware(
        Guarded,
        access=access,
        limits=limits or RequestLimits(),
        metrics=metrics,
        hosts=hosts,
        log=log,
    )
    return app


def _operation_id(route: APIRoute) -> str:
    """An operation is called as the function that does it."""
    return route.name


def _describe(app: FastAPI) -> None:
    """Have an application describe its problems and its token too."""

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            schema = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            _add_problems(schema)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign] # the way that FastAPI documents


def _add_problems(schema: dict[str, Any]) -> None:
    parts = schema["components"]
    for unused in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(unused, None)
    parts["schemas"]["Problem"] = Problem.model_json_schema()
    parts["securitySchemes"] = {_SCHEME: {"type": "http", "scheme": "bearer"}}
    body = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            operation["security"] = [] if path in OPEN else [{_SCHEME: []}]
            for status in _PROBLEMS:
                own = operation["responses"].get(str(status), {}).get("description")
                described = own or HTTPStatus(status).phrase
                operation["responses"][str(status)] = {"description": described, "content": body}


def _reply(request: Request, kind: str, asked: dict[str, Any]) -> Response:
    asking: Asking = request.app.state.asking
    body = asking.reply(kind, request.state.caller.tables, asked)
    return Response(body, media_type="application/json")


@questions.post("/ask", response_model=TableSetDetail)
def ask(request: Request, asked: Ask) -> Response:
    """The smallest set of tables that answers a question, and how they join."""
    return _reply(request, ASK, asked.model_dump())


@questions.post("/set", response_model=TableSetDetail)
def given_set(request: Request, given: Given) -> Response:
    """Tables that you name, as a set: how they join, a schema slice, SQL to start from."""
    return _reply(request, GIVEN, given.model_dump())


@questions.get("/ask/stages", response_class=StreamingResponse, responses=_EVENTS)
def ask_stages(request: Request, asked: Annotated[Ask, Query()]) -> StreamingResponse:
    """The same as server-sent events: `search`, `joins`, `set`, then `end`; or `problem`."""
    return StreamingResponse(_stages(request, asked), media_type="text/event-stream")


@questions.get("/search", response_model=list[RankedTable])
def search(
    request: Request,
    q: Text,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    looking_for: Phrases = (),
) -> Response:
    """Single tables by relevance; those found for phrases take turns with the question's."""
    return _reply(request, SEARCH, {"question": q, "k": limit, "looking_for": looking_for})


def _stages(request: Request, asked: Ask) -> Iterator[str]:
    """Candidates, how they join, and the set: each as soon as it is there."""
    try:
        wanted = asked.model_dump()
        parts = _reply(request, CANDIDATES, wanted | {"k": asked.k or _CANDIDATES}).body
        for name, part in json.loads(bytes(parts)).items():
            yield _event(name, json.dumps(part))
        yield _event("set", bytes(_reply(request, ASK, wanted).body).decode())
        yield _event("end", "{}")
    except DovetailError as error:
        folder = request.app.state.live.folder
        failed = problem(status_of(error), message_of(error, folder), "")
        yield _event("problem", json.dumps(failed))


@state.get("/api/v1/health")
def health(request: Request) -> dict[str, str]:
    """Whether the server answers; needs no token."""
    request.app.state.live.current()
    return {"status": "ok"}


@state.get("/api/v1/about")
def about(request: Request, catalog: Seen) -> About:
    """How questions are asked here, and some to begin with."""
    settings = catalog.settings
    return About(
        version=request.app.version,
        language_model=bool(settings.llm),
        notes_writable=may_write(request),
        breadth=settings.breadth,
        examples=examples(catalog),
        confidence=list(CONFIDENCE),
        sources=safe(catalog.reader.source_names),
        billed=safe(sorted(catalog.billed)),
    )


@state.get("/api/v1/stats")
def stats(catalog: Seen) -> Stats:
    """What the catalog holds, as far as the caller may see it."""
    return Stats(
        tables=len(catalog),
        sources=len({table.source for table in catalog.ids}),
        columns=len(catalog.reader.records.columns),
        rows=int(sum(catalog.reader.records.tables["rows"].to_pylist())),
        families=len(catalog.families()),
        generation=catalog.reader.manifest.generation,
    )


@state.get("/metrics", include_in_schema=False)
def measured(request: Request) -> Response:
    body = generate_latest(request.app.state.metrics.registry)
    return Response(body, media_type="text/plain; version=0.0.4")


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"


def _add_errors(app: FastAPI, folder: Path) -> None:
    def reply(request: Request, status: int, detail: str) -> JSONResponse:
        body = problem(status, detail, request.state.request_id)
        return JSONResponse(body, status, media_type="application/problem+json")

    @app.exception_handler(DovetailError)
    def ours(request: Request, error: DovetailError) -> JSONResponse:
        return reply(request, status_of(error), message_of(error, folder))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(map(str, first.get("loc", ())))
        return reply(request, 422, written_out(f"{where}: {first.get('msg', 'is not valid')}"))

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> JSONResponse:
        return reply(request, error.status_code, written_out(str(error.detail)))


def examples(catalog: Catalog) -> list[str]:
    """A few questions that the tables of a catalog can answer."""
    recorded = [written_out(one.question) for one in catalog.notes.answered[-_MANY:]]
    return [*recorded, *_suggested(catalog)][:_MANY]


def _suggested(catalog: Catalog) -> list[str]:
    """Questions over the surest joins, no table in two of them."""
    questions: list[str] = []
    used: set[str] = set()
    for edge in catalog.joins()[:_LOOKED_AT]:
        names = {edge.left.name, edge.right.name}
        if _fits(edge) and not names & used and len(questions) < _MANY:
            used |= names
            many, one = spelled(unqualified(edge.left.name)), spelled(unqualified(edge.right.name))
            questions.append(f"Which {one} have the most {many}?")
    return questions


def _fits(edge: JoinEdge) -> bool:
    """Whether a join makes a sentence: many rows to one, both tables called by words."""
    if edge.cardinality != "n:1" or edge.left == edge.right:
        return False
    return all(_PLAIN.fullmatch(unqualified(table.name)) for table in (edge.left, edge.right))
