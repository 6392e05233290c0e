"""What was taught binds: confirmed sets, definitions by column, bans, pins in their normal form."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.catalog.usage import NO_USAGE
from dovetail.domain import TableId
from dovetail.notes.notes import Answered, Notes
from dovetail.retrieve.match import deciding_columns
from dovetail.search.taught import Lessons, _says

SETTINGS = dovetail.Settings(embedder="none")


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Orders of customers in a shop, and a warehouse that writes the same numbers otherwise."""
    folder = tmp_path_factory.mktemp("taught")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.executescript("""
            CREATE TABLE customer (customer_no TEXT, name TEXT, region_cd TEXT);
            CREATE TABLE orders (order_no INTEGER, customer_no TEXT, total REAL);
            CREATE TABLE parcel (parcel_id INTEGER, cust TEXT, weight REAL);
            CREATE TABLE tariff (tariff_id INTEGER, zone TEXT, price REAL);
        """)
        for n in range(1, 61):
            number = f"C-{1000 + 13 * n}"
            connection.execute(
                "INSERT INTO customer VALUES (?, ?, ?)", (number, f"{chr(64 + n)} Ltd", f"R{n % 4}")
            )
            connection.execute("INSERT INTO orders VALUES (?, ?, ?)", (n, number, n / 3))
            parcel = (7 * n, f"c{1000 + 13 * n}", n / 7)
            connection.execute("INSERT INTO parcel VALUES (?, ?, ?)", parcel)
            connection.execute("INSERT INTO tariff VALUES (?, ?, ?)", (n, f"Z{n % 7}", n / 5))
        connection.commit()
    return dovetail.build(f"shop={folder / 'shop.sqlite'}", into=folder / "cat", settings=SETTINGS)


def write(catalog: dovetail.Catalog, text: str) -> None:
    assert catalog.reader.notes_file is not None
    catalog.reader.notes_file.write_text(text, "utf-8")


def names(found: dovetail.TableSet) -> list[str]:
    return [table.name for table in found]


CONFIRMED = '[questions]\n"What did region R1 spend on parcels?" = "orders, tariff"\n'


@pytest.mark.parametrize(
    "question",
    [
        "What did region R1 spend on parcels?",
        "  what did Region r1 spend on parcels ",
        'What did region "R1" spend on parcels??',
    ],
)
def test_the_same_question_has_the_confirmed_set(company: dovetail.Catalog, question: str) -> None:
    write(company, CONFIRMED)
    found = company.ask(question)
    assert names(found) == ["orders", "tariff"]
    assert {table.reason for table in found} == {"you confirmed it for this question"}
    assert (found.confidence, found.answerable, found.alternatives) == (1, 1, ())
    explained = company.ask(question, explain=True).explanation
    assert explained is not None
    assert [one["table"] for one in explained["tables"]] == ["shop::orders", "shop::tariff"]


def test_a_near_question_starts_from_the_confirmed_set(company: dovetail.Catalog) -> None:
    write(company, CONFIRMED)
    other_value = company.ask("What did region R2 spend on parcels?")
    assert {"orders", "tariff"} <= set(names(other_value))
    why = "you confirmed it for this question: 'What did region R1 spend on parcels?'"
    assert other_value.tables[names(other_value).index("tariff")].reason.startswith(why)
    another = company.ask("How heavy was each parcel of a customer?")
    assert "tariff" not in names(another)


def test_masks_stand_for_one_to_eight_words_each() -> None:
    draw = random.Random(1)
    held = 0
    for _ in range(5_000):
        masked = tuple(draw.choices("ab?c", k=draw.randint(1, 5)))
        words = tuple(draw.choices("abc?", k=draw.randrange(14)))
        parts = (r"\S+(?: \S+){0,7}" if word == "?" else word for word in masked)
        wanted = re.fullmatch(" ".join(parts), " ".join(words)) is not None
        assert _says(masked, words) == wanted, (masked, words)
        held += wanted
    assert held > 200


