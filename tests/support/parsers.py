"""Every parser of outside input, what it is given on a good day, and what is made of that.

A case is a good text that was changed: some of its characters, the words of its language, or, where
it is JSON, the values of its tree. A parser may answer or raise an error of ours; anything else is
wrong.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import dovetail
from dovetail.answer.generate import extract_sql
from dovetail.catalog.dbt import DbtProject
from dovetail.catalog.dbt_manifest import read_manifest_of
from dovetail.catalog.descriptions import DescriptionFile
from dovetail.catalog.generation import read_manifest
from dovetail.domain.sql import identifier, literal, table_sql
from dovetail.errors import DovetailError
from dovetail.learn.logs import script, statements_in
from dovetail.models.chat import parse_json, read_completion
from dovetail.names.table_name import TableName, copy_marks, entity
from dovetail.names.words import spelled, words
from dovetail.notes.notes import notes_in
from dovetail.offline.describe import read_reply
from dovetail.offline.describe_batch import Batch
from dovetail.retrieve.reply import parse_selection
from dovetail.settings import Settings, load_settings
from dovetail.sources.declarations import read_descriptions
from dovetail.sources.delimited import csv_options
from dovetail.sources.file_formats import FileReader
from dovetail.sources.lake_tables import manifest_lists
from dovetail.sources.resolve import root
from dovetail.sources.text_encoding import recognised
from dovetail.text import escape, fenced, one_line
from dovetail_bench.run_file import read_run
from tests.support.scripted import write_shop

FIXTURES = Path(__file__).parents[1] / "fixtures"
# A parser that takes longer than this over one text hangs: CPU time, as it only computes.
SECONDS = 20
_ODD = (
    "", " ", "\0", "\n", "\r", "\x1b[2J", "\u202e", "\ufeff", "\ud800", "\U0001f4a9", "'", '"', "`",
    "\\", "{", "}", "[", "]", "(", ")", ":", ",", ";", "=", "#", "--", "/*", "*/", "$$", "```",
    "<think>", "</think>", "null", "true", "NaN", "Infinity", "1e999", "-0", "9" * 5_000, "0x",
    "../", "%00", "${HOME}", "{{x}}", "\u0130", "\u00df", "\u0664", "a" * 3_000, "[" * 2_000,
    '{"a":' * 1_500, "SELECT", "inf", "1_0",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2**70, 1e308, "", "x", "\0", "9" * 5_000, [], {}, [[]], [None], {"": ""},
    {"a": {"b": [1]}}, ["x", 1, None], "\ud800", float("inf"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser, good texts for it, and how many times a case of it counts among all cases."""

    parse: Callable[[str], object]
    good: tuple[str, ...]
    weight: int = 1


