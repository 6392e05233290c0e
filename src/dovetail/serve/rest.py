"""The REST interface: the catalog over HTTP, as JSON, with OpenAPI; and the page that shows it.

The page is plain files, served as they are in the package, to anybody: there is no data in them;
what it shows it asks the REST interface for, with the token of whoever looks at it. Nothing is
fetched from elsewhere, and no script runs that is not a file here.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from dovetail.errors import (
    DovetailError,
    MissingExtraError,
)

try:
    from fastapi import FastAPI, Query, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
    from prometheus_client import generate_latest
    from pydantic import BaseModel, Field
    from starlette.exceptions import HTTPException
except ImportError as missing:
    raise MissingExtraError("the REST server", "server") from missing

from dovetail.api.catalog import Catalog
from dovetail.domain import JoinEdge
from dovetail.names.table_name import unqualified
from dovetail.names.words import spelled
from dovetail.serve.asking import ASK, CANDIDATES, GIVEN, SEARCH, Asking, status_of
from dovetail.serve.browse import add_browsing
from dovetail.serve.bundle import PAGE, bundles
from dovetail.serve.guarded import (
    PAGE_PREFIX,
    Access,
    Caller,
    Guarded,
    Metrics,
    RequestLimits,
    problem,
)
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.notes import add_descriptions, add_notes, may_write
from dovetail.serve.openapi import EVENTS, describe, operation_id
from dovetail.serve.pile import Piles, PileView
from dovetail.serve.query import add_queries
from dovetail.serve.views import (
    LONGEST_PHRASE,
    MOST_PHRASES,
    JoinDetail,
    KeyDomainView,
    RankedTable,
    TableDetail,
    TableFamily,
    TableSetDetail,
    find_table,
    join,
    named,
    safe,
    told,
)
from dovetail.serve.views import table as table_detail
from dovetail.text import CONFIDENCE, one_line

# Candidates of a search that nobody gave a number for: as many as `graph` looks at.
_CANDIDATES = 16
# How many are told, how many joins are looked at, and what a name must be to stand in a sentence.
_MANY, _LOOKED_AT = 4, 200
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_]{2,39}")
Text = Annotated[str, Query(min_length=1, max_length=4_000)]
Name = Annotated[str, Query(min_length=1, max_length=1_000)]
Phrases = Annotated[
    tuple[Annotated[str, Field(max_length=LONGEST_PHRASE)], ...], Query(max_length=MOST_PHRASES)
]


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


class Listed(BaseModel):
    """Some of the tables, and how many there are."""

    total: int
    tables: list[str]


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
        generate_unique_id_function=operation_id,
    )
    describe(app)
    metrics = Metrics()
    metrics.generations.set_function(lambda: live.generations)
    _add_errors(app, live.folder)
    _add_asking(app, asking or Asking(live))
    add_queries(app, partial(_catalog, live))
    add_browsing(app, partial(_catalog, live))
    _add_tables(app, live)
    _add_joins(app, live)
    _add_state(app, live, metrics)
    add_notes(app, live, writable=notes)
    add_descriptions(app, live)
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


def _catalog(live: LiveCatalog, request: Request) -> Catalog:
    caller: Caller = request.state.caller
    return live.current(caller.tables)


def _add_asking(app: FastAPI, asking: Asking) -> None:
    def reply(request: Request, kind: str, asked: dict[str, Any]) -> Response:
        caller: Caller = request.state.caller
        body = asking.reply(kind, caller.tables, asked)
        return Response(body, media_type="application/json")

    @app.post("/api/v1/ask", response_model=TableSetDetail)
    def ask(request: Request, asked: Ask) -> Response:
        """The smallest set of tables that answers a question, and how they join."""
        return reply(request, ASK, asked.model_dump())

    @app.post("/api/v1/set", response_model=TableSetDetail)
    def given_set(request: Request, given: Given) -> Response:
        """Tables that you name, as a set: how they join, a schema slice, SQL to start from."""
        return reply(request, GIVEN, given.model_dump())

    @app.get("/api/v1/ask/stages", response_class=StreamingResponse, responses=EVENTS)
    def ask_stages(request: Request, asked: Annotated[Ask, Query()]) -> StreamingResponse:
        """The same as server-sent events: `search`, `joins`, `set`, then `end`; or `problem`."""
        stages = _stages(partial(reply, request), asked)
        return StreamingResponse(stages, media_type="text/event-stream")

    @app.get("/api/v1/search", response_model=list[RankedTable])
    def search(
        request: Request,
        q: Text,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        looking_for: Phrases = (),
    ) -> Response:
        """Single tables by relevance; those found for phrases take turns with the question's."""
        asked = {"question": q, "k": limit, "looking_for": looking_for}
        return reply(request, SEARCH, asked)

    def _stages(answer: Callable[[str, dict[str, Any]], Response], asked: Ask) -> Iterator[str]:
        """Candidates, how they join, and the set: each as soon as it is there."""
        try:
            wanted = asked.model_dump()
            found = answer(CANDIDATES, wanted | {"k": asked.k or _CANDIDATES}).body
            for name, part in json.loads(bytes(found)).items():
                yield _event(name, json.dumps(part))
            yield _event("set", bytes(answer(ASK, wanted).body).decode())
            yield _event("end", "{}")
        except DovetailError as error:
            told_of = problem(status_of(error), told(error, asking.folder), "")
            yield _event("problem", json.dumps(told_of))


