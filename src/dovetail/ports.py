"""The seams: what a part must do to take another's place. As small as they can be."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dovetail.domain import NO_KEYS, DeclaredKeys, TableSet

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

Json = dict[str, Any]

# How a credential may be left to the environment: `${NAME}`.
VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where tables come from, and which of them are wanted.

    `label` is the source's part of every `TableId`; `root` is the label of what the user named
    (a folder, when this is one database in it). `credentials` stay in memory: `stored` leaves out
    all but the user, and nothing else writes a spec down. `seconds` is how long a server may take
    over one statement, if that is bounded. `options` say how a warehouse is read (`sample`,
    `max_scan_bytes`), or CSV files (`encoding`, `header`), where that was told.
    """

    label: str
    kind: str
    location: str
    root: str
    views: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float | None = None
    options: Mapping[str, int | str] = field(default_factory=dict)

    def wants(self, table: str) -> bool:
        """Whether the include and exclude patterns let a table through.

        A pattern is held against the name, or if it has a `::`, against `source::name`.

        >>> spec = SourceSpec("s", "sqlite", "s", "s", exclude=("tmp_*", "s::log"))
        >>> spec.wants("tmp_1"), spec.wants("log"), spec.wants("orders")
        (False, False, True)
        """

        def any_of(patterns: tuple[str, ...]) -> bool:
            names = ((f"{self.label}::{table}" if "::" in p else table, p) for p in patterns)
            return any(fnmatchcase(name, pattern) for name, pattern in names)

        return (not self.include or any_of(self.include)) and not any_of(self.exclude)

    def to_json(self) -> Json:
        """Everything, credentials included: for the pipe to a worker, never for a file."""
        return {**self.stored(), "credentials": dict(self.credentials)}

    def stored(self) -> Json:
        """What the catalog may keep: of credentials the user, and the names of variables."""
        kept = {
            key: text
            for key, text in self.credentials.items()
            if key == "user" or VARIABLE.fullmatch(text)
        }
        return {
            "credentials": kept,
            "label": self.label,
            "kind": self.kind,
            "location": self.location,
            "root": self.root,
            "views": self.views,
            "include": list(self.include),
            "exclude": list(self.exclude),
            **({"options": dict(self.options)} if self.options else {}),
        }

    @classmethod
    def from_json(cls, data: Json) -> SourceSpec:
        patterns = {key: tuple(data[key]) for key in ("include", "exclude")}
        return cls(**{**data, **patterns})


@dataclass(frozen=True, slots=True)
class Listing:
    """A table a source holds: its name for us, and the source's own word for where it is.

    `weight` is about how many bytes reading it will take. `apart` says that its bytes might end
    the process that reads them, so that it is read in one of its own.
    """

    name: str
    place: str
    weight: int
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a source says of a table beside its rows: declared keys, comments on it and columns."""

    keys: DeclaredKeys = NO_KEYS
    comment: str = ""
    column_comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A table's state in its source.

    `token` is whatever the source needs to recognise the state again; `unchanged` says that the
    source vouches for the contents being those of the previous token.
    """

    token: str
    unchanged: bool


@dataclass(frozen=True, slots=True)
class ScannedColumn:
    """A column as it is streamed; `untyped` values are text whose kind is for us to find out."""

    name: str
    type: str
    untyped: bool = False


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """What a source computed of a column: the share of NULLs, distinct values, and the ends."""

    null_share: float
    distinct: int
    minimum: str | None
    maximum: str | None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """What a source computed of a table of which it gives out some rows: all rows, by column."""

    rows: int
    columns: tuple[ColumnStatistics, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """A table being read: its columns, and batches whose columns stand in the same order.

    `left_out` maps parts of the table that cannot be read to the reason; the rest is read. Where
    the batches are a sample of the rows, `statistics` are of the whole table.
    """

    columns: tuple[ScannedColumn, ...]
    batches: Iterator[pa.RecordBatch]
    left_out: Mapping[str, str] = field(default_factory=dict)
    statistics: TableStatistics | None = None


class Source(Protocol):
    """A place that holds tables. It is only ever read."""

    def tables(self) -> Sequence[Listing]:
        """What is there, by name."""

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """The state of a table; cheap, wherever the source can tell without reading it all."""

    def scan(self, table: Listing) -> Scan:
        """Stream a table."""

    def close(self) -> None:
        """Let go of files and connections."""


@runtime_checkable
class DeclaringSource(Source, Protocol):
    """A source that knows more of its tables than their rows; a source need not be one."""

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        """What is declared and said of tables, by name, in one look at the source.

        A table that is missing in the answer has neither keys nor comments. Foreign keys name
        tables as they are listed.
        """


@runtime_checkable
class BatchingSource(Source, Protocol):
    """A source that answers for many tables in one round trip; a source need not be one."""

    def expect(self, tables: Sequence[Listing], tokens: Mapping[str, str], *, rows: bool) -> None:
        """Be told which tables come next, in this order.

        Their fingerprints will be asked for, compared with `tokens` (by the tables' names) where
        there is one; with `rows` each is followed by a scan. What is said of a table may then be of
        any moment since, but never a row older than its fingerprint.
        """


@runtime_checkable
class ConnectedSource(Source, Protocol):
    """A source whose connection may break, and that can tell; a source need not be one."""

    def answers(self) -> bool:
        """Whether it can still be read from, after a table could not be."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A job that is done (`result`), or was lost with its worker (`lost` says how)."""

    job: int
    result: Json
    lost: str = ""


Tick = Callable[[Json], None]


Replies = Generator[Reply, None, None]


class Engine(Protocol):
    """Runs offline work: on this machine, or on a cluster."""

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        """Do every job, in any order.

        `task` names a function, `package.module:function`, called as `task(job, folder, tick)`;
        what it writes into `folder` is found below `into/<number of the job>` when its reply
        arrives. `tick` may be called with news of jobs in progress. Closing the generator ends
        the work.
        """


@runtime_checkable
class ConnectedEngine(Engine, Protocol):
    """An engine that connects to a cluster; an engine need not be one."""

    def connected(self) -> AbstractContextManager[None]:
        """Stay connected between calls of `map`, from the first one until the context ends."""


class Embedder(Protocol):
    """Turns texts into vectors of length one, so that a product of two is their cosine."""

    @property
    def model_id(self) -> str:
        """Names model and weights: vectors of two embedders compare only if this is equal."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row per text, for what is searched."""

    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row per text, for what is searched by."""


@runtime_checkable
class PartsEmbedder(Protocol):
    """An embedder that embeds several parts of many texts at once."""

    def embed_parts(
        self, parts: Sequence[Sequence[str]]
    ) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        """The number of each part with the vectors of its texts, in any order."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; `role` is system, user or assistant."""

    role: str
    content: str


def _keep_nothing() -> None:
    """There is no cache to take a reply out of."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote, and what it cost when it was written (also if read from a cache).

    `truncated`: it ends where the model was allowed no more tokens. Who cannot use a reply calls
    `forget`, so that it is asked for again and not read from a cache.
    """

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float
    cached: bool = False
    truncated: bool = False
    forget: Callable[[], None] = field(default=_keep_nothing, compare=False, repr=False)


class LLM(Protocol):
    """A language model that answers; always at temperature 0."""

    @property
    def model_id(self) -> str:
        """Names the model: replies are cached by it."""

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        """Answer a conversation; `schema` asks for JSON of that shape where the model can."""


class Retriever(Protocol):
    """Finds the tables a question needs. It sees a string, so nothing else can leak in."""

    def retrieve(self, question: str) -> TableSet:
        """The set, in order, with the joins that connect it and why each table is in it."""
