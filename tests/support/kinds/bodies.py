"""Requests that hold places: bodies that never end, odd hosts and lengths."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.serve.guarded import Access, Caller, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from tests.support.kinds.access import HASH, pile
from tests.support.kinds.case import PLAIN, Case, Draw, Kind


def places(folder: Path) -> Kind:
    """Bodies that stop, drip, never end or are too long, odd hosts and lengths: the one place that
    there is is free again, and the next caller is answered."""
    limits = RequestLimits(per_minute=10**9, at_once=1, body=2_000, body_seconds=0.03)
    live = LiveCatalog(pile(folder), PLAIN)
    app = rest_app(live, Access({HASH: Caller("a")}), limits, log=False)
    paths = ("/api/v1/ask", "/api/v1/set", "/api/v1/answer", "/api/v1/notes", "/api/v1/query")

    async def reply(
        path: str, method: str, body: Sequence[dict[str, Any]], headers: list[tuple[bytes, bytes]]
    ) -> tuple[int, bytes]:
        sent: list[Any] = []
        left = list(body)

        async def receive() -> dict[str, Any]:
            if not left:
                await asyncio.Event().wait()
            return left.pop(0) if left[0].get("more_body") != "endless" else {
                "type": "http.request", "body": b" ", "more_body": True}  # fmt: skip

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "root_path": "",
            "raw_path": path.encode(), "query_string": b"", "scheme": "http",
            "headers": [(b"authorization", b"Bearer token"), *headers],
            "client": ("1.2.3.4", 5), "server": ("x", 80),
        }  # fmt: skip
        await app(scope, receive, send)
        status = next((one["status"] for one in sent if "status" in one), 0)
        return status, b"".join(one.get("body", b"") for one in sent)

    def case(draw: Draw) -> Case:
        part: dict[str, Any] = {"type": "http.request", "more_body": True}
        chunks = [
            part | {"body": os.urandom(draw.randrange(900))} for _ in range(draw.randrange(5))
        ]
        ends: list[list[dict[str, Any]]] = [
            [], [{"type": "http.disconnect"}], [part | {"body": b"", "more_body": "endless"}],
            [part | {"body": b"{}", "more_body": False}],
            [part | {"body": b"[" * 1_900, "more_body": False}],
        ]  # fmt: skip
        end = draw.choice(ends)
        host = draw.choice([b"x", b"[", b"[::1", b"a]b[", b"\xff", b"a:b:c", b"", b"[v1.a]", b"@"])
        length = draw.choice([b"", b"0", b"-1", b"9" * 5_000, b"1e9", b"\xd9\xa3", b"10"])
        headers = [(b"host", host), *([(b"content-length", length)] if length else [])]
        headers += [(b"content-type", draw.choice([b"application/json", b"text/plain", b"\xff"]))]

        async def both() -> tuple[tuple[int, bytes], tuple[int, bytes]]:
            attacked = await reply(draw.choice(paths), "POST", [*chunks, *end], headers)
            return attacked, await reply("/api/v1/stats", "GET", [], [(b"host", b"x")])

        try:
            (status, said), (then, _) = asyncio.run(asyncio.wait_for(both(), 60))
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            return "traceback", f"{end} {headers}: {error!r}"
        gone = end == [{"type": "http.disconnect"}]
        fine = then == 200 and b"Traceback" not in said and (gone or 200 <= status < 500)
        return f"answered with {status}", "" if fine else f"{end} {headers}: {status}, then {then}"

    return case