def _add_tables(app: FastAPI, live: LiveCatalog) -> None:
    @app.get("/api/v1/tables")
    def list_tables(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        like: Annotated[str, Query(max_length=1_000)] = "",
    ) -> Listed:
        """The ids of the tables, in order; with `like`, of those whose id contains it."""
        wanted = like.strip().casefold()
        ids = [one_line(str(table)) for table in _catalog(live, request).ids]
        found = [one for one in ids if wanted in one.casefold()]
        return Listed(total=len(found), tables=found[offset : offset + limit])

    @app.get("/api/v1/tables/{table:path}")
    def table(request: Request, table: str) -> TableDetail:
        """A table with its columns, copies and partitions."""
        return table_detail(_catalog(live, request), table, TableDetail)

    @app.get("/api/v1/families")
    def families(
        request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000
    ) -> list[TableFamily]:
        """Tables that are one logical table: copies, partitions, histories, views."""
        catalog = _catalog(live, request)
        listed = named(catalog, catalog.families().to_list()[:limit])
        return [TableFamily.model_validate(one) for one in listed]


def _add_joins(app: FastAPI, live: LiveCatalog) -> None:
    @app.get("/api/v1/joins")
    def joins(
        request: Request,
        table: Name | None = None,
        least: Annotated[float, Query(ge=0, le=1)] = 0.5,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    ) -> list[JoinDetail]:
        """The joins above a score, the surest first: of one table, or of all."""
        catalog = _catalog(live, request)
        at = None if table is None else find_table(catalog, table).id
        found = catalog.joins(at, least=least)
        return [join(edge, JoinDetail) for edge in found[:limit]]

    @app.get("/api/v1/domains")
    def domains(
        request: Request,
        table: Name | None = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    ) -> list[KeyDomainView]:
        """Which columns hold the same identifiers, where these are made, and what matches none."""
        catalog = _catalog(live, request)
        at = None if table is None else find_table(catalog, table).id
        found = catalog.domains(at)[:limit]
        return [KeyDomainView.model_validate(safe(domain.to_dict())) for domain in found]

    @app.get("/api/v1/path")
    def path(request: Request, start: Name, end: Name) -> list[JoinDetail]:
        """The surest chain of joins from one table to another; empty where there is none."""
        catalog = _catalog(live, request)
        first, last = (find_table(catalog, name).id for name in (start, end))
        return [join(edge, JoinDetail) for edge in catalog.path(first, last)]

    piles = Piles()

    @app.get("/api/v1/pile")
    def pile(request: Request) -> PileView:
        """The whole join graph as a drawing: families folded, every table with its place."""
        return piles.of(_catalog(live, request))