def parsers(folder: Path) -> dict[str, Parser]:
    """Every parser of outside input, over a small catalog in a folder; those of a server are
    beside (`server_parsers`), as they want packages of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    shop = write_shop(folder / "shop.sqlite")
    settings = Settings(embedder="none")
    catalog = dovetail.build(f"shop={shop}", into=folder / "catalog", settings=settings)
    batch = Batch(tuple((table, table.name) for table in catalog.ids), "")

    def in_file(name: str, read: Callable[[Path], object]) -> Callable[[str], object]:
        return in_a_file(folder / name.replace(".", "_") / name, read)

    question = (
        "Which customers in Oslo ordered more than 3 products in 2024?",
        "Total quantity per supplier, 'company 905' and \"Porto\" between 5 and 10",
    )
    manifest = (folder / "catalog" / "manifest.json").read_text()
    copy = folder / "copy"
    shutil.copytree(folder / "catalog", copy)
    stored = ({"table": "orders", "columns": {"order_no": "number"}, "description": "Orders."},)
    sql = (
        "-- question: how many?\nSELECT count(*) FROM orders o JOIN customers c USING (customer_no)"
    )
    line = {**dict.fromkeys(("table", "like", "text", "author", "prompt"), "x"), "columns": {}}
    found = [{"source": "s", "name": "a", "stage": "x", "relevance": 0.5}]
    costs = dict.fromkeys(("tokens_in", "tokens_out", "llm_calls", "seconds"), 1)
    record = {"question": "q", "tables": found, "fallback": False, "trace": "", **costs}
    run = f'{{"run": {{"a": 1}}}}\n{json.dumps(record)}\n'
    version = {"current-snapshot-id": 1, "snapshots": [{"snapshot-id": 1, "manifest-list": "x"}]}
    completion = {
        "choices": [{"message": {"content": "hi"}}],
        "usage": {"prompt_tokens": 3},
    }
    reply = '<think>so</think>```json\n{"tables": [1, 2], "reason": "x", "missing": ["y"]}\n```'

    def read_manifest_text(text: str) -> object:
        (copy / "manifest.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        return read_manifest(copy)

    def header(file: Path) -> object:
        reader = FileReader({})
        with reader.explained("a"):
            return reader.shape("a", "csv", str(file))

    def read_identifier(text: str) -> object:
        made = (identifier, literal, table_sql) if "\0" not in text else ()
        named = (words, spelled, entity, copy_marks, TableName.parse, escape, fenced, one_line)
        return [each(text) for each in (*named, *made)]

    return {
        "reply of a model that selects": Parser(
            lambda text: parse_selection(text, 9), (reply, '{"sets": [{"tables": [1]}]}'), 20
        ),
        "reply of a model that describes": Parser(
            lambda text: read_reply(text, batch, catalog.reader, "m"),
            (json.dumps({"tables": list(stored)}), json.dumps({"orders": stored[0]})), 10,
        ),
        "reply of a model that writes SQL": Parser(
            lambda text: extract_sql(text).encode(),
            ("Here:\n```sql\nSELECT 1;\n```", "<sql>SELECT 1</sql>", "SELECT 1"), 10,
        ),
        "chat completion": Parser(
            lambda text: read_completion(
                parse_json(text, mend=False), {"messages": [{"content": "x"}]}, seconds=1, where="m"
            ), (json.dumps(completion),), 10,
        ),
        "question": Parser(lambda text: catalog.ask(text), question),
        "settings": Parser(
            in_file("dovetail.toml", lambda file: load_settings(file.parent, environ={})),
            ('embedder = "none"\nworkers = 2\nsources = ["a", "b"]\nbreadth = 0.5\n',), 4,
        ),
        "notes": Parser(
            in_file("dovetail.notes.toml", lambda file: notes_in(file, catalog.reader)),
            ('[terms]\nagent = "seller : orders.customer_no"\n[joins]\n'
             '"orders.customer_no = customers.customer_no" = "pin"\n[tables]\norders = "copy of x"'
             '\n[questions]\n"who?" = "orders, customers"\n[about]\norders = "x"\n',), 4,
        ),
        "dbt manifest": Parser(
            in_file(
                "manifest.json",
                lambda file: read_manifest_of(file, catalog.ids, DbtProject("", "")),
            ), (_small_manifest(),), 4,
        ),
        "query log": Parser(lambda text: list(script(text)), (sql, "SELECT $a$;$a$; SELECT 2"), 20),
        "query log in lines": Parser(
            in_file("log.jsonl", lambda file: list(statements_in(file))),
            (json.dumps({"query": sql, "calls": 3, "time": "2024-01-01"}) + "\n",), 4,
        ),
        "query log in columns": Parser(
            in_file("log.csv", lambda file: list(statements_in(file))),
            ('query,calls\n"SELECT 1, 2",3\nSELECT 2,x\n',), 4,
        ),
        "manifest": Parser(read_manifest_text, (manifest,), 2),
        "run file": Parser(in_file("run.jsonl", read_run), (run,), 4),
        "descriptions in lines": Parser(
            in_file("descriptions.jsonl", lambda file: list(DescriptionFile(file.parent).lines())),
            (json.dumps(line) + "\n",), 4,
        ),
        "descriptions beside tables": Parser(
            in_file("descriptions.json", read_descriptions),
            (json.dumps({"orders": {"description": "x", "columns": {"a": "b"}}}),), 4,
        ),
        "CSV header": Parser(
            in_file("a.csv", header),
            ("a;b,c\n1;2,3\n", "x\ty\n1\t2\n", '"a ""b""",c\n1,2\n'),
        ),
        "CSV options": Parser(csv_options, ("encoding=sjis, header=3",), 10),
        "name": Parser(
            read_identifier, ("sales.OrderLine_2024_bak", "KUNDEN-Nr", "dbo.[a b]", "tbl_x_v2"), 10
        ),
        "source": Parser(
            lambda text: root(text, folder),
            ("shop=postgresql://u:p@h:5432/db", "s3://b/a/*.csv", "a/b.sqlite"), 10,
        ),
        "encoding": Parser(
            lambda text: recognised(text.encode("utf-16", "surrogatepass")), ("Größe\nß",), 4
        ),
        "lake metadata": Parser(
            lambda text: manifest_lists(text.encode("utf-8", "surrogatepass")),
            (json.dumps(version),), 10,
        ),
    }  # fmt: skip


