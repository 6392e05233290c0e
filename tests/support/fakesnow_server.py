"""fakesnow on a port, with what the driver misses from version 5 on in its reply to logins.

Run by the environment `.venv-fakesnow`, never by the tests' own.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import uvicorn
from fakesnow.server import app as fakesnow
from fakesnow.server import login_request
from starlette.requests import Request
from starlette.responses import JSONResponse


async def app(scope: Any, receive: Any, send: Any) -> None:
    """fakesnow, but for logins."""
    if scope["type"] != "http" or not scope["path"].endswith("/login-request"):
        await fakesnow(scope, receive, send)
        return
    reply = await login_request(Request(scope, receive))
    said = json.loads(reply.body)
    said["data"] |= {
        "masterToken": said["data"]["token"],
        "masterValidityInSeconds": 14_400,
        "validityInSeconds": 3_600,
        "sessionId": 1,
    }
    await JSONResponse(said)(scope, receive, send)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
