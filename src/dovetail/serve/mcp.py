"""The Model Context Protocol: an agent finds tables, looks at them, joins them and runs SQL.

Every tool only reads, but for those that describe tables and write notes, where that is allowed.
An error is one line that says what to do: a name that is not there comes
back with those that are near, SQL that may not run with the reason.
"""

from __future__ import annotations

import inspect
import json
import re
import threading
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from dovetail.api.catalog import Catalog
from dovetail.api.noting import write_note
from dovetail.called_off import CALLED_OFF
from dovetail.errors import DovetailError, MissingExtraError, UsageError
from dovetail.prompts import read_prompt
from dovetail.serve import is_this_machine, told_by
from dovetail.serve.descriptions import (
    MOST_DESCRIBED,
    Descriptions,
    SavedWords,
    ToDescribe,
    may_describe,
    save,
    to_describe,
)
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.views import (
    LONGEST_PHRASE,
    MOST_PHRASES,
    FoundTables,
    JoinBrief,
    Rows,
    TableBrief,
    answer_rows,
    find_table,
    found_tables,
    join,
    message_of,
    ranked,
    safe,
    sampled_rows,
)
from dovetail.serve.views import table as table_detail
from dovetail.text import one_line, sql_of_model

try:
    import anyio.to_thread
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
    from pydantic import BaseModel, Field
except ImportError as missing:
    raise MissingExtraError("the MCP server", "mcp") from missing

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer as Server

T = TypeVar("T")
# What an agent calls: a function of the catalog, whose other arguments the agent gives.
_Tool = Callable[..., BaseModel]
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_MOST_TABLES, _MOST_FOUND, _MOST_ROWS = 20, 50, 200
# Agents that are served over HTTP at once; one that asks nothing for half an hour is forgotten.
MOST_SESSIONS = 256
# What is made for a model to read, or SQL, in which a mark may be an operator.
_FOR_MODELS = ("ddl", "skeleton", "text")
# How sure the joins of a path are at least that is told where no surer one leads on.
_GUESS = 0.2

Section = Literal["joins", "tables", "terms", "about", "domains"]
_NOTE_KEY = "joins: 'orders.client = customers.id'; tables, about: a table; terms: a word."
_NOTE_VALUE = (
    "joins: pin or ban; tables: canonical, ignore or copy of TABLE; about: a remark; terms: "
    "what the word means, such as ': sales.region_cd'."
)
Question = Annotated[str, Field(description="A question in plain words.", max_length=4_000)]
LookingFor = Annotated[
    list[Annotated[str, Field(max_length=LONGEST_PHRASE)]],
    Field(
        max_length=MOST_PHRASES,
        description="One phrase for each table you expect, six at most: what a row of it stands "
        "for and the columns that matter, in the data's own words, language and abbreviations "
        "where you know them, such as ['orders: customer, date, status', 'customer segments'].",
    ),
]
TableName = Annotated[
    str,
    Field(
        description="A table: `source::name`, or a name that is unique.",
        max_length=1_000,
    ),
]


class Described(BaseModel):
    """Tables with their columns; `truncated` where more were asked for than are told."""

    tables: list[TableBrief]
    truncated: bool


class RankedBrief(BaseModel):
    """A table, and how relevant it is (0 to 1)."""

    id: str
    source_name: str
    relevance: float


class Ranked(BaseModel):
    """Tables by relevance, the most relevant first."""

    tables: list[RankedBrief]


class Noted(BaseModel):
    """A note that is kept; `doubts` are what the data has against it."""

    doubts: list[str]


class Path(BaseModel):
    """The joins that lead from one table to another, in order.

    Where `found` is false they are guesses, if there are any, and `columns` are those of the two.
    """

    found: bool
    joins: list[JoinBrief] = []
    columns: dict[str, list[str]] = {}


