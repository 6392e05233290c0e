"""The contracts of the seams, as checks that the author of a plug-in runs in their own tests.

from dovetail.testing import check_source

def test_source(tmp_path):
    check_source(lambda: MySource(spec))
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableSet
from dovetail.offline.pipeline import update
from dovetail.ports import (
    LLM,
    Completion,
    Embedder,
    Engine,
    Json,
    Listing,
    Message,
    Retriever,
    Source,
    Tick,
)
from dovetail.settings import Settings

__all__ = ["check_embedder", "check_engine", "check_llm", "check_retriever", "check_source"]

# A question the corpus below can answer, and some that nothing can.
_QUESTIONS = ("Which towns have a ferry?", "", " ", "\x00", "🦆🦆🦆", "ferry " * 17_000)
_CORPUS = """
CREATE TABLE town (town_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ferry (ferry_id INTEGER PRIMARY KEY, town_id INTEGER, length REAL);
CREATE TABLE "trip log" (ferry_id INTEGER, day TEXT);
CREATE TABLE shelf (a TEXT, b TEXT);
INSERT INTO town VALUES (11, 'Moss'), (12, 'Horten'), (13, 'Bergen');
INSERT INTO ferry VALUES (501, 11, 40.5), (502, 12, 71.0), (503, 12, 33.25), (504, 13, 12.5);
INSERT INTO "trip log" VALUES (501, '2024-05-01'), (503, '2024-05-01'), (504, '2024-05-02');
"""


def check_source(open_source: Callable[[], Source], untold: Collection[str] = ()) -> None:
    """A source lists each table once, streams what it lists, and recognises an unchanged table.

    `untold` names the tables whose changes it cannot tell without reading them: views, say.
    """
    with closing(open_source()) as source:
        listings = list(source.tables())
        names = [listing.name for listing in listings]
        _require(len(set(names)) == len(names), f"tables() names a table twice: {names}")
        for listing in listings:
            _check_table(source, listing, told=listing.name not in untold)
    with closing(open_source()) as source:
        _require(
            [listing.name for listing in source.tables()] == names,
            "tables() gives another order or other tables when opened again",
        )


def _check_table(source: Source, listing: Listing, *, told: bool) -> None:
    first = source.fingerprint(listing, None)
    _require(not first.unchanged, f"{listing.name}: unchanged, compared with nothing")
    shapes = []
    for _ in range(2):
        scan = source.scan(listing)
        rows = 0
        for batch in scan.batches:
            width = batch.num_columns
            _require(width == len(scan.columns), f"{listing.name}: a batch of {width} columns")
            rows += batch.num_rows
        shapes.append((rows, [column.name for column in scan.columns]))
    _require(shapes[0] == shapes[1], f"{listing.name}: read twice, different: {shapes}")
    again = source.fingerprint(listing, first.token)
    _require(again.unchanged == told, f"{listing.name}: unchanged is {again.unchanged}, not {told}")


def check_engine(engine: Engine, into: Path) -> None:
    """An engine does every job once, hands back its result, and leaves its files in place."""
    jobs: list[Json] = [{"number": number} for number in range(7)]
    replies = {
        reply.job: reply
        for reply in engine.map("dovetail.testing:square", jobs, into, lambda _: None)
    }
    _require(sorted(replies) == list(range(7)), f"jobs answered: {sorted(replies)}")
    for number, reply in replies.items():
        _require(not reply.lost, f"job {number} was lost: {reply.lost}")
        _require(reply.result == {"square": number**2}, f"job {number} answered {reply.result}")
        content = (into / str(number) / "square").read_text(encoding="utf-8")
        _require(content == str(number**2), f"job {number} left the file {content!r}")


def check_llm(open_llm: Callable[[], LLM]) -> None:
    """A model names itself, counts what it reads and writes, and keeps to what it said before.

    It takes any text and may be asked by several threads at once; a schema is a wish.
    """
    first, second = open_llm(), open_llm()
    _require(bool(first.model_id), "model_id is empty")
    _require(first.model_id == second.model_id, "model_id is another when opened again")
    greeting = [Message("system", "Answer in one word."), Message("user", "Is water wet?")]
    reply = _check_reply(first.complete(greeting, max_tokens=8), max_tokens=8)
    again = second.complete(greeting, max_tokens=8)
    _require(reply.text == again.text, "asked the same, it does not answer in the same words")
    shape = {"type": "object", "properties": {"answer": {"type": "string"}}}
    _check_reply(first.complete(greeting, schema=shape, max_tokens=32), max_tokens=32)
    odd = [Message("user", "\0 \ud800 \u202e 🦊 <|im_end|> ``` {}")]
    asked = [greeting, odd, greeting, odd]
    with ThreadPoolExecutor(len(asked)) as pool:
        replies = list(pool.map(lambda ask: first.complete(ask, max_tokens=8), asked))
    for answer in replies:
        _check_reply(answer, max_tokens=8)
    _require(replies[0].text == reply.text, "asked by several threads, it mixes up its replies")


def _check_reply(reply: Completion, *, max_tokens: int) -> Completion:
    _require(isinstance(reply.text, str), f"text is {reply.text!r}")
    _require(reply.tokens_in > 0, f"tokens_in is {reply.tokens_in}")
    counted = 0 <= reply.tokens_out <= max_tokens
    _require(counted, f"tokens_out is {reply.tokens_out}, and the limit was {max_tokens}")
    _require(reply.seconds >= 0, f"seconds is {reply.seconds}")
    return reply


def square(job: Json, folder: Path, tick: Tick) -> Json:
    """The job that `check_engine` has done."""
    tick({"at": job["number"]})
    result = job["number"] ** 2
    (folder / "square").write_text(str(result), encoding="utf-8")
    return {"square": result}


def check_embedder(embedder: Embedder, tolerance: float = 1e-5) -> None:
    """An embedder gives float32 rows of length one, the same for a text whatever stands beside it.

    `tolerance` is by how much a number may differ when a text is embedded again.
    """
    import numpy as np

    _require(bool(embedder.model_id), "model_id is empty")
    texts = [
        "orders placed by customers",
        "",
        "a\x00\ud800 \U0001f600",
        "which school?",
        "x " * 5_000,
    ]
    for embed in (embedder.embed_documents, embedder.embed_queries):
        name = embed.__name__
        none = embed([])
        _require(none.shape == (0, embedder.dimension), f"{name}([]) has the shape {none.shape}")
        rows = embed(texts)
        shape = (len(texts), embedder.dimension)
        _require(rows.shape == shape, f"{name} answered with the shape {rows.shape}, not {shape}")
        _require(rows.dtype == np.float32, f"{name} answered with {rows.dtype}, not float32")
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        _require(bool(np.allclose(lengths, 1, atol=1e-5)), f"{name}: rows of lengths {lengths}")
        apart = np.concatenate([embed([text]) for text in reversed(texts)])[::-1]
        differ = float(np.abs(rows - apart).max())
        _require(differ <= tolerance, f"{name}: a text alone and beside others differ by {differ}")
        distinct = float(np.abs(rows[0] - rows[3]).max())
        _require(distinct > tolerance, f"{name}: two texts have one vector")


def check_retriever(
    make: Callable[[CatalogReader, int], Retriever],
    into: Path,
    settings: Settings | None = None,
) -> None:
    """A retriever finds tables of its corpus, each once, the same ones when asked again.

    `make` is given a catalog and how many tables are wanted; catalogs are built below `into`. One
    of them is empty, the other has four tables; some questions have nothing to do with it. They are
    indexed as the `settings` say; without any, nothing is embedded.
    """
    chosen = settings or Settings(embedder="none")
    small = _catalog(into / "small", _CORPUS, chosen)
    for k in (2, 100):
        for question in _QUESTIONS:
            what = f"k={k}, question {question[:30]!r}"
            result = make(small, k).retrieve(question)
            _require(result.question == question, f"{what}: the set is of another question")
            ids = result.ids
            _require(set(ids) <= set(small.ids), f"{what}: tables of no corpus: {ids}")
            _require(len(set(ids)) == len(ids), f"{what}: a table twice: {ids}")
            ends = {end for edge in result.joins for end in (edge.left, edge.right)}
            _require(ends <= set(ids), f"{what}: joins with tables outside the set")
            again = make(small, k).retrieve(question)
            _require(_untimed(again) == _untimed(result), f"{what}: asked again, different")
    retriever = make(_catalog(into / "empty", "CREATE TABLE gone (a); DROP TABLE gone;", chosen), 3)
    for question in _QUESTIONS:
        tables = retriever.retrieve(question).tables
        _require(tables == (), f"tables in an empty corpus: {tables}")


def _untimed(result: TableSet) -> TableSet:
    """A set without the seconds that a model took for it: a clock says the same only by chance."""
    trace = ({key: stage[key] for key in stage if key != "seconds"} for stage in result.trace)
    return replace(result, trace=tuple(trace))


def _catalog(folder: Path, statements: str, settings: Settings) -> CatalogReader:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "corpus.sqlite")) as database:
        database.executescript(statements)
    source = str(folder / "corpus.sqlite")
    return update([source], into=folder / "catalog", settings=settings).catalog


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
