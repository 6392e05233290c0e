"""The paper's purposes: written once for what a model sees, whatever the endpoint does."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.endpoint import Endpoint, Play, endpoint, fails, says

import dovetail
from dovetail.catalog.descriptions import DescriptionFile
from dovetail.domain import Description, Skipped, TableId
from dovetail.models.endpoint import Patience
from dovetail.models.openai import OpenAILLM
from dovetail.offline.describe import Prices
from dovetail.offline.summary import DescribeSummary, Progress
from dovetail_bench.core_t.purposes import read_purpose, write_purposes

QUICK = Patience(attempts=2, attempt_seconds=2.0, deadline=5.0, first_wait=0.01)


def model(server: Endpoint, name: str = "tiny") -> OpenAILLM:
    return OpenAILLM(name, workers=8, patience=QUICK, environ=server.environ)


def asked_about(body: dict[str, Any]) -> str:
    found = re.search(r"^Table: (.*)$", body["messages"][-1]["content"], re.MULTILINE)
    assert found
    return found[1]


def about(body: dict[str, Any]) -> Play:
    return says(f"All about {asked_about(body)}.", usage=(200, 10))


def make(path: Path, **tables: str) -> None:
    with sqlite3.connect(path) as connection:
        for name, rows in tables.items():
            connection.execute(f"CREATE TABLE {name} (id INTEGER, note TEXT)")
            connection.execute(f"INSERT INTO {name} VALUES {rows}")
    connection.close()


def purposes(catalog: dovetail.Catalog) -> dict[TableId, Description]:
    return DescriptionFile(catalog.folder).of(catalog.reader.records)


@pytest.fixture
def catalog(tmp_path: Path) -> dovetail.Catalog:
    make(tmp_path / "a.sqlite", orders="(1, 'x'), (2, NULL)", items="(1, 'y')", empty_="(1, '')")
    make(tmp_path / "b.sqlite", orders="(1, 'x'), (2, NULL)", items="(9, 'z')")
    sources = [f"{name}={tmp_path / name}" for name in ("a.sqlite", "b.sqlite")]
    return dovetail.build(*sources, into=tmp_path / "catalog")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Sales by shop.", "Sales by shop."),
        ("  Purpose:  Sales\n by  shop. ", "Sales by shop."),
        ('"Sales by shop."', "Sales by shop."),
        ("<think>Hm, None?</think>Sales.", "Sales."),
        ("None", ""),
        ("none.", ""),
        ("**NONE**\n", ""),
        ("Purpose: `None`", ""),
        ("None of the shops sell.", "None of the shops sell."),
        ("\x1b[31mred", "[31mred"),
        ("x " * 2000, ("x " * 2000).strip()),
        ("", None),
        (" \n\x00", None),
    ],
)
def test_a_reply_becomes_a_purpose(reply: str, text: str | None) -> None:
    assert read_purpose(reply) == text


def test_each_table_gets_its_purpose_and_lookalikes_share_one_call(
    catalog: dovetail.Catalog,
) -> None:
    seen: list[Progress] = []
    with endpoint(about) as server:
        report = write_purposes(
            catalog.reader,
            model(server),
            on_progress=seen.append,
            prices=Prices(0.5, 2.0),
            workers=3,
        )
    assert sorted(map(asked_about, server.asked)) == ["empty_", "items", "items", "orders"]
    assert server.asked[0]["max_tokens"] == 1_024
    assert replace(report, seconds=0.0) == DescribeSummary(
        "openai:tiny", written=5, tokens_in=800, tokens_out=40, cost=report.cost
    )
    assert report.cost == pytest.approx((800 * 0.5 + 40 * 2.0) / 1e6)
    assert seen[0] == Progress("describe", 0, 5, "0 tokens in, 0 out")
    assert seen[-1] == Progress("describe", 5, 5, "800 tokens in, 40 out, cost 0.0005")
    found = purposes(dovetail.open(catalog.folder))
    assert list(found) == catalog.ids
    about_orders = Description("All about orders.", "openai:tiny")
    assert found[TableId("b.sqlite", "orders")] == about_orders


def test_only_another_model_or_sample_is_asked_again(
    catalog: dovetail.Catalog, tmp_path: Path
) -> None:
    with endpoint(about) as server:
        write_purposes(catalog.reader, model(server))
        assert write_purposes(catalog.reader, model(server)).reused == 5
        assert len(server.asked) == 4
        with sqlite3.connect(tmp_path / "b.sqlite") as connection:
            connection.execute("INSERT INTO items VALUES (10, 'new')")
        connection.close()
        catalog = dovetail.build(into=catalog.folder)
        report = write_purposes(catalog.reader, model(server))
        assert (report.written, report.reused) == (1, 4)
        assert [asked_about(body) for body in server.asked[4:]] == ["items"]
        other = write_purposes(catalog.reader, model(server, "huge"))
        assert (other.written, other.reused) == (5, 0)
        assert purposes(catalog)[catalog.ids[0]].author == "openai:huge"
        back = write_purposes(catalog.reader, model(server))
        assert (back.written, back.reused, back.tokens_in) == (0, 5, 0)
        assert purposes(catalog)[catalog.ids[0]].author == "openai:tiny"


def test_rows_that_the_model_does_not_see_cost_nothing(tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, 'note {n}')" for n in range(400))
    make(tmp_path / "big.sqlite", notes=rows)
    catalog = dovetail.build(str(tmp_path / "big.sqlite"), into=tmp_path / "catalog")
    (before,) = catalog
    unseen = next(n for n in range(400) if str(n) not in {row[0] for row in before.sample})
    with endpoint(about) as server:
        write_purposes(catalog.reader, model(server))
        with sqlite3.connect(tmp_path / "big.sqlite") as connection:
            connection.execute(f"UPDATE notes SET note = 'other' WHERE id = {unseen}")
        connection.close()
        catalog = dovetail.build(into=catalog.folder)
        (after,) = catalog
        assert (after.sample, after.digest == before.digest) == (before.sample, False)
        assert write_purposes(catalog.reader, model(server)).reused == 1
        assert purposes(catalog)[after.id].text == "All about notes."
    assert len(server.asked) == 1


def test_a_failure_leaves_one_table_without_and_is_listed(catalog: dovetail.Catalog) -> None:
    def moody(body: dict[str, Any]) -> Play:
        return {"orders": fails(400, "no"), "empty_": says(" ")}.get(asked_about(body), about(body))

    with endpoint(moody) as server:
        report = write_purposes(catalog.reader, model(server))
        assert [str(skip.table) for skip in report.failed] == ["empty_", "orders", "orders"]
        assert report.failed[0] == Skipped("a.sqlite", "empty_", "the model answered with nothing")
        assert "refuses the request (400: no)" in report.failed[1].reason
        assert report.written == 2
    assert [table.name for table in purposes(catalog)] == ["items", "items"]
    with endpoint(says("None.")) as server:
        report = write_purposes(catalog.reader, model(server))
    assert (report.written, report.reused, report.failed) == (3, 2, ())
    assert TableId("a.sqlite", "orders") not in purposes(catalog)


@pytest.mark.slow
def test_an_endpoint_that_always_fails_is_not_asked_for_every_table(
    sample: dovetail.Catalog, tmp_path: Path
) -> None:
    with endpoint(fails(401)) as server:
        report = write_purposes(sample.reader, model(server), workers=2)
    assert len(report.failed) == len(sample)
    assert 20 <= len(server.asked) <= 23
    reasons = [skip.reason for skip in report.failed]
    assert sum("check OPENAI_API_KEY" in reason for reason in reasons) >= 20
    assert "not tried, after 20 failures in a row" in reasons
