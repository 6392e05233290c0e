"""The OpenAPI description, for those who generate clients: operations by name, problems, the token.

FastAPI describes the routes; what every request passes before it meets one (`guarded.py`) it cannot
know: who may ask, and the problem that comes back where something is wrong (RFC 9457).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel

# What a request may meet, by status, and the path that needs no token.
_PROBLEMS = (400, 401, 403, 404, 413, 422, 429, 502, 503)
_OPEN = "/api/v1/health"
_SCHEME = "token"
# How server-sent events are described: OpenAPI has no word for a stream of them.
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events, each `event: NAME` and `data: JSON`: `search` (a list "
        "of RankedTable), `joins` (a list of JoinDetail), `set` (a TableSetDetail), `end`; or "
        "`problem` (a Problem), which ends the stream.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


class Problem(BaseModel):
    """What went wrong (RFC 9457): `detail` says it in a line, with what to do."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str


def operation_id(route: APIRoute) -> str:
    """An operation is called as the function that does it."""
    return route.name


def describe(app: FastAPI) -> None:
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
            operation["security"] = [] if path == _OPEN else [{_SCHEME: []}]
            for status in _PROBLEMS:
                told = operation["responses"].get(str(status), {}).get("description")
                described = told or HTTPStatus(status).phrase
                operation["responses"][str(status)] = {"description": described, "content": body}
