"""Past queries: learnt from logs of every form, once, within bounds, and without their literals."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail.answer.generate import nearest_examples, prompt
from dovetail.answer.relations import relations
from dovetail.catalog.usage import NO_USAGE, QueryExample
from dovetail.domain import TableId
from dovetail.errors import DamagedError, NotFoundError, SourceError, UsageError
from dovetail.learn.logs import Statement, open_log, script, statements_in
from dovetail.sources.postgres import PostgresSource
from dovetail.sources.resolve import root
from tests.support.servers import postgres

PLAIN = dovetail.Settings(embedder="none")
JOIN = "SELECT * FROM ledger l JOIN invoice i ON l.ref = i.nr WHERE i.due = 'Ann Lee'"
SCRIPT = f"""
-- Question: What did Ann Lee pay?
{JOIN};
SELECT client.mail FROM invoice JOIN client ON client.id = invoice.who; -- 'no; end
UPDATE client SET mail = 'x';
SELECT broken ( FROM;
SELECT 1 FROM elsewhere;
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of three tables whose names and values say little of how they join."""
    folder = tmp_path_factory.mktemp("learn")
    with closing(sqlite3.connect(folder / "books.sqlite")) as connection:
        connection.executescript("""
            CREATE TABLE client (id INTEGER, mail TEXT);
            CREATE TABLE invoice (nr INTEGER, who INTEGER, due TEXT);
            CREATE TABLE ledger (bkg INTEGER, ref INTEGER, amt REAL);
            CREATE TABLE scratch (a INTEGER, b TEXT);
        """)
        connection.executemany(
            "INSERT INTO client VALUES (?, ?)", [(n, f"c{n}@x.no") for n in range(1, 61)]
        )
        connection.executemany(
            "INSERT INTO invoice VALUES (?, ?, ?)", [(n, n % 60 + 1, "2024") for n in range(1, 201)]
        )
        connection.executemany(
            "INSERT INTO ledger VALUES (?, ?, ?)", [(n, n % 150 + 1, n / 7) for n in range(300)]
        )
        connection.execute("INSERT INTO scratch VALUES (-5, 'z')")
        connection.commit()
    dovetail.build(folder / "books.sqlite", into=folder / "catalog", settings=PLAIN)
    return folder / "catalog"


@pytest.fixture
def books(made: Path, here: Path) -> Iterator[dovetail.Catalog]:
    """The catalog, with nothing learnt, in an empty folder to work in."""
    with dovetail.open(made, PLAIN) as catalog:
        yield catalog
        catalog.forget_queries()


def id_of(catalog: dovetail.Catalog, name: str) -> TableId:
    return catalog[name].id


def test_a_script_is_learnt_once_and_changes_joins_reasons_and_search(
    books: dovetail.Catalog, here: Path
) -> None:
    before = {edge.columns: edge.score for edge in books.joins(least=-1)}
    (here / "log.sql").write_text(SCRIPT, "utf-8")
    (log,) = books.learn("log.sql").learnt
    assert (log.queries, log.others, log.broken) == (2, 2, 1)
    edges = {edge.columns: edge for edge in books.joins(least=-1)}
    edge = edges[("ref", "nr"),]
    assert (edge.left.name, edge.right.name, edge.evidence["queries"]) == ("ledger", "invoice", 1.0)
    assert edge.score > max(0.85, before.get((("ref", "nr"),), 0))
    (reason,) = books.searcher.reasons("amounts (amt) of a ledger", [id_of(books, "ledger")])
    assert reason[-1] == "stands in 1 query"
    assert books.reader.usage.lines(id_of(books, "ledger")) == [
        "in 1 query",
        "queried together with invoice (1)",
    ]
    assert books.reader.usage.lines(id_of(books, "scratch")) == [
        "never queried, while 3 other tables are"
    ]
    (file,) = books.folder.glob("generations/*/queries/queries.json")
    stored = file.read_text("utf-8")
    assert "Ann Lee" not in stored
    assert "i.due = ?" in stored
    assert books.learn("log.sql").unchanged == ("log.sql",)
    (here / "copy.sql").write_text(SCRIPT, "utf-8")
    assert books.learn("copy.sql").unchanged == ("copy.sql",)  # the same contents count once
    (here / "log.sql").write_text(SCRIPT + JOIN, "utf-8")
    assert books.learn("log.sql").learnt[0].queries == 3
    assert [log.queries for log in books.reader.usage.logs] == [3]  # it took its older self's place
    assert dovetail.build(into=books.folder, settings=PLAIN).reader.usage == books.reader.usage
    assert books.forget_queries().forgotten == ("log.sql",)
    assert {edge.columns: edge.score for edge in books.joins(least=-1)} == before
    with pytest.raises(NotFoundError, match=r"no log 'log.sql' was learnt"):
        books.forget_queries("log.sql")


def test_tables_of_queries_are_learnt_with_their_counts_and_times(
    books: dovetail.Catalog, here: Path
) -> None:
    rows = {"QUERY_TEXT": [JOIN, None], "calls": [200, 1], "start_time": ["2026-03-02 10:00", None]}
    pq.write_table(pa.table(rows), here / "log.parquet")
    (here / "log.csv").write_text(f'sql,date\n"{JOIN} AND 1 = 1",2026-05-06\n', "utf-8")
    lines = [json.dumps({"query": JOIN + " AND 2 = 2"}), "[", json.dumps([1]), "{}"]
    (here / "log.jsonl").write_text("\n".join(lines), "utf-8")
    (here / "log.json").write_text(
        json.dumps([{"sql": JOIN + " AND 3 = 3", "count": "x"}]), "utf-8"
    )
    books.learn("log.parquet", "log.csv", "log.jsonl", "log.json")
    use = books.reader.usage.tables[id_of(books, "ledger")]
    assert (use.queries, use.last) == (203, "2026-05-06")
    edge = next(edge for edge in books.joins() if edge.evidence.get("queries") == 203)
    assert edge.score > 0.99


def test_a_join_without_one_common_value_is_contradicted(
    books: dovetail.Catalog, here: Path
) -> None:
    (here / "log.sql").write_text("SELECT * FROM scratch s, client c WHERE s.a = c.id", "utf-8")
    books.learn("log.sql")
    (edge,) = [edge for edge in books.joins(least=-1) if "queries" in edge.evidence]
    assert (edge.match_rate, edge.score < 0.5) == (0.0, True)


def test_questions_with_their_sql_are_examples_for_the_next(
    books: dovetail.Catalog, here: Path
) -> None:
    (here / "log.sql").write_text(SCRIPT, "utf-8")
    books.learn("log.sql")
    ids = [id_of(books, "ledger")]
    (example,) = nearest_examples(books.reader.usage.examples, "Who will pay?", ids)
    assert example.question == "What did ? pay?"
    text = prompt("Who will pay?", relations([books["ledger"]]), (), "duckdb", "", [example])
    assert "What did ? pay?\nSELECT * FROM ledger AS l JOIN invoice AS i ON l.ref = i.nr" in text
    assert nearest_examples(books.reader.usage.examples, "Weather tomorrow", ids) == []
    assert "answered before" not in prompt("Q", relations([books["ledger"]]), (), "duckdb", "")
    books.forget_queries()
    books.learn("log.sql", keep_literals=True)
    assert books.reader.usage.examples[0].question == "What did Ann Lee pay?"
    assert "'Ann Lee'" in books.reader.usage.examples[0].sql


def test_the_nearest_examples_are_those_over_the_same_tables() -> None:
    one, two = TableId("s", "a"), TableId("s", "b")
    examples = [
        QueryExample("revenue by region", "SELECT 1", (two,)),
        QueryExample("revenue by region and year", "SELECT 2", (one,)),
        QueryExample("staff by office", "SELECT 3", (one,)),
    ]
    found = nearest_examples(examples, "revenue by region", [one])
    assert [each.sql for each in found] == ["SELECT 2", "SELECT 1"]


def test_used_tables_are_found_first_where_the_question_says_as_much_of_others(
    books: dovetail.Catalog, here: Path
) -> None:
    plain = books.search("nr ref id", k=4)
    assert all("use" not in candidate.signals for candidate in plain)
    (here / "log.sql").write_text("SELECT * FROM ledger;" * 9, "utf-8")
    books.learn("log.sql")
    used = {each.id.name: each.signals["use"] for each in books.search("nr ref id", k=4)}
    assert used["ledger"] == pytest.approx(0.08)
    assert used["invoice"] == 0


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.csv", "a,b\n1,2\n", "has no column of queries"),
        ("log.parquet", "no parquet", "cannot read"),
        ("log.json", "[" * 100_000, "cannot read"),
        ("missing.sql", None, "there is no file"),
    ],
)
def test_a_log_that_is_none_is_one_line_and_the_others_count(
    name: str, content: str | None, said: str, books: dovetail.Catalog, here: Path
) -> None:
    if content is not None:
        (here / name).write_text(content, "utf-8")
    (here / "good.sql").write_text(JOIN, "utf-8")
    summary = books.learn(name, "good.sql")
    assert said in summary.failed[0]
    assert "\n" not in summary.failed[0]
    assert summary.learnt[0].queries == 1


def test_hostile_statements_are_counted_and_passed_over(
    books: dovetail.Catalog, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hostile = [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "date(" * 39 + "1" + ")" * 39 + " FROM client",
        "SELECT '" + "x" * 10_000_000 + "' FROM client",
        "SELECT \x1b[31m FROM client",
        "SELECT * FROM client \u202e",
        "WITH RECURSIVE r AS (SELECT * FROM r) SELECT * FROM r JOIN client ON r.id = client.id",
        'SELECT * FROM client AS "\x07", client AS b',
        "SELECT * FROM client FOR SYSTEM_TIME AS OF x !! 3",
    ]
    rows = [{"sql": sql} for sql in [*hostile, JOIN]]
    (here / "log.json").write_text(json.dumps(rows), "utf-8")
    (log,) = books.learn("log.json").learnt
    assert log.queries + log.others + log.broken == len(rows)
    assert log.broken >= 5
    assert id_of(books, "ledger") in log.tables
    assert capfd.readouterr().err == ""


def test_scripts_are_split_outside_of_quotes_and_comments() -> None:
    text = "SELECT ';' ; -- a; b\nSELECT \";\" /* ; */, $$;$$;;\n-- q: How many?\nSELECT 3"
    found = [(each.sql, each.question) for each in script(text)]
    assert found == [
        ("SELECT ';'", ""),
        ('-- a; b\nSELECT ";" /* ; */, $$;$$', ""),
        ("", ""),
        ("-- q: How many?\nSELECT 3", "How many?"),
    ]


def test_what_is_no_log_by_its_name_is_refused(books: dovetail.Catalog, here: Path) -> None:
    (here / "log.bin").write_bytes(b"")
    with pytest.raises(UsageError, match="is no query log by its name"):
        list(statements_in(here / "log.bin"))


def test_damaged_knowledge_is_an_error_and_an_update_says_that_it_is_lost(
    books: dovetail.Catalog, here: Path
) -> None:
    (here / "log.sql").write_text(SCRIPT, "utf-8")
    books.learn("log.sql")
    for file in books.folder.glob("generations/*/queries/*queries.json"):
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content.replace(b"ledger", b"lodger"))
    with pytest.raises(DamagedError, match=r"queries\.json is damaged: its checksum"):
        _ = dovetail.open(books.folder, PLAIN).reader.usage
    done = dovetail.update(into=books.folder, settings=PLAIN)
    assert any(line.startswith("queries: what was known is lost") for line in done.notices)
    assert done.catalog.reader.usage == NO_USAGE


def test_statements_that_postgresql_counts_are_read(books: dovetail.Catalog) -> None:
    with postgres() as database:
        try:
            database.run("CREATE EXTENSION pg_stat_statements")
        except psycopg.Error:
            pytest.skip("the extension pg_stat_statements is not there to be created")
        source = PostgresSource(root(database.url, Path.cwd()))
        try:
            with closing(source):
                counted = list(source.statements(1000))
        except SourceError as error:  # created, but not among shared_preload_libraries
            assert "pg_stat_statements must be loaded" in str(error)
            assert "\n" not in str(error)
            return
        assert all(calls >= 1 for _, calls, _ in counted)
        log = open_log(books.reader, database.url)
        assert log.dialects == ("postgres",)
        assert all(isinstance(each, Statement) for each in log.statements)


def test_a_server_that_counts_no_statements_says_how_it_would(books: dovetail.Catalog) -> None:
    with postgres() as database:
        summary = books.learn(database.url)
    assert summary.learnt == ()
    assert "CREATE EXTENSION pg_stat_statements" in summary.failed[0]
