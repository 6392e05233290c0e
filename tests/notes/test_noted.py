"""Notes on a catalog: resolved by what people call tables, applied without a new index."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import dovetail
from dovetail.catalog.generation import Manifest
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import TableRecord, to_records
from dovetail.domain import Column, ColumnProfile, JoinEdge, Kind, Table, TableId
from dovetail.errors import UsageError
from dovetail.families.family import Families, Family, FamilyMember, Role
from dovetail.joins.edges import EditedEdges
from dovetail.notes.apply import marked_families, noted_edges
from dovetail.notes.notes import Mark, Notes, forget, note, notes_in, read_notes
from dovetail.ports import Json
from dovetail.retrieve.proposals import Proposal, proposals
from tests.support.scripted import playing

SETTINGS = dovetail.Settings(embedder="none")


@pytest.fixture
def shop(tmp_path: Path) -> dovetail.Catalog:
    """Three tables: two that join surely, and a third that joins only if somebody says so."""
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE client (client_id INTEGER, mail TEXT);
            CREATE TABLE invoice (invoice_no INTEGER, client_id INTEGER, due TEXT);
            CREATE TABLE ledger (bkg INTEGER, ref INTEGER, amt REAL);
        """)
        clients = [(4000 + 7 * n, f"c{n}@x.no") for n in range(60)]
        connection.executemany("INSERT INTO client VALUES (?, ?)", clients)
        invoices = [(n, clients[n % 60][0], "2024-05-01") for n in range(1, 201)]
        connection.executemany("INSERT INTO invoice VALUES (?, ?, ?)", invoices)
        connection.executemany(
            "INSERT INTO ledger VALUES (?, ?, ?)", [(n, n % 150 + 1, n / 7) for n in range(300)]
        )
        connection.commit()
    return dovetail.build(f"erp={path}", into=tmp_path / "catalog", settings=SETTINGS)


def write(catalog: dovetail.Catalog, text: str) -> None:
    assert catalog.reader.notes_file is not None
    catalog.reader.notes_file.write_text(text, "utf-8")


def joined(catalog: dovetail.Catalog) -> set[tuple[str, str]]:
    return {(edge.left.name, edge.right.name) for edge in catalog.joins()}


def test_domains_are_named_given_a_master_and_a_column_is_taken_out(shop: dovetail.Catalog) -> None:
    (domain,) = shop.domains()
    assert (domain.name, str(domain.master)) == ("client ids", "erp::client.client_id")
    write(shop, '[domains]\n"patrons" = "invoice.client_id"\n')
    (domain,) = shop.domains()
    assert (domain.name, str(domain.master)) == ("patrons", "erp::invoice.client_id")
    assert domain.masters == {"erp": domain.master}
    shop.refresh()
    assert [each.name for each in shop.domains("client")] == ["patrons"]
    write(shop, '[domains]\n"invoice.client_id" = "none"\n')
    assert (shop.domains(), joined(shop)) == ([], set())
    assert (shop.path("invoice", "client"), shop.show("client")["domains"]) == ([], [])
    pin = '[joins]\n"invoice.client_id = client.client_id" = "pin"\n'
    write(shop, f'{pin}[domains]\n"invoice.client_id" = "none"\n')
    assert joined(shop) == {("invoice", "client")}


