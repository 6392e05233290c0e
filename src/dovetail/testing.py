"""The contracts of the seams, as checks that the author of a plug-in runs in their own tests.

from dovetail.testing import check_source

def test_source(tmp_path):
    check_source(lambda: MySource(spec))
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

from dovetail.catalog.reader import Catalog
from dovetail.offline.build import build
from dovetail.ports import Engine, Json, Listing, Retriever, Source, Tick

__all__ = ["check_engine", "check_retriever", "check_source"]

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


def square(job: Json, folder: Path, tick: Tick) -> Json:
    """The job that `check_engine` has done."""
    tick({"at": job["number"]})
    result = job["number"] ** 2
    (folder / "square").write_text(str(result), encoding="utf-8")
    return {"square": result}


def check_retriever(make: Callable[[Catalog, int], Retriever], into: Path) -> None:
    """A retriever finds tables of its corpus, each once, the same ones when asked again.

    `make` is given a catalog and how many tables are wanted; catalogs are built below `into`. One
    of them is empty, the other has four tables; some questions have nothing to do with it.
    """
    small = _catalog(into / "small", _CORPUS)
    for k in (2, 100):
        for question in _QUESTIONS:
            what = f"k={k}, question {question[:30]!r}"
            found = make(small, k).retrieve(question)
            _require(found.question == question, f"{what}: the set is of another question")
            ids = found.ids
            _require(set(ids) <= set(small.ids), f"{what}: tables of no corpus: {ids}")
            _require(len(set(ids)) == len(ids), f"{what}: a table twice: {ids}")
            ends = {end for edge in found.joins for end in (edge.left, edge.right)}
            _require(ends <= set(ids), f"{what}: joins with tables outside the set")
            _require(make(small, k).retrieve(question) == found, f"{what}: asked again, different")
    retriever = make(_catalog(into / "empty", "CREATE TABLE gone (a); DROP TABLE gone;"), 3)
    for question in _QUESTIONS:
        tables = retriever.retrieve(question).tables
        _require(tables == (), f"tables in an empty corpus: {tables}")


def _catalog(folder: Path, statements: str) -> Catalog:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "corpus.sqlite")) as database:
        database.executescript(statements)
    return build(str(folder / "corpus.sqlite"), into=folder / "catalog")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