def _add_state(app: FastAPI, live: LiveCatalog, metrics: Metrics) -> None:
    @app.get("/api/v1/health")
    def health() -> dict[str, str]:
        """Whether the server answers; needs no token."""
        live.current()
        return {"status": "ok"}

    @app.get("/api/v1/about")
    def about(request: Request) -> About:
        """How questions are asked here, and some to begin with."""
        catalog = _catalog(live, request)
        settings = catalog.settings
        return About(
            version=app.version,
            language_model=bool(settings.llm),
            notes_writable=may_write(request),
            breadth=settings.breadth,
            examples=examples(catalog),
            confidence=list(CONFIDENCE),
            sources=safe(catalog.reader.source_names),
            billed=safe(sorted(catalog.billed)),
        )

    @app.get("/api/v1/stats")
    def stats(request: Request) -> Stats:
        """What the catalog holds, as far as the caller may see it."""
        catalog = _catalog(live, request)
        return Stats(
            tables=len(catalog),
            sources=len({table.source for table in catalog.ids}),
            columns=len(catalog.reader.records.columns),
            rows=int(sum(catalog.reader.records.tables["rows"].to_pylist())),
            families=len(catalog.families()),
            generation=catalog.reader.manifest.generation,
        )

    @app.get("/metrics", include_in_schema=False)
    def measured() -> Response:
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"


def _add_errors(app: FastAPI, folder: Path) -> None:
    def reply(request: Request, status: int, detail: str) -> JSONResponse:
        body = problem(status, detail, request.state.request_id)
        return JSONResponse(body, status, media_type="application/problem+json")

    @app.exception_handler(DovetailError)
    def ours(request: Request, error: DovetailError) -> JSONResponse:
        return reply(request, status_of(error), told(error, folder))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(map(str, first.get("loc", ())))
        return reply(request, 422, one_line(f"{where}: {first.get('msg', 'is not valid')}"))

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> JSONResponse:
        return reply(request, error.status_code, one_line(str(error.detail)))


def add_page(app: FastAPI) -> None:
    """Serve the page at `/`, its script and its style in one file each, and its icon."""

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @app.get(PAGE_PREFIX + "{name}", include_in_schema=False)
    def file(request: Request, name: str) -> Response:
        if name == "icon.svg":
            return FileResponse(PAGE / name)
        if (bundle := bundles().get(name)) is None:
            raise HTTPException(404)
        headers = {"etag": bundle.etag, "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == bundle.etag:
            return Response(status_code=304, headers=headers)
        packed = "gzip" in request.headers.get("accept-encoding", "")
        body = bundle.body if packed else gzip.decompress(bundle.body)
        headers |= {"content-encoding": "gzip"} if packed else {}
        return Response(body, media_type=bundle.media_type, headers=headers)


def examples(catalog: Catalog) -> list[str]:
    """A few questions that the tables of a catalog can answer."""
    recorded = [one_line(one.question) for one in catalog.notes.answered[-_MANY:]]
    return [*recorded, *_suggested(catalog)][:_MANY]


def _suggested(catalog: Catalog) -> list[str]:
    """Questions over the surest joins, no table in two of them."""
    found: list[str] = []
    used: set[str] = set()
    for edge in catalog.joins()[:_LOOKED_AT]:
        names = {edge.left.name, edge.right.name}
        if _fits(edge) and not names & used and len(found) < _MANY:
            used |= names
            many, one = spelled(unqualified(edge.left.name)), spelled(unqualified(edge.right.name))
            found.append(f"Which {one} have the most {many}?")
    return found


def _fits(edge: JoinEdge) -> bool:
    """Whether a join makes a sentence: many rows to one, both tables called by words."""
    if edge.cardinality != "n:1" or edge.left == edge.right:
        return False
    return all(_PLAIN.fullmatch(unqualified(table.name)) for table in (edge.left, edge.right))
