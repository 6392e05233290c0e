"""Every error dovetail raises on purpose.

    DovetailError
    ├── UsageError          an option or a name that cannot mean anything        (exit code 2)
    │   ├── AmbiguousTableError   a name that several tables have; also a KeyError
    │   └── MissingModelError     a language model is needed and none is set
    ├── NotFoundError       a table or catalog that is not there                 (exit code 1)
    │   ├── TableNotFoundError    no table has this name; also a KeyError
    │   └── ColumnNotFoundError   the table has no column of this name; also a KeyError
    ├── CatalogError        a catalog that cannot be opened or written
    │   ├── LockedError     another process is writing it
    │   ├── DamagedError    its files do not fit its manifest
    │   └── VersionError    written by a dovetail with another format
    ├── SourceError         a source or one of its tables cannot be read
    │   ├── RescanError     it can, but another way: scan the table again
    │   └── PartlyDeclaredError   some of what is declared of its tables is refused
    ├── ModelError          an embedder or LLM cannot be loaded, reached or understood
    │   ├── RefusedError    an endpoint does not take a request as it stands
    │   ├── EmbedderError   an embedder cannot be opened or asked: search can do without it
    │   └── PendingError    a reply that is still to be recorded
    ├── EngineError         the offline work cannot be run where it was asked to
    ├── GuardError          a query that may not run
    ├── QueryError          a query that was let run and failed
    │   └── LimitError      it needed more time or memory than it was given
    └── MissingExtraError   an optional dependency is not installed

A message is one line: what failed, on what, and the remedy. It never holds a credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class DovetailError(Exception):
    """Root of the tree.

    >>> import dovetail
    >>> try:
    ...     dovetail.open("nowhere")
    ... except dovetail.DovetailError as error:
    ...     print(type(error).__name__)
    NotFoundError
    """


class UsageError(DovetailError):
    """An option or a name that cannot mean anything."""


class NotFoundError(DovetailError):
    """A table or a catalog that is not there."""


class TableNotFoundError(NotFoundError, KeyError):
    """No table has this name. It is a KeyError as well, as `catalog[name]` is a lookup."""

    __str__ = Exception.__str__  # KeyError would quote the message


class ColumnNotFoundError(NotFoundError, KeyError):
    """The table has no column of this name. It is a KeyError as well."""

    __str__ = Exception.__str__


class AmbiguousTableError(UsageError, KeyError):
    """Several tables have this name; the message lists them. It is a KeyError as well."""

    __str__ = Exception.__str__


class MissingModelError(UsageError):
    """Something asks a language model, and none is set."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} asks a language model and none is set: pass llm=..., or set llm in "
            "dovetail.toml"
        )


class CatalogError(DovetailError):
    """A catalog that cannot be opened or written."""


class LockedError(CatalogError):
    """Another process is writing the catalog."""


class DamagedError(CatalogError):
    """The files of a catalog do not fit its manifest."""


class VersionError(CatalogError):
    """A catalog written in a format this dovetail does not read."""


class SourceError(DovetailError):
    """A source or one of its tables cannot be read."""


class RescanError(SourceError):
    """The source learnt while reading a table that it must read it another way: scan it again."""


class PartlyDeclaredError(SourceError):
    """A source refused to tell some of what is declared of its tables.

    `told` is the rest: by table, a `ports.Declaration`. `keys` and `comments` say of which of them
    something is missing.
    """

    def __init__(
        self, message: str, told: Mapping[str, Any], *, keys: bool, comments: bool
    ) -> None:
        super().__init__(message)
        self.told = told
        self.keys = keys
        self.comments = comments


class ModelError(DovetailError):
    """An embedder or a language model cannot be loaded, reached or understood."""


class RefusedError(ModelError):
    """An endpoint does not take a request as it stands: trying it again is of no use."""

    def __init__(self, message: str, *, status: int, said: str) -> None:
        super().__init__(message)
        self.status = status
        self.said = said


class EmbedderError(ModelError):
    """An embedder cannot be opened or asked; search can do without it, by words and values."""


class PendingError(ModelError):
    """A request was written down and has no recorded reply yet: count it, and go on."""


class EngineError(DovetailError):
    """The offline work cannot be run where it was asked to."""


class GuardError(DovetailError):
    """A query that may not run: it is not only reading, or reads what it was not given."""


class QueryError(DovetailError):
    """A query that was let run and failed."""


class LimitError(QueryError):
    """A query that needed more time or memory than it was given, or was called off."""


class MissingExtraError(DovetailError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'dovetail-tables[{extra}]'")
