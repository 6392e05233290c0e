"""The scoring `foreign_key`: upper bounds, self-information, competitors, order of tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import dovetail
from dovetail.domain import TableId
from dovetail.hashing import mix
from dovetail.joins import candidates
from dovetail.joins.candidate_search import SourceOnly, group_equal_sets, prepare_search
from dovetail.joins.candidates import find_candidates
from dovetail.joins.columns import ColumnArrays, Thresholds
from dovetail.joins.features import DEFAULT_WEIGHTS, PairFeatures, local_logits, value_information
from dovetail.joins.graph import JoinGraph
from dovetail.joins.scoring import foreign_key, weigh
from dovetail.joins.sketches import sample_places
from dovetail.settings import Settings
from tests.support.column_arrays import COLUMNS, NO_BOUNDS, arrays_of, as_dict, name_match


def test_pairs_beyond_the_upper_bound_are_no_edges(sample: dovetail.Catalog) -> None:
    """What is never counted would have come to nothing: as if everything had been counted."""
    arrays = ColumnArrays.of(sample.reader)
    values = value_information(arrays, DEFAULT_WEIGHTS)
    everything = find_candidates(arrays, values.distinctive, NO_BOUNDS)
    weighed = PairFeatures.of_columns(arrays, values)
    logit = local_logits(weighed.of(everything))
    best = local_logits(weighed.upper_bounds(everything.child, everything.parent))
    assert (logit <= best).all()
    alive = everything.take(logit > DEFAULT_WEIGHTS.least)
    weighed_pairs, _, _ = weigh(arrays, (), {}, DEFAULT_WEIGHTS)
    assert as_dict(weighed_pairs.candidates) == as_dict(alive)
    assert 50 < len(alive) < len(everything)


def test_the_bound_of_two_groups_is_no_lower_than_that_of_any_pair_they_stand_for(
    tmp_path: Path,
) -> None:
    with closing(sqlite3.connect(tmp_path / "days.sqlite")) as database:
        for day in range(6):  # a family of tables, the columns now in this order, now in that
            columns = ("id INT", "user_id INT", "n TEXT")[:: 1 if day % 2 else -1]
            database.execute(f"CREATE TABLE logins_{day} ({', '.join(columns)})")
            database.executemany(
                f"INSERT INTO logins_{day} (id, user_id, n) VALUES (?, ?, ?)",
                [(n, n % 3 + 1, f"{n}") for n in range(1, 6)],
            )
        database.execute("CREATE TABLE users (id INT, n INT)")
        database.executemany("INSERT INTO users VALUES (?, ?)", [(n, n) for n in range(1, 6)])
        database.commit()
    settings = Settings(embedder="none")
    catalog = dovetail.build(tmp_path / "days.sqlite", into=tmp_path / "c", settings=settings)
    arrays = ColumnArrays.of(catalog.reader)
    values = value_information(arrays, DEFAULT_WEIGHTS)
    weighed = PairFeatures.of_columns(arrays, values, values.rarity + 0.05)
    every = np.ones(len(arrays), dtype=np.bool_), arrays.key
    equal, everywhere = group_equal_sets(arrays.values), SourceOnly.of_none(len(arrays))
    search = prepare_search(
        arrays, equal, values.distinctive, name_match(arrays), every, everywhere
    )
    both = search.child_groups, search.key_groups
    everything = find_candidates(arrays, values.distinctive, NO_BOUNDS)
    mine, theirs = (np.arange(len(arrays)) for _ in range(2))
    for first, groups in zip((mine, theirs), both, strict=True):
        assert len(groups) < len(groups.members)  # some stand for several columns
        first[groups.members] = np.repeat(groups.first, np.diff(groups.starts))
    best = weighed.at_best.best(*both)
    child, parent = mine[everything.child], theirs[everything.parent]
    found = local_logits(weighed.group_bounds(child, parent, best))
    each = local_logits(weighed.upper_bounds(everything.child, everything.parent))
    assert (found >= each - 1e-9).all()
    assert (found > each + 1e-3).any()


@settings(deadline=None, max_examples=60)
@given(COLUMNS)
def test_values_are_rare_that_few_tables_hold(
    columns: list[tuple[set[int], int, bool]],
) -> None:
    sets, tables = [values for values, _, _ in columns], [table for _, table, _ in columns]
    arrays = arrays_of(sets, tables, [unique for _, _, unique in columns])
    holders = {
        value: len({t for s, t in zip(sets, tables, strict=True) if value in s})
        for value in set().union(*sets)
    }
    drawn = [
        vector[sample_places(vector, arrays.values.counts(at))].tolist()
        for at, vector in enumerate(arrays.values)
    ]
    of = {int(mix(np.array([value], dtype=np.uint64))[0]): held for value, held in holders.items()}
    live = len(arrays.ids)
    expected = [
        np.mean([np.log(live / of[value]) for value in values]) / np.log(max(live / 2, 2))
        if values
        else 0.0
        for values in drawn
    ]
    assert value_information(arrays, DEFAULT_WEIGHTS).rarity == pytest.approx(expected)


def test_scores_do_not_depend_on_the_order_or_labels_of_tables(sample: dovetail.Catalog) -> None:
    arrays = ColumnArrays.of(sample.reader, Thresholds(sources=False))
    order = np.random.default_rng(5).permutation(len(arrays.ids))
    place = np.argsort(order)
    columns = np.concatenate([np.flatnonzero(arrays.table == table) for table in order])
    shuffled = replace(
        arrays,
        ids=[TableId("elsewhere", arrays.ids[table].name) for table in order],
        rows=arrays.rows[order],
        table=place[arrays.table[columns]],
        position=arrays.position[columns],
        name=[arrays.name[column] for column in columns],
        called=[arrays.called[column] for column in columns],
        number=arrays.number[columns],
        text=arrays.text[columns],
        filled=arrays.filled[columns],
        distinct=arrays.distinct[columns],
        unique=arrays.unique[columns],
        key=arrays.key[columns],
        low=arrays.low[columns],
        high=arrays.high[columns],
        codes=arrays.codes[columns],
        period=arrays.period[columns],
        prefix=[arrays.prefix[column] for column in columns],
        values=arrays.values.take(columns),
    )

    def scores(of: ColumnArrays, back: list[int]) -> dict[tuple[int, int], float]:
        edges, _ = foreign_key(of)
        pairs = zip(edges.candidates.child, edges.candidates.parent, edges.score, strict=True)
        return {(back[child], back[parent]): round(float(s), 9) for child, parent, s in pairs}

    assert scores(shuffled, columns.tolist()) == scores(arrays, list(range(len(arrays))))


def test_equal_competitors_share_the_odds(tmp_path: Path) -> None:
    """Two look-alike databases: each child prefers its own source, or in a pool keeps the doubt."""
    for name in ("north", "south"):
        with closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as connection:
            connection.execute("CREATE TABLE customer (customer_id INTEGER, name TEXT)")
            connection.execute("CREATE TABLE orders (order_id INTEGER, customer_id INTEGER)")
            rows = [(n, f"{name} {n}") for n in range(1, 31)]
            connection.executemany("INSERT INTO customer VALUES (?, ?)", rows)
            refs = [(n, n % 30 + 1) for n in range(1, 61)]
            connection.executemany("INSERT INTO orders VALUES (?, ?)", refs)
            connection.commit()
    catalog = dovetail.build(str(tmp_path / "north.sqlite"), into=tmp_path / "one")
    alone = JoinGraph.of(catalog.reader).between("orders", "customer")[0].score
    sources = sorted(map(str, tmp_path.glob("*.sqlite")))

    def between(catalog: dovetail.Catalog) -> dict[bool, list[float]]:
        found: dict[bool, list[float]] = {True: [], False: []}
        for edge in JoinGraph.of(catalog.reader).edges:
            if edge.columns == (("customer_id", "customer_id"),) and edge.left.name == "orders":
                found[edge.left.source == edge.right.source].append(edge.score)
        return found

    pooled = Settings(join_sources=False)
    doubt = between(dovetail.build(*sources, into=tmp_path / "pool", settings=pooled))
    assert doubt[True] == doubt[False]
    assert alone > 0.95 > max(doubt[True])
    both = between(dovetail.build(*sources, into=tmp_path / "pool", settings=Settings()))
    assert both[True] == [pytest.approx(alone, abs=0.01)] * 2
    assert max(both[False], default=0) < 0.01


def test_a_tenant_joins_with_its_own_tables_however_many_tenants_there_are(tmp_path: Path) -> None:
    """The same schema and the same small numbers in every database, and one name of its own."""
    tenants = [f"tenant_{number}" for number in range(6)]
    for number, name in enumerate(tenants):
        with closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as connection:
            connection.execute("CREATE TABLE customer (customer_id INTEGER, name TEXT)")
            connection.execute("CREATE TABLE orders (order_id INTEGER, customer_id INTEGER)")
            rows = [(n, f"{name} {n}") for n in range(1, 11)]
            connection.executemany("INSERT INTO customer VALUES (?, ?)", rows)
            refs = [(n, n % 10 + 1) for n in range(1, 11)]
            connection.executemany("INSERT INTO orders VALUES (?, ?)", refs)
            if number == 2:
                connection.execute("CREATE TABLE turbine (turbine_id INTEGER, site TEXT)")
                sites = [(n, f"site {n}") for n in range(1, 11)]
                connection.executemany("INSERT INTO turbine VALUES (?, ?)", sites)
            if number == 4:
                connection.execute("CREATE TABLE repair (note TEXT, turbine_id INTEGER)")
                repairs = [(f"repair {n}", n % 10 + 1) for n in range(20)]
                connection.executemany("INSERT INTO repair VALUES (?, ?)", repairs)
            connection.commit()
    sources = [str(tmp_path / f"{name}.sqlite") for name in tenants]

    def joined(into: str) -> set[tuple[str, str, str]]:
        catalog = dovetail.build(*sources, into=tmp_path / into)
        return {
            (edge.left.name, edge.right.name, str(edge.left.source == edge.right.source))
            for edge in JoinGraph.of(catalog.reader).edges
            if edge.score > 0.5
        }

    expected = {("orders", "customer", "True"), ("repair", "turbine", "False")}
    assert joined("free") == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_EVERYDAY", 3)
        patch.setattr(candidates, "_FEW_KEYS", 4)
        assert joined("confined") == expected
        patch.setattr(candidates, "_FEW_KEYS", 0)  # then the turbines are out of sight
        assert joined("shut in") == expected - {("repair", "turbine", "False")}


def test_dense_ids_go_by_names_and_copies_are_not_referred_to(tmp_path: Path) -> None:
    """Ids 1..n lie in every longer sequence: short keys, roles and schemas must decide."""
    numbers = list(range(1, 201))
    tables: dict[str, dict[str, Sequence[object]]] = {
        "room": {"rid": numbers[:20], "floor": [1] * 20},
        "room_booking": {"booking": numbers, "rid": [n % 20 + 1 for n in numbers]},
        "visit": {"vid": numbers, "approved_by": [n % 40 + 1 for n in numbers]},
        "hr_employee": {"emp_no": numbers[:40], "name": [f"E {n}" for n in numbers[:40]]},
        "stg_hr_employee": {"emp_no": [*map(str, numbers[:40])], "x": [2] * 40},
        "hr_leave": {"leave_no": numbers[:90], "emp_no": [n % 40 + 1 for n in numbers[:90]]},
    }
    held = {name: pa.table(columns) for name, columns in tables.items()}
    catalog = dovetail.build(held, into=tmp_path / "catalog")
    found = {
        (edge.left.name, edge.columns[0][0], edge.right.name)
        for edge in JoinGraph.of(catalog.reader).edges
        if edge.score > 0.5
    }
    assert found == {
        ("room_booking", "rid", "room"),
        ("visit", "approved_by", "hr_employee"),
        ("hr_leave", "emp_no", "hr_employee"),
        ("stg_hr_employee", "emp_no", "hr_employee"),
    }