def test_a_lesson_is_near_by_what_it_says() -> None:
    orders, visits = TableId("s", "orders"), TableId("s", "visits")

    def lesson(asked: str) -> tuple[tuple[TableId, ...], bool, set[str], set[str]] | None:
        answered = (
            Answered("Late orders per carrier and depot in 2023?", (orders,)),
            Answered("Visits of Ann Lee?", (visits,)),
            Answered("Takings by cash", (orders,)),
            Answered("Overdue debts", (visits,)),
            Answered("How many orders still lie in picking?", (orders,)),
            Answered("What did we order from the Vanilla House Lisbon?", (orders,)),
        )
        notes = Notes(answered=answered)
        columns = {"cash": {3, 4}, "card": {4}, "ship": {9}, "order": {3}}

        def cells(question: str) -> dict[str, frozenset[int]]:
            said = question.lower().rstrip("s").split()
            return {word: frozenset(columns[word]) for word in said if word in columns}

        taught = Lessons(notes, NO_USAGE, lambda _: True, {"order", "house"}, None, cells)
        found = taught.of(asked)
        if found is None:
            return None
        return found.tables, found.exact, set(found.more), set(found.less)

    late = (orders,)
    assert lesson("late orders, per carrier and depot, in 2023") == (late, True, set(), set())
    assert lesson("Late Orders per carrier and depot in 2021") == (late, False, set(), set())
    assert lesson("Late orders per depot in 2020") == (late, False, set(), {"carri"})
    assert lesson("Late invoices per depot") is None
    assert lesson("visits of Bo Ek") == ((visits,), False, set(), set())
    assert lesson("Takings by card") == (late, False, set(), set())  # cells of one column
    assert lesson("Takings by ship") is None
    assert lesson("Takings by orders") is None  # a name, though it is a cell as well
    assert lesson("Overdue debts by town") == ((visits,), False, {"town"}, set())
    assert lesson("Overdue debts by town and clerk") is None
    # Word for word the same but for one thing: another thing of its kind.
    dispatch = (late, False, {"dispatch"}, {"pick"})
    assert lesson("How many orders still lie in dispatch?") == dispatch
    assert lesson("How many people still lie in bed?") is None
    # A name of several words is one, though a table is called by one of them.
    assert lesson("What did we order from Alpine Cultures?") == (late, False, set(), set())


def test_a_near_question_is_as_sure_as_what_was_confirmed(company: dovetail.Catalog) -> None:
    question = "Which zone has which weight in region R1?"
    write(company, "")
    guessed = company.ask("Which zone has which weight in region R2?")
    write(company, f'[questions]\n"{question}" = "orders, tariff"\n')
    near = company.ask("Which zone has which weight in region R2?")
    assert set(names(guessed)) != {"orders", "tariff"}
    assert {"orders", "tariff"} <= set(names(near))
    assert (near.confidence or 0) > max(0.7, guessed.confidence or 0)
    assert all(one.confidence <= (near.confidence or 0) for one in near.alternatives)


def test_a_value_that_the_lesson_says_as_well_is_no_news(company: dovetail.Catalog) -> None:
    write(company, '[questions]\n"Weight and zone of R1 parcels" = "parcel, tariff"\n')
    found = company.ask("Weight, zone and price of R1 parcels")
    assert set(names(found)) == {"parcel", "tariff"}  # customer alone holds R1


def test_a_defined_term_is_no_part_of_a_cell(tmp_path: Path) -> None:
    """What is defined means its tables; that a cell has one of its words says nothing."""
    (tmp_path / "berths.csv").write_text("berth,metres\nB1,80\nB2,120\n")
    (tmp_path / "roads.csv").write_text("road,lanes\nOld Quay Street,2\nHigh Street,4\n")
    catalog = dovetail.build(tmp_path, into=tmp_path / "cat", settings=SETTINGS)
    write(catalog, '[terms]\n"quay space" = "metres of berths: berths"\n')
    assert catalog.searcher.analyse("How much quay space is there?").links == ()
    assert catalog.ask("How much quay space is there?")[0].reason == (
        "your notes define quay space as metres of berths"
    )


def test_a_past_query_teaches_its_question(company: dovetail.Catalog, tmp_path: Path) -> None:
    write(company, "")
    log = tmp_path / "log.sql"
    log.write_text(
        "-- question: How dear is zone Z7?\nSELECT price FROM tariff WHERE zone = 'Z7';\n"
        "-- question: Who lives in R2\nSELECT name FROM customer WHERE region_cd = 'R2';\n"
    )
    company.learn(log)
    for question, table in (("How dear is zone Z9?", "tariff"), ("Who lives in R3?", "customer")):
        found = company.ask(question)
        assert names(found) == [table]
        assert found[0].reason == "a past query for this question reads it"
    write(company, '[questions]\n"How dear is zone Z9?" = "orders"\n')
    assert names(company.ask("How dear is zone Z9?")) == ["orders"]  # a person's word counts
    company.forget_queries()


def test_a_term_may_mean_a_column(company: dovetail.Catalog) -> None:
    write(company, '[terms]\nterritory = ": customer.region_cd"\n')
    found = company.ask("How many per territory?")
    assert names(found) == ["customer"]
    assert found[0].reason == "your notes define territory, its column region_cd"
    assert (found.answerable or 0) > 0.9
    customer = company["customer"]
    query = company.searcher.analyse("How many per territory?")
    deciding = deciding_columns(company.searcher, query, customer)
    assert [customer.columns[at].name for at in deciding] == ["region_cd"]
    write(company, '[terms]\nterritory = ": customer.nope"\n')
    assert "has no column 'nope'" in company.notes.warnings[0]