def in_a_file(file: Path, read: Callable[[Path], object]) -> Callable[[str], object]:
    """A parser of a file's text."""
    file.parent.mkdir(parents=True)

    def parse(text: str) -> object:
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        return read(file)

    return parse


def _small_manifest() -> str:
    """One model, one source and one test of each kind, of a real dbt manifest."""
    whole = json.loads(next((FIXTURES / "dbt" / "v12").rglob("manifest.json")).read_bytes())
    kept: dict[str, Any] = {"metadata": whole["metadata"]}
    for section in ("nodes", "sources", "exposures"):
        kinds: dict[object, tuple[str, Any]] = {}
        for name, node in whole.get(section, {}).items():
            kinds.setdefault((node.get("resource_type"), str(node.get("test_metadata"))[:30]),
                             (name, node))  # fmt: skip
        kept[section] = dict(kinds.values())
    return json.dumps(kept)


def changed(text: str, draw: random.Random) -> str:
    """A good text with something wrong with it."""
    if draw.random() < 0.5:
        try:
            return json.dumps(_changed_tree(json.loads(text), draw))
        except ValueError:
            pass
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        at, length = draw.randrange(len(text) + 1), draw.choice((0, 0, 1, 1, 4, 40))
        put = draw.choice((draw.choice(_ODD), chr(draw.randrange(0x3000)), text[at : at + 30]))
        text = text[:at] + put + text[at + length :]
    return text


def _changed_tree(tree: Any, draw: random.Random) -> Any:
    """A tree of JSON in which one value, or one name, is another."""
    if isinstance(tree, dict) and tree and draw.random() < 0.9:
        name = draw.choice(list(tree))
        value = _changed_tree(tree[name], draw)
        kept = {key: each for key, each in tree.items() if key != name or draw.random() < 0.9}
        return {**kept, draw.choice((name, name, name, draw.choice(_ODD))): value}
    if isinstance(tree, list) and tree and draw.random() < 0.9:
        at = draw.randrange(len(tree))
        return [*tree[:at], _changed_tree(tree[at], draw), *tree[at + 1 :]]
    return draw.choice((draw.choice(_VALUES), draw.choice(_ODD), [tree, tree], {"x": tree}))


def fuzz(known: Mapping[str, Parser], seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """How so many cases ended, parser by parser as they weigh, and those that are wrong."""
    draw = random.Random(seed)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for name in draw.choices(list(known), [each.weight for each in known.values()], k=count):
        outcome, case = tried(name, known[name], changed(draw.choice(known[name].good), draw))
        outcomes += outcome
        wrong += case
    return outcomes, wrong


def tried(name: str, parser: Parser, text: str) -> tuple[Counter[str], list[str]]:
    """How one text ended, and what is wrong with that."""
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        parser.parse(text)
        return Counter([f"{name}: read"]), []
    except DovetailError:
        return Counter([f"{name}: one error of ours"]), []
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        case = f"{name}: {type(error).__name__}: {str(error)[:80]!r}: {text[:300]!r}"
        return Counter([f"{name}: wrong"]), [case]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _ring(_: int, __: FrameType | None) -> None:
    raise TimeoutError
