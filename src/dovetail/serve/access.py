"""Who may ask: tokens, kept as hashes, each with the tables that it may see."""

from __future__ import annotations

import hashlib
import hmac
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dovetail.errors import DovetailError, UsageError

VARIABLE = "DOVETAIL_TOKENS"
_HASH = re.compile(r"[0-9a-f]{64}")


class UnauthorizedError(DovetailError):
    """A request carries no token, or one that is not known."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a name for logs and limits, and the patterns of the tables to be seen.

    `notes` is whether notes may be written, where the server allows it at all.
    """

    name: str
    tables: tuple[str, ...] = ()
    notes: bool = True


@dataclass(frozen=True, slots=True)
class Access:
    """The callers by the SHA-256 of their tokens; without any, everybody may ask."""

    callers: Mapping[str, Caller]

    def caller(self, authorization: str | None, otherwise: str) -> Caller:
        """Who a request is from, by its Authorization header; `otherwise` names one without need.

        Hashes are compared in constant time, all of them.
        """
        if not self.callers:
            return Caller(otherwise)
        scheme, _, token = (authorization or "").partition(" ")
        given = hashlib.sha256(token.strip().encode("utf-8", "surrogateescape")).hexdigest()
        found = [who for known, who in self.callers.items() if hmac.compare_digest(known, given)]
        if scheme.lower() != "bearer" or not found:
            raise UnauthorizedError("give a token: Authorization: Bearer TOKEN")
        return found[0]


def read_access(file: Path | None, environ: Mapping[str, str]) -> Access:
    """The tokens of a file, or of the variable DOVETAIL_TOKENS (`name=sha256,name=sha256`).

    A file is TOML: `[[tokens]]` with `name`, `sha256` and, if the token may not see every table,
    `tables`, a list of patterns; `notes = false` where it may write no notes.
    """
    if file is None:
        entries = [
            {"name": name.strip(), "sha256": digest.strip()}
            for name, _, digest in (
                part.partition("=") for part in environ.get(VARIABLE, "").split(",") if part.strip()
            )
        ]
        return Access(_callers(entries, VARIABLE))
    try:
        entries = tomllib.loads(file.read_text("utf-8")).get("tokens", [])
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is no TOML: {error}") from None
    if not entries:
        raise UsageError(f"{file} has no [[tokens]]; give each a name and a sha256")
    return Access(_callers(entries, str(file)))


def _callers(entries: object, where: str) -> dict[str, Caller]:
    callers: dict[str, Caller] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else [None], start=1):
        name = entry.get("name") if isinstance(entry, dict) else None
        digest = entry.get("sha256") if isinstance(entry, dict) else None
        tables = entry.get("tables", []) if isinstance(entry, dict) else None
        patterns = isinstance(tables, list) and all(isinstance(one, str) for one in tables)
        if not (isinstance(name, str) and name and isinstance(digest, str) and patterns):
            raise UsageError(f"{where}: token {number} needs a name and a sha256, tables is a list")
        if not _HASH.fullmatch(digest.lower()):
            raise UsageError(
                f"{where}: the sha256 of token {name!r} must be 64 hexadecimal digits: "
                "printf %s TOKEN | sha256sum"
            )
        notes = entry.get("notes", True) if isinstance(entry, dict) else True
        if not isinstance(notes, bool):
            raise UsageError(f"{where}: notes of token {name!r} is true or false")
        callers[digest.lower()] = Caller(name, tuple(tables or ()), notes)
    return callers