def test_what_is_ignored_or_banned_is_never_shown(company: dovetail.Catalog) -> None:
    question = "Which customer has which orders?"
    assert set(names(company.ask(question))) == {"customer", "orders"}
    write(company, f'[tables]\norders = "ignore"\n[questions]\n"{question}" = "orders, tariff"\n')
    assert names(company.ask(question)) == ["tariff"]  # a ban is stronger than what was confirmed
    near = company.ask("orders of each customer", explain=True)
    assert names(near)[0] == "customer"  # what lacks a table teaches no other question
    assert "shop::orders" not in str(near.to_dict())
    write(company, '[joins]\n"customer = orders" = "ban"\n')
    found = company.ask(question)
    assert set(names(found)) == {"customer", "orders"}
    assert (found.joins, found.connected) == ((), False)


def test_a_pin_finds_the_normal_form_that_matches(company: dovetail.Catalog) -> None:
    write(company, '[joins]\n"parcel.cust = customer.customer_no" = "pin"\n')
    (edge,) = company.join_graph().between("parcel", "customer")
    assert (edge.score, edge.match_rate, edge.transform) == (1, 1, "punctuation")
    write(company, '[joins]\n"tariff.price = customer.customer_no" = "pin"\n')
    (edge,) = company.join_graph().between("tariff", "customer")
    assert (edge.score, edge.match_rate, edge.transform) == (1, 0, "")
    assert company.notes.warnings == (
        "dovetail.notes.toml line 2: no row of shop::tariff.price = shop::customer.customer_no "
        "matches, in any normal form; it counts all the same",
    )


@pytest.mark.parametrize("kind", ["DATE", "TEXT"])
def test_a_set_says_what_to_look_out_for(kind: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "firm.sqlite")) as connection:
        connection.executescript(f"""
            CREATE TABLE client (client_id INTEGER PRIMARY KEY, client_name TEXT);
            CREATE TABLE ticket (ticket_id INTEGER, client_id INTEGER, opened {kind});
            CREATE TABLE payment (payment_id INTEGER, client_id INTEGER, paid {kind});
            CREATE TABLE tmp_ticket (ticket_id INTEGER, client_id INTEGER, note TEXT);
        """)
        for n in range(300):
            client, day = 4000 + 7 * (n % 60), f"2021-0{n % 9 + 1}-11"
            connection.execute("INSERT OR IGNORE INTO client VALUES (?, ?)", (client, f"C{n}"))
            connection.execute("INSERT INTO ticket VALUES (?, ?, ?)", (n, client, day))
            connection.execute("INSERT INTO payment VALUES (?, ?, ?)", (900 + n, client, day))
            connection.execute("INSERT INTO tmp_ticket VALUES (?, ?, ?)", (3 * n, client, "x"))
        connection.commit()
    firm = dovetail.build(
        f"firm={tmp_path / 'firm.sqlite'}", into=tmp_path / "cat", settings=SETTINGS
    )
    found = firm.ask("Which client has tickets and payments in 2023?", explain=True)
    assert set(names(found)) == {"client", "ticket", "payment"}  # the temporary one stays behind
    assert found.warnings == (
        "payment and ticket share nothing but client: rows meet wherever client_id is equal, each "
        "about 5 or more; count or add up before joining",
        "the data ends before the time that is asked for: payment on 2021-09-11",
    )
    explained = found.explanation
    assert explained is not None
    assert "ticket covers tickets" in explained["suffices"]
    (reading,) = [one for one in explained["readings"] if one["tables"] == ["firm::tmp_ticket"]]
    assert reading["words"] == "right if firm::tmp_ticket is what it means by client, tickets"
    only = firm.ask("tmp tickets")
    assert "tmp_ticket" in names(only)
    assert "tmp_ticket may not be live: its name says tmp" in only.warnings


def test_no_number_and_no_cell_is_proposed_as_a_term(company: dovetail.Catalog) -> None:
    write(
        company,
        '[questions]\n"How many customers in 1940?" = "customer"\n"1940, per region" = "customer"\n'
        '"What does N7 owe?" = "orders"\n"N7 and its parcels" = "orders, parcel"\n'
        '"How many MQL?" = "tariff"\n',
    )
    assert [(one.key, one.value) for one in company.proposals()] == [("mql", ": shop::tariff")]
