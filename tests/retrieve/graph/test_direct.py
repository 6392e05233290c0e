"""Two tables that refer to one key of a third: joined by it, and the third is left out."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import dovetail
from dovetail.domain import TableId
from dovetail.retrieve.graph.connect import ConnectedSet, Connector
from dovetail.retrieve.graph.direct import direct_join, without_needless

MAILS = [f"person{n}@post.example" for n in range(80)]


def write(path: Path, *rows: tuple[object, ...]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    folder = tmp_path_factory.mktemp("mails")
    write(
        folder / "contacts.csv", ("email", "phone"), *((m, f"5550{n}") for n, m in enumerate(MAILS))
    )
    write(
        folder / "tickets.csv",
        ("ticket_no", "requester_email", "opened"),
        *((n, MAILS[n % 50], f"2024-05-{1 + n % 28:02}") for n in range(100)),
    )
    write(
        folder / "survey.csv",
        ("answer_no", "contact_email", "score"),
        *((n, MAILS[40 + n], n % 11) for n in range(40)),
    )
    return dovetail.build(f"s={folder}", into=folder / "catalog")


def between(one: str, other: str) -> Connector:
    return Connector(TableId("s", "contacts"), (TableId("s", one), TableId("s", other)))


def test_the_join_by_the_shared_key_is_counted_exactly(catalog: dovetail.Catalog) -> None:
    edge = direct_join(catalog, catalog.join_graph(), between("tickets", "survey"))
    assert edge is not None
    assert edge.columns == (("requester_email", "contact_email"),)
    # Of 100 tickets, two each of ten people who answered; each of them answered once.
    assert (edge.match_rate, edge.cardinality) == (0.2, "n:m")
    assert (edge.fan_out(edge.left), edge.fan_out(edge.right)) == (1.0, 2.0)


def test_a_connector_that_both_refer_to_alike_is_left_out(catalog: dovetail.Catalog) -> None:
    one = between("tickets", "survey")
    found = ConnectedSet((*one.between,), (one,))
    made = without_needless(catalog, catalog.join_graph(), found)
    assert (made.connectors, len(made.direct)) == ((), 1)
    assert made.ids == [*one.between]


def test_a_connector_with_another_key_for_each_stays(catalog: dovetail.Catalog) -> None:
    one = Connector(TableId("s", "tickets"), (TableId("s", "contacts"), TableId("s", "survey")))
    assert direct_join(catalog, catalog.join_graph(), one) is None
    found = ConnectedSet((*one.between,), (one,))
    assert without_needless(catalog, catalog.join_graph(), found).connectors == (one,)
