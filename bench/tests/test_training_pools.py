"""Pools and questions for training: what is drawn, and a corpus that is made messy."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dovetail.domain import TableId
from dovetail_bench.datasets import open_dataset
from dovetail_bench.programs.pool_examples import examples
from dovetail_bench.programs.training_examples import arrays
from dovetail_bench.programs.training_pools import (
    SIZES,
    Naming,
    keywords,
    messy,
    named_tables,
    pools,
)

PLAIN = Naming(0.0, squeezed=False, letters=4, seed="")


def test_every_database_is_in_one_pool() -> None:
    databases = [f"db{number}" for number in range(100)]
    found = pools(databases, "seed")
    assert sorted(name for pool in found for name in pool) == sorted(databases)
    assert all(len(pool) in SIZES for pool in found[:-1])
    assert found == pools(reversed(databases), "seed") != pools(databases, "other")


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("How many heads of the departments are older than 56 ?", "heads departments older 56"),
        ('What is the name of "Ada"?', "name Ada"),
        ("Show all.", ""),
    ],
)
def test_keywords(text: str, short: str) -> None:
    assert keywords(text) == short


def test_tables_are_asked_for_by_name_where_one_alone_has_it() -> None:
    pets, owners, others = (TableId("a", "pet"), TableId("a", "pet_owner"), TableId("b", "Pet"))
    alone = list(named_tables([pets, owners], {pets: [owners], owners: [pets]}, 1))
    assert {one.gold for one in alone} == {(pets,), (owners,), (pets, owners)}
    assert all("pet" in one.text for one in alone)
    assert {one.gold for one in named_tables([pets, owners, others], {}, 1)} == {(owners,)}


@pytest.mark.parametrize(
    ("naming", "name", "made"),
    [
        (PLAIN, "Customer_Orders", "Customer_Orders"),
        (Naming(1.0, squeezed=False, letters=3, seed=""), "CustomerOrders", "cus_ord"),
        (Naming(1.0, squeezed=True, letters=3, seed=""), "customer_name", "cstmr_name"),
    ],
)
def test_names_are_abbreviated(naming: Naming, name: str, made: str) -> None:
    assert naming(name).lower() == made.lower()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for number in range(12):
        name = f"shop_{number}"
        (folder / "databases" / name).mkdir(parents=True)
        file = folder / "databases" / name / f"{name}.sqlite"
        with closing(sqlite3.connect(file)) as store:
            store.execute("CREATE TABLE customer (customer_id INTEGER, name TEXT)")
            people = [(row, f"n{row}") for row in range(30)]
            store.executemany("INSERT INTO customer VALUES (?, ?)", people)
            store.execute("CREATE TABLE purchase (purchase_id INTEGER, customer_id INTEGER)")
            store.commit()
    rows = [
        {
            "question_id": number,
            "db_id": f"shop_{number}",
            "question": "Which customers have a purchase?",
            "sql": "",
            "gold_tables": ["Customer", "purchase"],
        }
        for number in range(12)
    ]
    (folder / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "foreign_keys.json").write_text("[]", encoding="utf-8")
    return folder


def test_a_messy_corpus_keeps_its_questions(corpus: Path, tmp_path: Path) -> None:
    made = messy(open_dataset(corpus), tmp_path / "messy")
    tables: dict[str, dict[str, int]] = {}
    for name, path in made.sources.items():
        with closing(sqlite3.connect(path)) as store:
            names = [row[0] for row in store.execute("SELECT name FROM sqlite_master")]
            counted = {one: store.execute(f'SELECT count(*) FROM "{one}"') for one in names}
            tables[name] = {one: found.fetchone()[0] for one, found in counted.items()}
    asked = made.questions()
    assert len(asked) == 12
    for question in asked:
        assert sorted(tables[one.source][one.name] for one in question.gold) == [0, 30]
    gold = {table for question in asked for table in question.gold}
    copies = {TableId(source, name) for source, own in tables.items() for name in own} - gold
    assert copies
    assert any(one.source.startswith("staging") for one in copies)
    # Some names are as they were and some are not.
    assert {"customer", "cust"} & {table.name for table in gold}
    assert len({table.name for table in gold}) > 2
    before = (tmp_path / "messy" / "questions.json").stat().st_mtime_ns
    messy(open_dataset(corpus), tmp_path / "messy")
    assert (tmp_path / "messy" / "questions.json").stat().st_mtime_ns == before


def test_examples_of_many_kinds(corpus: Path) -> None:
    found = list(examples(open_dataset(corpus)))
    kinds = {one.kind for one in found}
    assert {"whole", "pool", "pool by source", "pool poorer", "pool keywords"} <= kinds
    for one in found:
        assert set(one.tables) & set(one.gold)
    asked = {one.question.text for one in found if one.kind == "pool keywords"}
    assert asked == {"customers purchase"}
    plain, by_source = (
        next(one for one in found if one.kind == kind) for kind in ("pool", "pool by source")
    )
    # Twelve copies of one database are one logical table each.
    place = plain.tables.index(plain.gold[0])
    own = [table.source == plain.gold[0].source for table in plain.tables]
    # The same source makes it likelier that two belong together, another one less so.
    surer = by_source.pairs.together[place] - plain.pairs.together[place]
    assert all((gain >= 0) == same for gain, same in zip(surer.tolist(), own, strict=True))
    told = arrays(found, ["shop_1"])
    assert told["kind"].tolist() == [one.kind for one in found]
    assert set(told["database"][told["apart"]].tolist()) == {"shop_1"}
    assert np.isfinite(told["rows"]).all()
    assert [one.kind for one in examples(open_dataset(corpus))] == [one.kind for one in found]


def test_kinds_of_examples_are_left_out_by_a_word() -> None:
    pytest.importorskip("torch", reason="training needs it")
    from dovetail_bench.programs.train_scorer import kinds_without

    given = {"kind": np.array(["whole", "pool by source", "pool keywords", "messy poorer"])}
    assert kinds_without(given, ["source", "keywords"]).tolist() == [True, False, False, True]
