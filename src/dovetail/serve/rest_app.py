"""The REST interface: the catalog over HTTP, as JSON, with OpenAPI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

from dovetail.errors import (
    AmbiguousTableError,
    CatalogError,
    DovetailError,
    GuardError,
    MissingExtraError,
    ModelError,
    NotFoundError,
    QueryError,
    UsageError,
)

try:
    from fastapi import FastAPI, Query, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse, Response, StreamingResponse
    from prometheus_client import generate_latest
    from starlette.exceptions import HTTPException
except ImportError as missing:
    raise MissingExtraError("the REST server", "server") from missing

from dovetail.api.catalog import Catalog
from dovetail.domain import Table
from dovetail.serve.access import Access, Caller
from dovetail.serve.details import (
    FoundDetail,
    JoinDetail,
    TableDetail,
    found_detail,
    given_set,
    join_detail,
    joins_among,
    table_detail,
)
from dovetail.serve.examples import examples
from dovetail.serve.guarded import Guarded, Metrics, RequestLimits, problem
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.notes_paths import add_notes, may_write
from dovetail.serve.page_files import add_page
from dovetail.serve.pile import Piles, PileView
from dovetail.serve.rest_models import About, Answering, AnswerView, Ask, Given, Listed, Stats
from dovetail.serve.views import RankedView, answer_view, ranked_view, told_table
from dovetail.text import one_line

# What an error of ours is over HTTP, the first that fits.
_STATUS: tuple[tuple[type[DovetailError], int], ...] = (
    (AmbiguousTableError, 400), (UsageError, 400), (NotFoundError, 404), (GuardError, 422),
    (QueryError, 422), (ModelError, 502), (CatalogError, 503),
)  # fmt: skip
# Candidates of a search that nobody gave a number for: as many as `graph` looks at.
_CANDIDATES = 16
Text = Annotated[str, Query(min_length=1, max_length=4_000)]
Name = Annotated[str, Query(min_length=1, max_length=1_000)]


def rest_app(
    live: LiveCatalog,
    access: Access,
    limits: RequestLimits | None = None,
    *,
    hosts: frozenset[str] = frozenset(),
    notes: bool = False,
    log: bool = True,
) -> FastAPI:
    """The application; `access` says who may ask, `limits` how much, `notes` whether to write some.

    `hosts` are the names that it answers to; without any, all are.
    """
    from dovetail import __version__

    app = FastAPI(
        title="dovetail",
        version=__version__,
        description="Which few tables answer a question, and how they join.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    metrics = Metrics()
    metrics.generations.set_function(lambda: live.generations)
    _add_errors(app)
    _add_asking(app, live)
    _add_tables(app, live)
    _add_state(app, live, metrics)
    add_notes(app, live, writable=notes)
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


def _tables(catalog: Catalog, names: list[str] | None) -> list[Table] | None:
    return None if names is None else [told_table(catalog, name) for name in names]


def _add_asking(app: FastAPI, live: LiveCatalog) -> None:
    @app.post("/api/ask")
    def ask(request: Request, asked: Ask) -> FoundDetail:
        """The smallest set of tables that answers a question, and how they join."""
        catalog = _catalog(live, request)
        return found_detail(catalog, catalog.ask(**asked.model_dump()))

    @app.post("/api/set")
    def named(request: Request, given: Given) -> FoundDetail:
        """Tables that you name, as a set: how they join, a schema slice, SQL to start from."""
        return given_set(_catalog(live, request), given.question, given.tables)

    @app.get("/api/ask/stages")
    def stages(request: Request, asked: Annotated[Ask, Query()]) -> StreamingResponse:
        """The same as server-sent events: `search`, `joins`, `set`, then `end`; or `problem`."""
        catalog = _catalog(live, request)
        return StreamingResponse(_stages(catalog, asked), media_type="text/event-stream")

    @app.post("/api/answer")
    def answer(request: Request, wanted: Answering) -> AnswerView:
        """The rows of a query of yours, or of one that a model writes for a question."""
        catalog = _catalog(live, request)
        if (wanted.sql is None) == (wanted.question is None):
            raise UsageError("give either sql or question")
        done = (
            catalog.answer(str(wanted.question))
            if wanted.sql is None
            else catalog.sql(wanted.sql, _tables(catalog, wanted.tables))
        )
        return AnswerView(one_line(done.sql), answer_view(done, wanted.limit))

    @app.get("/api/search")
    def search(
        request: Request, q: Text, limit: Annotated[int, Query(ge=1, le=100)] = 10
    ) -> list[RankedView]:
        """Single tables by relevance."""
        return [ranked_view(one) for one in _catalog(live, request).search(q, limit)]


def _add_tables(app: FastAPI, live: LiveCatalog) -> None:
    @app.get("/api/tables")
    def tables(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        like: Annotated[str, Query(max_length=1_000)] = "",
    ) -> Listed:
        """The ids of the tables, in order; with `like`, of those whose id contains it."""
        wanted = like.strip().casefold()
        ids = [one_line(str(table)) for table in _catalog(live, request).ids]
        found = [one for one in ids if wanted in one.casefold()]
        return Listed(len(found), found[offset : offset + limit])

    @app.get("/api/tables/{table:path}")
    def table(request: Request, table: str) -> TableDetail:
        """A table with its columns, copies and partitions."""
        catalog = _catalog(live, request)
        return table_detail(catalog, told_table(catalog, table))

    @app.get("/api/joins")
    def joins(
        request: Request,
        table: Name | None = None,
        least: Annotated[float, Query(ge=0, le=1)] = 0.5,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    ) -> list[JoinDetail]:
        """The joins above a score, the surest first: of one table, or of all."""
        catalog = _catalog(live, request)
        at = None if table is None else told_table(catalog, table).id
        found = catalog.joins(at, least=least)
        return [join_detail(edge) for edge in found[:limit]]

    @app.get("/api/path")
    def path(request: Request, start: Name, end: Name) -> list[JoinDetail]:
        """The surest chain of joins from one table to another; empty where there is none."""
        catalog = _catalog(live, request)
        first, last = (told_table(catalog, name).id for name in (start, end))
        return [join_detail(edge) for edge in catalog.path(first, last)]

    piles = Piles()

    @app.get("/api/pile")
    def pile(request: Request) -> PileView:
        """The whole join graph as a drawing: families folded, every table with its place."""
        return piles.of(_catalog(live, request))

    @app.get("/api/families")
    def families(
        request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000
    ) -> list[dict[str, Any]]:
        """Tables that are one logical table: copies, partitions, histories, views."""
        return _catalog(live, request).families().to_list()[:limit]


def _add_state(app: FastAPI, live: LiveCatalog, metrics: Metrics) -> None:
    @app.get("/api/health")
    def health() -> dict[str, str]:
        """Whether the server answers; needs no token."""
        live.current()
        return {"status": "ok"}

    @app.get("/api/about")
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
        )

    @app.get("/api/stats")
    def stats(request: Request) -> Stats:
        """What the catalog holds, as far as the caller may see it."""
        catalog = _catalog(live, request)
        return Stats(
            tables=len(catalog),
            sources=len({table.source for table in catalog.ids}),
            columns=len(catalog.records.columns),
            rows=int(sum(catalog.records.tables["rows"].to_pylist())),
            families=len(catalog.families()),
            generation=catalog.manifest.generation,
        )

    @app.get("/metrics", include_in_schema=False)
    def measured() -> Response:
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")


def _stages(catalog: Catalog, asked: Ask) -> Iterator[str]:
    """Candidates, how they join, and the set: each as soon as it is there."""
    try:
        candidates = catalog.search(asked.question, asked.k or _CANDIDATES)
        yield _event("search", [asdict(ranked_view(one)) for one in candidates])
        joins = joins_among(catalog, (one.id for one in candidates))
        yield _event("joins", [asdict(join) for join in joins])
        yield _event("set", asdict(found_detail(catalog, catalog.ask(**asked.model_dump()))))
        yield _event("end", {})
    except DovetailError as error:
        yield _event("problem", problem(_status(error), _told(error, catalog), ""))


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _add_errors(app: FastAPI) -> None:
    def reply(request: Request, status: int, detail: str) -> JSONResponse:
        body = problem(status, detail, request.state.request_id)
        return JSONResponse(body, status, media_type="application/problem+json")

    @app.exception_handler(DovetailError)
    def ours(request: Request, error: DovetailError) -> JSONResponse:
        return reply(request, _status(error), _told(error, None))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(map(str, first.get("loc", ())))
        return reply(request, 422, one_line(f"{where}: {first.get('msg', 'is not valid')}"))

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> JSONResponse:
        return reply(request, error.status_code, one_line(str(error.detail)))


def _status(error: DovetailError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def _told(error: DovetailError, catalog: Catalog | None) -> str:
    text = str(error)
    return one_line(text.replace(str(catalog.folder), "the catalog") if catalog else text)
