"""A folder with a catalog that has everything a catalog can have, and what a user does to it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import dovetail
from dovetail import Settings
from dovetail.catalog.descriptions import DescriptionFile
from dovetail.errors import DovetailError, NotFoundError
from dovetail.models.cache import REPLIES, CachedLLM
from dovetail.notes.file import ABOUT, read_entries
from dovetail.notes.notes import file_of, note
from dovetail.ports import Completion, Json, Message
from tests.support.command_line import run
from tests.support.contents import contents

WORDS = Settings(embedder="none", workers=1, families=True)
_LOG = "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.customer_id;\n"
_REMARK = "WEB is a code for the shop."


class Describing:
    """A model that describes every table that it is asked about."""

    model_id = "describing"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 1024,
    ) -> Completion:
        del schema, max_tokens
        asked = messages[-1].content
        tables = [name for name in ("customers", "orders", "rates", "t0", "t1") if name in asked]
        text = json.dumps({name: {"description": f"What {name} holds."} for name in tables})
        return Completion(text, 10, 10, 0.0)


def write_sources(folder: Path, salt: int) -> None:
    """A database and a folder of files, some of which differ from one salt to the next."""
    with closing(sqlite3.connect(folder / "shop.sqlite")) as shop, shop:
        for table in ("customers", "orders"):
            shop.execute(f"DROP TABLE IF EXISTS {table}")
        shop.execute("CREATE TABLE customers (customer_id INTEGER, name TEXT, city TEXT)")
        shop.execute("CREATE TABLE orders (order_id INTEGER, customer_id INTEGER, total REAL)")
        people = [(n, f"name {n}", f"city {n % 7}") for n in range(40)]
        shop.executemany("INSERT INTO customers VALUES (?, ?, ?)", people)
        sales = [(1000 + n * salt, n % 40, n / 4) for n in range(90)]
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", sales)
    (folder / "files").mkdir(exist_ok=True)
    for number in range(2):
        rows = "".join(f"{row},{row * (salt if number else 1)},v{row % 7}\n" for row in range(20))
        (folder / "files" / f"t{number}.csv").write_text(f"id,number,word\n{rows}")
    (folder / "log.sql").write_text(_LOG)


def sources(folder: Path) -> list[str]:
    return [f"shop={folder / 'shop.sqlite'}", f"files={folder / 'files'}"]


def first(folder: Path) -> None:
    """Index all sources into a new catalog."""
    dovetail.update(sources(folder), into=folder / "catalog", settings=WORDS)


def update(folder: Path) -> None:
    """Bring the catalog up to date with its sources."""
    dovetail.update(into=folder / "catalog", settings=WORDS)


def learn(folder: Path) -> None:
    """Learn from past queries."""
    dovetail.open(folder / "catalog", WORDS).learn(folder / "log.sql")


def take_note(folder: Path) -> None:
    """Write down a remark on a table."""
    catalog = dovetail.open(folder / "catalog", WORDS)
    note(catalog.reader, ABOUT, "orders", _REMARK)


def describe(folder: Path) -> None:
    """Have a model describe the tables."""
    model = CachedLLM(Describing(), folder / "catalog" / REPLIES)
    dovetail.open(folder / "catalog", WORDS).describe(llm=model)


def save(folder: Path) -> None:
    """Describe a table by hand."""
    about = {"orders": {"description": "Orders, by hand.", "columns": {}}}
    dovetail.open(folder / "catalog", WORDS).save_descriptions(about, author="me")


def repair(folder: Path) -> None:
    """Make again what is damaged."""
    dovetail.repair(folder / "catalog", WORDS)


ACTIONS: dict[str, Callable[[Path], None]] = {
    "index": first,
    "update": update,
    "learn": learn,
    "note": take_note,
    "describe": describe,
    "save": save,
    "repair": repair,
}

# Actions that are commands, with their arguments; what differs from the usual is in WORDS.
COMMANDS: dict[str, tuple[str, ...]] = {
    "index": ("index", "shop={}/shop.sqlite", "files={}/files"),
    "update": ("index",),
    "learn": ("learn", "{}/log.sql"),
    "note": ("note", "about", "orders", _REMARK),
    "repair": ("repair",),
}


def command(folder: Path, action: str) -> str:
    """Do an action by its command; returns the exit code and what is told of errors."""
    arguments = [each.format(folder) for each in COMMANDS[action]]
    done = run(
        *arguments, "-C", str(folder / "catalog"), DOVETAIL_EMBEDDER="none", DOVETAIL_WORKERS="1",
        DOVETAIL_FAMILIES="true",
    )  # fmt: skip
    return f"{done.returncode} {done.stderr}"


def prepare(folder: Path, action: str) -> None:
    """All that is there before an action."""
    folder.mkdir(parents=True)
    write_sources(folder, 2)
    if action == "index":
        return
    first(folder)
    if action != "learn":
        learn(folder)
    if action in ("update", "note", "repair"):
        describe(folder)
    if action in ("update", "repair"):
        take_note(folder)
    if action == "update":
        write_sources(folder, 3)
    if action == "repair":
        for part in ("evidence", "queries"):
            file = max((folder / "catalog").glob(f"generations/*/{part}/*"))
            flip(file, file.stat().st_size // 2)


def flip(file: Path, at: int, bit: int = 0) -> None:
    """Change one bit of a file."""
    content = bytearray(file.read_bytes())
    content[at] ^= 1 << bit
    file.write_bytes(content)


def state(folder: Path) -> str:
    """A digest of all that a catalog and its notes say; what is doubled shows, too."""
    try:
        catalog = dovetail.open(folder / "catalog", WORDS)
    except NotFoundError:
        return "none"
    try:
        notes = sorted(repr(entry) for entry in read_entries(file_of(catalog.reader))[0])
        tables = [
            (name, replace(table, sample=()), values)
            for name, (table, values) in contents(catalog).items()
        ]
        answer = [
            tables,
            [edge.to_dict() for edge in catalog.joins(least=-1)],
            [(str(one), str(catalog.description(one))) for one in catalog.ids],
            catalog.reader.usage.digest,
            [repr(one) for one in catalog.search("orders by city")],
            notes,
        ]
    except DovetailError as error:
        return f"error: {error}"
    return hashlib.sha256(repr(answer).encode()).hexdigest()


def contents_of(catalog: Path) -> dict[str, Any]:
    """The values of all tables of a catalog."""
    return {name: values for name, (_, values) in contents(dovetail.open(catalog, WORDS)).items()}


def whole(folder: Path) -> Path:
    """A catalog with every part, vectors, replies, descriptions and a table in memory."""
    write_sources(folder, 2)
    rates = {"rates": pa.table({"currency": ["EUR", "USD"], "rate": [1.0, 1.1]})}
    settings = Settings(workers=1)
    dovetail.update([*sources(folder), rates], into=folder / "catalog", settings=settings)
    learn(folder)
    describe(folder)
    dovetail.update(into=folder / "catalog", settings=settings)
    assert list(DescriptionFile(folder / "catalog").lines())
    return folder / "catalog"
