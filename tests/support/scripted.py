"""A small corpus, an embedder that needs no model, and an endpoint that plays a conversation."""

from __future__ import annotations

import json
import sqlite3
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.offline.pipeline import update
from dovetail.ports import Completion, Json, Message
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from tests.support.endpoint import Endpoint, Play, endpoint, fails
from tests.support.searchers import search_over

CORPUS = """
CREATE TABLE customers (customer_no INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders (order_no INTEGER PRIMARY KEY, customer_no INTEGER, ordered_on TEXT);
CREATE TABLE order_items (order_no INTEGER, product_no INTEGER, quantity INTEGER);
CREATE TABLE products (product_no INTEGER PRIMARY KEY, title TEXT, supplier_no INTEGER);
CREATE TABLE suppliers (supplier_no INTEGER PRIMARY KEY, company TEXT, country TEXT);
CREATE TABLE weather (station TEXT, rainfall REAL);
CREATE TABLE empty_shelf (shelf TEXT, height REAL);
"""


def write_shop(path: Path) -> Path:
    """Seven tables: a chain of five that join, one that joins nothing, one without rows."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(CORPUS)
        db.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)",
            [(n, f"customer {n}", ("Oslo", "Turin", "Porto")[n % 3]) for n in range(101, 141)],
        )
        db.executemany(
            "INSERT INTO orders VALUES (?, ?, ?)",
            [(n, 101 + n % 40, f"2024-01-{n % 28 + 1:02}") for n in range(5001, 5121)],
        )
        db.executemany(
            "INSERT INTO order_items VALUES (?, ?, ?)",
            [(5001 + n % 120, 7001 + n % 30, n % 5 + 1) for n in range(300)],
        )
        db.executemany(
            "INSERT INTO products VALUES (?, ?, ?)",
            [(n, f"product {n}", 901 + n % 12) for n in range(7001, 7031)],
        )
        db.executemany(
            "INSERT INTO suppliers VALUES (?, ?, ?)",
            [(n, f"company {n}", ("NO", "IT", "PT")[n % 3]) for n in range(901, 913)],
        )
        db.executemany("INSERT INTO weather VALUES (?, ?)", [(f"st{n}", n / 7) for n in range(9)])
    return path


def shop_searcher(folder: Path) -> Searcher:
    """The shop, indexed and searchable."""
    source = str(write_shop(folder / "shop.sqlite"))
    report = update([source], into=folder / "catalog", settings=Settings(embedder="none"))
    return search_over(report.catalog, HashEmbedder())


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Counts of hashed runs of three characters, of length one; like a model, it reads no novel."""

    model_id: str = "hashed"
    dimension: int = 256

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            padded = f" {text[:2_000].lower()} "
            for at in range(len(padded) - 2):
                row[zlib.crc32(padded[at : at + 3].encode()) % self.dimension] += 1
            row /= np.linalg.norm(row) or 1.0
        return rows

    embed_queries = embed_documents


Said = str | Json
Script = Callable[[list[Json]], Said]


@dataclass(frozen=True, slots=True)
class Scripted:
    """An endpoint that plays a conversation; `llm` speaks with it."""

    server: Endpoint

    @property
    def asked(self) -> list[Json]:
        return self.server.asked

    @property
    def llm(self) -> HttpLLM:
        return HttpLLM(f"{self.server.url}/chat/completions")


@contextmanager
def playing(script: Script | Sequence[Said]) -> Iterator[Scripted]:
    """An OpenAI-compatible endpoint that answers by a script: replies in turn, or a function.

    A reply is text, or a whole choice; after the last of a list there is none, and an error.
    """

    def reply(body: Json) -> Play:
        turn = len(server.asked) - 1
        if not callable(script) and turn >= len(script):
            return fails(500, "the script has ended")
        said = script(body["messages"]) if callable(script) else script[turn]
        choice = said if isinstance(said, dict) else {"message": {"content": said}}
        count = sum(len(message["content"].split()) for message in body["messages"])
        usage = {"prompt_tokens": count, "completion_tokens": 7}
        return Play(body=json.dumps({"choices": [choice], "usage": usage}).encode())

    with endpoint(reply) as server:
        yield Scripted(server)


@dataclass(frozen=True, slots=True)
class HttpLLM:
    """The smallest client of such an endpoint."""

    url: str
    model_id: str = "scripted"

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        body = {"messages": turns, "max_tokens": max_tokens, "schema": schema}
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            reply = json.load(response)
        choice, usage = reply["choices"][0], reply["usage"]
        return Completion(
            choice["message"]["content"],
            usage["prompt_tokens"],
            usage["completion_tokens"],
            0.0,
        )
