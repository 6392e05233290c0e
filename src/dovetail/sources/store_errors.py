"""What a store or web server said when it refused: one line with a remedy, and without a secret."""

from __future__ import annotations

import re
from urllib.parse import unquote

from dovetail.sources import duck
from dovetail.sources.logins import HIDDEN
from dovetail.sources.store_login import STORES

# What errors of stores say, in the order in which they are looked for, and what it means.
_SAID = {
    "NoSuchBucket|ContainerNotFound|specified container does not exist": (
        "there is no such bucket; check its name"
    ),
    "ExpiredToken|TokenExpired|[Tt]oken (?:has |is )?expired": (
        "its session token has expired; get a new login and set {variables} again"
    ),
    "InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed|InvalidToken|NoAuthentication": (
        "the store does not accept the login; check {variables}"
    ),
    "AccessDenied|AuthorizationPermissionMismatch|HTTP 40[13]|40[13] Forbidden": (
        "the login may not read it; allow it to list and to read, or set another in {variables}"
    ),
    "HTTP 301|PermanentRedirect|AuthorizationHeaderMalformed|configured region": (
        "the bucket is in another region; set AWS_REGION"
    ),
    "SlowDown|HTTP 503|503 Service Unavailable|ServerBusy": (
        "the store has too much to do; index again later"
    ),
}
_GONE = re.compile("NoSuchKey|BlobNotFound|HTTP 404|404 Not Found|FileNotFound|No such file")
_FILE = re.compile(r"(?:reading|on|file:?|for path) '?([^\s']+)'?")
_STATUS = re.compile(r"HTTP (\d{3})")
# Everything after the ? of a URL may be a signature.
_QUERY = re.compile(r"(https?://[^\s'\"?]*)\?[^\s'\"]*")
_SIGNED = (
    "if its URL is signed, name it again as ?${NAME}, with what follows the ? in that variable: "
    "it is not kept"
)


def complaint(kind: str, message: str, *, secret: str = "") -> str:
    """One line of what the engine says of files in a store, or behind a URL with a `secret`."""
    store = STORES.get(kind)
    shown = _QUERY.sub(r"\1", message)
    for written in filter(None, (secret, unquote(secret))):
        shown = shown.replace(written, HIDDEN)
    if store is None:
        return _of_a_server(shown)
    for sign, meaning in _SAID.items():
        if re.search(sign, shown):
            return meaning.format(variables=store.variables)
    if _GONE.search(shown):
        named = _FILE.search(shown)
        file = named[1] if named else "a file"
        return f"{file} is not there; if it was removed meanwhile, index again"
    return duck.one_line(shown)


def _of_a_server(message: str) -> str:
    if "HTTP" not in message:
        return duck.one_line(message)
    status = _STATUS.search(message)
    code = f" (HTTP {status[1]})" if status else ""
    if status and status[1] == "404":
        return f"the server has no such file{code}; check the URL"
    return f"the server does not let it be read{code}; {_SIGNED}"
