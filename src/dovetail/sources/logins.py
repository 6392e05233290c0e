"""Logins in texts that users write: found wherever they stand, so that none is kept or shown."""

from __future__ import annotations

import re

# A text that is a server's address with a login, or holds a password, in any of the usual ways:
# a URL, one with a slash too few or too many, one inside of another (jdbc:), a connection string.
_LOGIN = re.compile(
    r"""
      [a-z][a-z0-9+.-]*:/+[^/?#]*@                # scheme://user:password@host
    | [^\s/@:=]+:[^\s@]*@[\w.\[-]                 # user:password@host
    | \b(?:postgres(?:ql)?|mysql|mariadb|jdbc|odbc|sqlserver|mssql|oracle|mongodb|redis)\b[\w+]*:
    | \bhttps?:[^?]*\?.*=                         # a page with parameters, which may sign it
    | \b(?:pass(?:word|wd)|pwd|sslpassword)\s*=
    | \b(?:host|hostaddr|server)\s*=.*\b(?:user|uid|dbname|database)\s*=
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
HIDDEN = "***"


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
