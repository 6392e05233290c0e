"""Logins: where texts of users hold them, and which servers may be sent those of the environment.

A login in a text is found wherever it stands, so that none is kept or shown.

A catalog names servers and the environment variables that hold their logins. One that somebody
else made could name a server of theirs and any variable of ours. So naming a source (in a command,
a call or `dovetail.toml`) is remembered outside of every catalog, in the user's state folder, and a
login is taken from the environment only for a server and variables that were named so.
`DOVETAIL_TRUST`, a list of locations with commas between, does the same where no file can be kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from dovetail.errors import SourceError
from dovetail.ports import VARIABLE, SourceSpec
from dovetail.sources.warehouse_dialects import DIALECTS
from dovetail.state import keep, recall

# A text that is a server's address with a login, or holds a password, in any of the usual ways:
# a URL, one with a slash too few or too many, one inside of another (jdbc:), a connection string.
# What is read once is not gone back over: a text may be long, and somebody else's.
_LOGIN = re.compile(
    r"""
      (?<![a-z0-9+.-])[0-9+.-]*+[a-z][a-z0-9+.-]*+:/+[^/?#]*@    # scheme://user:password@host
    | (?<![^\s@])(?>[^\s@]*?[^\s/@:=]:)[^\s@]*+@[\w.\[-]        # user:password@host
    | \b(?:postgres(?:ql)?|mysql|mariadb|jdbc|odbc|sqlserver|mssql|oracle|mongodb|redis)\b
      [\w+]{0,99}:
    | \A(?>.*?\bhttps?:)[^?]*+\?.*=                # a page with parameters, which may sign it
    | \b(?:pass(?:word|wd)|pwd|sslpassword)\s*+=
    | \A(?>.*?\b(?:host|hostaddr|server)\s*+=).*\b(?:user|uid|dbname|database)\s*+=
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
HIDDEN = "***"
# Where the clients of a server look for a login that the URL leaves out; of a bucket's by the words
# that DuckDB has for them.
LOGIN_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "postgresql": {"user": "PGUSER", "password": "PGPASSWORD"},
    "mysql": {"user": "MYSQL_USER", "password": "MYSQL_PWD"},
    "s3": {
        "KEY_ID": "AWS_ACCESS_KEY_ID",
        "SECRET": "AWS_SECRET_ACCESS_KEY",
        "SESSION_TOKEN": "AWS_SESSION_TOKEN",
    },
    "gs": {"KEY_ID": "GCS_ACCESS_KEY_ID", "SECRET": "GCS_SECRET_ACCESS_KEY"},
    "az": {
        "CONNECTION_STRING": "AZURE_STORAGE_CONNECTION_STRING",
        "ACCOUNT_NAME": "AZURE_STORAGE_ACCOUNT",
    },
    **{kind: dialect.login for kind, dialect in DIALECTS.items()},
}
_LIST = "DOVETAIL_TRUST"
_FILE = "named_sources.json"

# What was named in this process, should the file not be writable.
_named: dict[str, set[str]] = {}


def holds_login(text: str) -> bool:
    """Whether a text looks like an address with a login, or like a password's place.

    >>> [holds_login(text) for text in ("jdbc:postgresql://h/erp", "host=h user=ann dbname=x")]
    [True, True]
    >>> [holds_login(text) for text in ("exports/*.csv", "/data/a=b.db", "C:/data/erp.db")]
    [False, False, False]
    """
    return _LOGIN.search(text) is not None


def without_login(text: str) -> str:
    """A text to show: as it is, or hidden where it may hold a login.

    >>> without_login("erp"), without_login("postgresql://ann:pw@h/erp")
    ('erp', '***')
    """
    return HIDDEN if holds_login(text) else text


def note_named(spec: SourceSpec) -> None:
    """Note that the user named a source: it may be sent the variables its URL leaves open."""
    if spec.kind != "path":
        _named.setdefault(spec.location, set()).update(_trusted(spec))


def remember(spec: SourceSpec) -> None:
    """Keep for later runs that the user named a source, once it was opened."""
    if spec.kind == "path":
        return
    variables, remembered = _trusted(spec), _remembered()
    if variables <= remembered.get(spec.location, set()):
        return
    remembered.setdefault(spec.location, set()).update(variables)
    keep(_FILE, {at: sorted(names) for at, names in remembered.items()})


def require_named(spec: SourceSpec) -> None:
    """Refuse a source that would be sent the environment's secrets, unless it was named here."""
    if spec.kind == "path":
        return
    asked = {name for name in _variables(spec) if name in os.environ}
    if not asked or spec.location in os.environ.get(_LIST, "").split(","):
        return
    missing = asked - _named.get(spec.location, set())
    missing -= _remembered().get(spec.location, set()) if missing else set()
    if missing:
        raise SourceError(
            f"the catalog would send {' and '.join(sorted(missing))} of the environment to "
            f"{spec.location}, which was not named here; if that is meant, name the source again "
            "with dovetail index"
        )


def _variables(spec: SourceSpec) -> set[str]:
    """The variables that a login comes from: those the URL names, and those it leaves it to."""
    usual = LOGIN_VARIABLES.get(spec.kind, {})
    return _explicit(spec) | {name for key, name in usual.items() if key not in spec.credentials}


def _trusted(spec: SourceSpec) -> set[str]:
    """The variables that whoever names a source lets it have: a password in the URL is not kept, so
    later runs take that of the environment."""
    return _explicit(spec) | set(LOGIN_VARIABLES.get(spec.kind, {}).values())


def _explicit(spec: SourceSpec) -> set[str]:
    return {name for text in spec.credentials.values() for name in VARIABLE.findall(text)}


def _remembered() -> dict[str, set[str]]:
    try:
        return {at: {str(name) for name in names} for at, names in recall(_FILE).items()}
    except TypeError:  # somebody else wrote it
        return {}