def test_the_noted_master_of_a_domain_is_what_its_columns_join(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE client (client_id INTEGER, mail TEXT);
            CREATE TABLE client_profile (client_id INTEGER, height REAL);
            CREATE TABLE invoice (invoice_no INTEGER, client_id INTEGER);
            CREATE TABLE visit (visit_no INTEGER, client_id INTEGER);
        """)
        ids = [4000 + 7 * n for n in range(60)]
        connection.executemany("INSERT INTO client VALUES (?, ?)", [(n, f"c{n}@x.no") for n in ids])
        profiles = [(n, n / 40) for n in ids]
        connection.executemany("INSERT INTO client_profile VALUES (?, ?)", profiles)
        for table in ("invoice", "visit"):
            rows = [(n, ids[n % 60]) for n in range(200)]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        connection.commit()
    shop = dovetail.build(f"erp={path}", into=tmp_path / "catalog", settings=SETTINGS)
    referring = {("invoice", "client"), ("visit", "client")}
    assert referring < joined(shop)
    write(shop, '[domains]\n"patrons" = "client_profile.client_id"\n')
    redirected = joined(shop)
    assert {("invoice", "client_profile"), ("visit", "client_profile")} < redirected
    assert not referring & redirected
    pin = '[joins]\n"visit.client_id = client.client_id" = "pin"\n'
    write(shop, f'{pin}[domains]\n"patrons" = "client_profile.client_id"\n')
    assert ("visit", "client") in joined(shop)


def test_names_may_be_quoted_as_sql_quotes_them(tmp_path: Path) -> None:
    for name in ("order", "group 2024"):
        (tmp_path / f"{name}.csv").write_text("no,select\n1,2\n2,3\n3,1\n")
    into = tmp_path / "catalog"
    shop = dovetail.build(tmp_path / "order.csv", tmp_path / "group 2024.csv", into=into)
    write(shop, """[joins]\n'"order"."select" = "group 2024".no' = "pin"\n""")
    assert shop.notes.warnings == ()
    (edge,) = (edge for edge in shop.joins() if "pinned" in edge.evidence)
    assert {edge.left.name, edge.right.name} == {"order", "group 2024"}
    write(shop, """[joins]\n'"order" = "group 2024"' = "ban"\n""")
    assert shop.joins() == []


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("patrons", "clint.client_id", "there is no table 'clint'"),
        ("patrons", "client.cid", "client_id"),
        ("patrons", "client", "write table.column"),
        ("patrons", "ledger.amt", "pin one with dovetail note pin first"),
        ("invoice.cid", "none", "client_id"),
    ],
)
def test_a_domain_that_is_none_is_refused_with_a_remedy(
    shop: dovetail.Catalog, key: str, value: str, says: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        note(shop.reader, "domains", key, value)


def test_a_column_that_refers_on_a_condition_names_no_domain(tmp_path: Path) -> None:
    orders, invoices = ([first + 7 * n for n in range(200)] for first in (400_003, 900_001))
    refs = [(orders if n % 2 else invoices)[n * 11 % 200] for n in range(400)]
    tables = {
        "orders": pa.table({"order_no": orders, "sum": [n / 7 for n in range(200)]}),
        "invoices": pa.table({"invoice_no": invoices, "due": [n / 3 for n in range(200)]}),
        "remarks": pa.table({"ref_type": [n % 2 for n in range(400)], "ref_id": refs}),
    }
    catalog = dovetail.build(tables, into=tmp_path / "catalog", settings=SETTINGS)
    assert {edge.when[0] for edge in catalog.joins("remarks")} == {"ref_type"}
    with pytest.raises(UsageError, match="is in no key domain: it joins on a condition"):
        note(catalog.reader, "domains", "documents", "remarks.ref_id")
    note(catalog.reader, "domains", "remarks.ref_id", "none")
    catalog.refresh()
    assert catalog.joins("remarks") == []


def test_a_pinned_join_is_one_and_says_so(shop: dovetail.Catalog) -> None:
    assert joined(shop) == {("invoice", "client")}
    write(shop, '[joins]\n"Invoice.invoice_no = ledger.ref" = "pin"\n')
    (pinned,) = (edge for edge in shop.joins("ledger") if "pinned" in edge.evidence)
    assert (pinned.left.name, pinned.right.name) == ("ledger", "invoice")  # n:1, however written
    assert pinned.columns == (("ref", "invoice_no"),)
    assert (pinned.score, pinned.cardinality, pinned.match_rate) == (1, "n:1", 1)
    assert [edge.left.name for edge in shop.path("ledger", "client")] == ["ledger", "invoice"]
    assert shop.searcher.joined([TableId("erp", "ledger"), TableId("erp", "invoice")])[0, 1] == 1
    assert shop.reader.notes_file is not None
    shop.reader.notes_file.unlink()
    assert joined(shop) == {("invoice", "client")}


@pytest.mark.parametrize("ban", ["client.client_id = invoice.client_id", "client = invoice"])
def test_a_banned_join_is_none(shop: dovetail.Catalog, ban: str) -> None:
    tables = [TableId("erp", "client"), TableId("erp", "invoice")]
    assert shop.searcher.joined(tables)[0, 1] > 0.5
    write(shop, f'[joins]\n"{ban}" = "ban"\n')
    assert joined(shop) == set()
    assert shop.searcher.joined(tables)[0, 1] < 0.5


def test_a_term_means_the_tables_it_is_defined_by(shop: dovetail.Catalog) -> None:
    assert shop.search("What is our DSO?") == []
    write(shop, '[terms]\nDSO = "days sales outstanding: invoice, erp::ledger"\n')
    found = shop.ask("What is our dso?")
    why = {chosen.name: chosen.reason for chosen in found}
    assert {*list(why)[:2]} == {"invoice", "ledger"}  # and what joins them may follow
    assert why["invoice"] == why["ledger"] == "your notes define DSO as days sales outstanding"
    narrow = shop.ask("What is our DSO per client?", breadth=0)
    assert {"invoice", "ledger"} <= {chosen.name for chosen in narrow}  # whatever is likelier


def test_a_synonym_is_the_other_word(shop: dovetail.Catalog) -> None:
    assert shop.search("Which patrons?") == []
    write(shop, '[terms]\npatron = "client"\n')
    (first, *_) = shop.ask("Which patrons?")
    assert (first.name, first.reason) == ("client", "your notes take patron for client")


def test_a_term_that_is_a_stop_word_must_be_written_as_noted(shop: dovetail.Catalog) -> None:
    write(shop, '[terms]\nIT = "systems: ledger"\n')
    assert shop.search("What does it cost?") == []
    assert [found.id.name for found in shop.search("What does IT cost?")][:1] == ["ledger"]


def test_a_remark_is_searched_and_quoted(shop: dovetail.Catalog) -> None:
    write(shop, '[about]\nledger = "bookings of freight"\n"ledger.amt" = "in krone"\n')
    (first, *_) = shop.ask("How much freight?")
    assert (first.name, first.reason) == ("ledger", "your note says 'bookings of freight'")
    assert [found.id.name for found in shop.search("How many krone?")] == ["ledger"]


def test_an_ignored_table_is_not_found_and_joins_nothing(shop: dovetail.Catalog) -> None:
    write(shop, '[tables]\nclient = "ignore"\n')
    assert "client" not in [found.id.name for found in shop.search("client of an invoice")]
    assert shop.searcher.joins.joins(TableId("erp", "invoice")) == []


def test_problems_name_the_line_and_the_rest_counts(shop: dovetail.Catalog) -> None:
    write(
        shop,
        """[joins]
"invoce.x = client.y" = "pin"
"invoice.nope = client.client_id" = "pin"
"invoice.client_id" = "pin"
"invoice.client_id = client.client_id" = "maybe"
[tables]
client = "master"
[terms]
A = "b: nowhere"
B = ":"
[about]
ledger = "good"
""",
    )
    assert shop.notes.warnings == (
        "dovetail.notes.toml line 2: there is no table 'invoce'; did you mean invoice?",
        "dovetail.notes.toml line 3: erp::invoice has no column 'nope'; it has: invoice_no, "
        "client_id, due",
        "dovetail.notes.toml line 4: 'invoice.client_id' is no join: write table.column = "
        "other.column",
        "dovetail.notes.toml line 5: a join is pin or ban, not 'maybe'",
        "dovetail.notes.toml line 7: a table is canonical, copy, copy of TABLE, or ignore, not "
        "'master'",
        "dovetail.notes.toml line 9: there is no table 'nowhere'",
        "dovetail.notes.toml line 10: 'B' is not defined: write words, and after a colon tables",
    )
    assert [remark.text for remark in shop.notes.remarks] == ["good"]


def test_notes_can_be_left_out_and_kept_elsewhere(shop: dovetail.Catalog, tmp_path: Path) -> None:
    write(shop, '[terms]\nDSO = ": invoice"\n')
    off = dovetail.open(shop.folder, SETTINGS.but(use_notes=False))
    assert not off.notes
    assert off.search("DSO") == []
    other = tmp_path / "ours.toml"
    other.write_text('[terms]\nDSO = ": ledger"\n')
    chosen = dovetail.open(shop.folder, SETTINGS.but(notes=str(other)))
    assert [found.id.name for found in chosen.search("DSO")] == ["ledger"]


def test_nothing_is_written_that_says_nothing(shop: dovetail.Catalog) -> None:
    with pytest.raises(UsageError, match=r"there is no table 'clint'; did you mean client\?"):
        note(shop.reader, "tables", "clint", "ignore")
    assert shop.reader.notes_file is not None
    assert not shop.reader.notes_file.exists()
    note(shop.reader, "tables", "client", "ignore")
    assert shop.notes.ignored == {TableId("erp", "client")}
    assert forget(shop.reader, "client") == ["tables"]
    with pytest.raises(UsageError, match="has no entry 'client'"):
        forget(shop.reader, "client")


def test_what_was_right_proposes_pins_and_definitions(shop: dovetail.Catalog) -> None:
    write(
        shop,
        '[questions]\n"What freight did each client pay?" = "ledger, client"\n'
        '"Freight per day?" = "ledger"\n"Due date of invoices" = "invoice"\n'
        '"DSO in May" = "invoice"\n',
    )
    found = proposals(shop.searcher)
    why = "no table says it, and these were right for 2 of your questions"
    assert Proposal("terms", "freight", ": erp::ledger", why) in found
    assert [each.key for each in found if each.section == "terms"] == ["freight", "dso"]
    for each in found:
        note(shop.reader, each.section, each.key, each.value)
    assert shop.notes.problems == ()
    assert "ledger" in [chosen.name for chosen in shop.ask("Freight in 2024?")]


def edges_twin(edges: list[JoinEdge], notes: Notes) -> list[JoinEdge]:
    """What pins and bans come to, edge by edge."""
    pinned = {frozenset(pin.columns): pin for pin in notes.pins}
    left = [
        edge
        for edge in edges
        if not any(ban.forbids(edge) for ban in notes.bans)
        and frozenset(edge.columns) not in pinned
        and frozenset((b, a) for a, b in edge.columns) not in pinned
    ]
    return [*notes.pins, *left]


def test_edited_edges_are_those_of_a_plain_list(shop: dovetail.Catalog) -> None:
    write(
        shop,
        '[joins]\n"ledger.ref = invoice.invoice_no" = "pin"\n"client = invoice" = "ban"\n',
    )
    plain = dovetail.open(shop.folder, SETTINGS.but(use_notes=False)).joins(least=-1)
    found = noted_edges(plain, shop.notes)
    assert isinstance(found, EditedEdges)
    twin = edges_twin(plain, shop.notes)
    assert [(e.left, e.right, e.columns) for e in found] == [
        (e.left, e.right, e.columns) for e in twin
    ]
    assert found[:5] == list(found)
    assert list(found.ends) == [(edge.left, edge.right) for edge in twin]


def test_marks_change_families() -> None:
    a, b, c, d = (TableId("s", name) for name in "abcd")
    members = (FamilyMember(a, Role.TABLE), FamilyMember(b, Role.COPY), FamilyMember(c, Role.COPY))
    families = Families([Family("a", a, members)])
    canonical = marked_families(families, Notes(marks=(Mark(b, "canonical"),)))
    assert (canonical.canonical(a), canonical.canonical(c)) == (b, b)
    copied = marked_families(families, Notes(marks=(Mark(c, "copy", d),)))
    assert (copied.canonical(c), copied.canonical(b), copied.canonical(d)) == (d, a, d)
    family = copied.of(c)
    assert family is not None
    assert family.members[-1].evidence == "your notes say so"
    gone = marked_families(families, Notes(marks=(Mark(a, "copy", d),)))
    assert (gone.canonical(a), gone.canonical(c)) == (d, b)


def test_notes_on_ten_thousand_tables_take_no_time(tmp_path: Path) -> None:
    profile = ColumnProfile(Kind.TEXT, 0, 0, False, None, None, None, None, ())
    columns = (Column("a", "VARCHAR", profile),)
    placed: Json = {"hashes_at": 0, "counts_at": None, "phrases_at": 0, "phrases": 0, "views": []}
    tables = [
        TableRecord(
            Table(TableId("s", f"part_{n % 70}.thing_{n}"), columns, 0, (), ""), "s", "", [placed]
        )
        for n in range(10_000)
    ]
    records = to_records(tables).sorted()
    catalog = CatalogReader(tmp_path, Manifest(1, {}, (), (), {}, {}), records, {})
    file = tmp_path / "notes.toml"
    lines = [f'term{n} = "words of it: thing_{n}, part_{n % 70}.thing_{n}"\n' for n in range(30)]
    file.write_text("[terms]\n" + "".join(lines) + '[tables]\nthing_77 = "ignore"\n')
    assert len(catalog.ids) == 10_000
    began = time.thread_time()
    found = notes_in(file, catalog)
    spent = time.thread_time() - began
    assert len(found.definitions) == 30
    assert found.problems == ()
    assert spent < 10  # 0.02 s measured; minutes, if each line went over all tables by itself
    assert read_notes(catalog).file is None


def test_a_model_that_writes_sql_is_told_what_terms_mean(shop: dovetail.Catalog) -> None:
    write(shop, '[terms]\nDSO = "days sales outstanding: invoice.due, client"\n')
    with playing(["SELECT 1"]) as model:
        shop.write_sql(shop.ask("What is the DSO?", selector="graph"), llm=model.llm)
    (asked,) = model.asked
    told = "Known besides: DSO: days sales outstanding, invoice.due\n"
    assert told in asked["messages"][0]["content"]
