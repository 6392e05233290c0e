"""Generated requests over the whole OpenAPI schema: no reply is a server error, all fit it."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from dovetail.serve.guarded import Access, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app


@pytest.fixture(scope="module")
def described(live: LiveCatalog) -> schemathesis.BaseSchema:
    limits = RequestLimits(per_minute=1_000_000)
    app = rest_app(live, Access({}), limits, log=False)
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)


SETTINGS = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_no_request_is_a_server_error(described: schemathesis.BaseSchema) -> None:
    tried = set()
    found: list[Any] = list(described.get_all_operations())
    for operation in (one.ok() for one in found):
        tried.add(operation.path)

        @SETTINGS
        @given(case=operation.as_strategy())
        def answered(case: Any) -> None:
            reply = case.call()
            assert reply.status_code < 500, reply.text
            if reply.status_code >= 400:
                assert reply.headers["content-type"] == ["application/problem+json"]
                assert reply.json()["status"] == reply.status_code

        answered()
    assert len(tried) == 22