def mcp_server(live: LiveCatalog, *, notes: bool = False) -> Server:
    """The server over a catalog; run it by `run("stdio")` or `run("streamable-http")`.

    `notes` lets an agent describe tables and write notes, where it sees all of them.
    """
    from dovetail import __version__

    server = MCPServer(
        "dovetail",
        version=__version__,
        instructions=read_prompt("mcp_instructions").fill()[0].content,
        middleware=[_heard],
    )
    reads: list[_Tool] = [
        find_tables, search_tables, join_path, describe_tables, sample_rows, run_sql,
    ]  # fmt: skip
    writes: list[_Tool] = []
    if notes and may_describe(live.current()):
        reads.append(tables_to_describe)
        writes.append(save_descriptions)
        if live.whole().reader.notes_file is not None:
            writes.append(save_note)
    for tool in reads:
        _add_tool(server, live, tool, _READS)
    for tool in writes:
        _add_tool(server, live, tool, _WRITES)
    return server


async def _heard(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Have a call over HTTP end with its caller, who says nothing but hangs up."""
    if ctx.request is None:
        return await call_next(ctx)
    before = CALLED_OFF.set(told_by(ctx.request.is_disconnected))
    try:
        return await call_next(ctx)
    finally:
        CALLED_OFF.reset(before)


def _add_tool(server: Server, live: LiveCatalog, function: _Tool, about: ToolAnnotations) -> None:
    """Offer a function of the catalog as a tool that takes its other arguments; its docstring,
    without the blanks of its lines, says what for."""
    signature = inspect.signature(function, eval_str=True)
    _, *arguments = signature.parameters.values()
    result = Annotated[CallToolResult, signature.return_annotation]

    @wraps(function)
    async def tool(**given: Any) -> CallToolResult:
        return _short(await _on(live, lambda catalog: function(catalog, **given)))

    asked = signature.replace(parameters=arguments, return_annotation=result)
    tool.__signature__ = asked  # type: ignore[attr-defined] # what tells the arguments to a caller
    description = " ".join((function.__doc__ or "").split())
    server.tool(description=description, annotations=about)(tool)


def find_tables(
    catalog: Catalog,
    question: Question,
    looking_for: LookingFor = [],  # noqa: B006 - read alone
    breadth: Annotated[
        float | None,
        Field(ge=0, le=1, description="0 few tables, 1 all that hang together; 0.6 usually."),
    ] = None,
) -> FoundTables:
    """Find the smallest set of tables that answers a question, how they join, and a schema
    slice to write SQL over. Begin here. Say in looking_for which tables you expect, a phrase
    each: tables whose names share no word with the question are found by it. The other
    candidates come too, with columns, meanings, values and joins: choose among them yourself
    where you know better. Where nothing fits, the result says so."""
    return found_tables(catalog, catalog.ask(question, breadth=breadth, looking_for=looking_for))


def search_tables(
    catalog: Catalog,
    question: Question,
    looking_for: LookingFor = [],  # noqa: B006 - read alone
    limit: Annotated[int, Field(ge=1, le=_MOST_FOUND, description="How many.")] = 10,
) -> Ranked:
    """Rank single tables by how much they have to do with some words; what is found for the
    phrases of looking_for takes turns with that."""
    candidates = catalog.search(question, limit, looking_for=looking_for)
    return Ranked(tables=ranked(catalog, candidates, RankedBrief))


def join_path(catalog: Catalog, start: TableName, end: TableName) -> Path:
    """Find the surest chain of joins from one table to another."""
    ends = [find_table(catalog, name) for name in (start, end)]
    surest = catalog.path(ends[0].id, ends[1].id)
    edges = surest or catalog.path(ends[0].id, ends[1].id, least=_GUESS)
    columns = {
        str(table.id): [column.name for column in table.columns[:_MOST_FOUND]]
        for table in ([] if surest else ends)
    }
    listed = [join(edge, JoinBrief) for edge in edges]
    return Path(found=bool(surest), joins=listed, columns=columns)


def describe_tables(
    catalog: Catalog,
    tables: Annotated[list[TableName], Field(min_length=1, description="Which tables.")],
) -> Described:
    """Describe tables: columns with types, examples and uniqueness, copies and partitions."""
    shown = [table_detail(catalog, name, TableBrief) for name in tables[:_MOST_TABLES]]
    return Described(tables=shown, truncated=len(tables) > _MOST_TABLES)


def sample_rows(
    catalog: Catalog,
    table: TableName,
    limit: Annotated[int, Field(ge=1, le=100, description="How many rows.")] = 5,
) -> Rows:
    """Show a few sampled rows of a table."""
    return sampled_rows(find_table(catalog, table), limit)


def run_sql(
    catalog: Catalog,
    sql: Annotated[str, Field(description="One SELECT, DuckDB's dialect.", max_length=100_000)],
    tables: Annotated[
        list[TableName] | None,
        Field(description="The only tables it may read; all tables without this."),
    ] = None,
    limit: Annotated[int, Field(ge=1, le=_MOST_ROWS, description="Rows to return.")] = 50,
) -> Rows:
    """Run one query that only reads, over tables of any sources; call a table as CREATE TABLE
    in `ddl` does, or as `sql` of describe_tables."""
    given = None if tables is None else [find_table(catalog, name) for name in tables]
    return answer_rows(catalog.sql(sql_of_model(sql), given), limit)


def tables_to_describe(
    catalog: Catalog,
    limit: Annotated[int, Field(ge=1, le=MOST_DESCRIBED, description="How many.")] = 10,
) -> ToDescribe:
    """Show the next tables that nobody described yet: columns with values, comments, joins,
    neighbours. Describe them with save_descriptions, and go on until none is missing."""
    return to_describe(catalog, limit)


def save_descriptions(catalog: Catalog, descriptions: Descriptions) -> SavedWords:
    """Describe tables for everybody who asks later, each under its id. `description`: one
    sentence of at most 25 words on what a row stands for, in the words that people ask with,
    abbreviations spelled out; say if it is a copy, log or load area; of a table that stays
    unclear, what can be told. `columns`: what cryptic names mean; leave plain ones out."""
    return save(catalog, descriptions)


def save_note(
    catalog: Catalog,
    section: Annotated[Section, Field(description="What the note is about.")],
    key: Annotated[str, Field(min_length=1, max_length=1_000, description=_NOTE_KEY)],
    value: Annotated[str, Field(min_length=1, max_length=2_000, description=_NOTE_VALUE)],
) -> Noted:
    """Note what the data does not say, for everybody who asks later: a join that holds or does
    not, a table to prefer or ignore, what a word means. Only what a person told you or the
    rows show: a note outweighs all evidence."""
    return Noted(doubts=safe(write_note(catalog, section, key, value)[1]))


def _short(result: BaseModel) -> CallToolResult:
    """A result in few characters: no blanks between keys, and no keys that say nothing."""
    document = _read_by_model(result.model_dump(mode="json", exclude_defaults=True))
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=document
    )


def _read_by_model(value: Any) -> Any:
    """JSON with the marks of chat templates broken up in its texts, keys among them; what is made
    for a model comes so."""
    if isinstance(value, dict):
        return {
            one_line(key): part if key in _FOR_MODELS else _read_by_model(part)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_read_by_model(part) for part in value]
    return one_line(value) if isinstance(value, str) else value


async def _on(live: LiveCatalog, work: Callable[[Catalog], T]) -> T:
    """Do some work on the catalog in a thread; an error of ours is told, without the folder.

    Where the agent calls it off or goes, the work ends as soon as it looks.
    """
    gone, called_off = threading.Event(), CALLED_OFF.get()
    before = CALLED_OFF.set(lambda: gone.is_set() or called_off())
    try:
        return await anyio.to_thread.run_sync(lambda: work(live.current()), abandon_on_cancel=True)
    except DovetailError as error:
        raise ToolError(one_line(message_of(error, live.folder))) from None
    finally:
        gone.set()
        CALLED_OFF.reset(before)


def serve_mcp(live: LiveCatalog, http: str | None, *, notes: bool = False) -> None:
    """Serve over standard input and output, or over HTTP at `host:port`."""
    server = mcp_server(live, notes=notes)
    if http is None:
        server.run("stdio")
        return
    host, _, port = http.rpartition(":")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 1 << 16:
        raise UsageError(f"--http {http}: give an address such as 127.0.0.1:8765")
    if not is_this_machine(host):
        raise UsageError(
            f"--http {http} can be reached from other machines, and agents have no login there: "
            "leave the address at 127.0.0.1, and put what asks for one before it"
        )
    server.run("streamable-http", host=host.strip("[]"), port=int(port), max_sessions=MOST_SESSIONS)
