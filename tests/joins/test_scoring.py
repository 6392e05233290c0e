"""The scoring `foreign_key`: upper bounds, self-information, competitors, order of tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import dovetail
from dovetail.domain import TableId
from dovetail.hashing import mix
from dovetail.joins import candidates
from dovetail.joins.candidates import find_candidates
from dovetail.joins.columns import ColumnArrays, Thresholds
from dovetail.joins.features import (
    WEIGHTS,
    PairFeatures,
    local_logits,
    value_information,
)
from dovetail.joins.graph import JoinGraph
from dovetail.joins.scoring import foreign_key, weigh
from dovetail.joins.sketches import sample_places
from dovetail.settings import Settings
from tests.support.column_arrays import COLUMNS, AnyScore, arrays_of, as_dict


def test_pairs_beyond_the_upper_bound_are_no_edges(sample: dovetail.Catalog) -> None:
    """What is never counted would have come to nothing: as if everything had been counted."""
    arrays = ColumnArrays.of(sample.reader)
    values = value_information(arrays)
    weighed = PairFeatures.of_columns(arrays, values)
    everything = find_candidates(arrays, AnyScore(weighed, running=True))
    logit = local_logits(weighed.of(everything))
    best = local_logits(weighed.upper_bounds(everything.child, everything.parent))
    assert (logit <= best).all()
    alive = everything.take(logit > WEIGHTS.least)
    weighed_pairs, _ = weigh(arrays, ())
    assert as_dict(weighed_pairs.candidates) == as_dict(alive)
    assert 50 < len(alive) < len(everything)


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
    assert value_information(arrays).rarity == pytest.approx(expected)


def test_scores_do_not_depend_on_the_order_or_labels_of_tables(sample: dovetail.Catalog) -> None:
    arrays = ColumnArrays.of(sample.reader, Thresholds(sources=False))
    order = np.random.default_rng(5).permutation(len(arrays.ids))
    place = np.argsort(order)
    columns = np.concatenate([np.flatnonzero(arrays.table == table) for table in order])
    shuffled = replace(
        arrays.take(columns),
        ids=[TableId("elsewhere", arrays.ids[table].name) for table in order],
        rows=arrays.rows[order],
        table=place[arrays.table[columns]],
    )

    def scores(of: ColumnArrays, back: list[int]) -> dict[tuple[int, int], float]:
        edges = foreign_key(of)
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
        patch.setattr(candidates, "_FEW_ALIKE", 4)
        assert joined("confined") == expected
        patch.setattr(candidates, "_FEW_ALIKE", 0)  # then the turbines are out of sight
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


def _joined(catalog: dovetail.Catalog) -> dict[tuple[str, str, str], float]:
    return {
        (edge.left.name, edge.columns[0][0], edge.right.name): edge.score
        for edge in JoinGraph.of(catalog.reader).edges
        if edge.score > 0.5
    }


def test_keys_named_for_a_role_go_where_their_numbers_end(tmp_path: Path) -> None:
    """No word leads from `consignee_id` to customers; that both end at 380 does, until too many
    keys end there. An update knows that as a rebuild does."""
    numbers = list(range(1, 381))
    tables: dict[str, dict[str, Sequence[object]]] = {
        "customer": {"customer_id": numbers, "city": ["Oslo"] * 380},
        "product": {"product_id": numbers[:300], "weight": [1.5] * 300},
        "stay": {"stay_id": [*range(1, 1001)], "consignee_id": [n % 380 + 1 for n in range(1000)]},
        "line": {"stay_id": [n % 990 + 1 for n in range(2000)], "line_no": numbers[:20] * 100},
    }
    names = "apple brick cloud drum engine flute grape hinge".split()  # noqa: SIM905
    lake = tmp_path / "lake"
    lake.mkdir()
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), lake / f"{name}.parquet")
    role = ("stay", "consignee_id", "customer")
    alone = _joined(dovetail.build(lake, into=tmp_path / "catalog"))
    assert role in alone
    for name in names:
        pq.write_table(pa.table({f"{name}_id": numbers}), lake / f"{name}.parquet")
    crowded = _joined(dovetail.build(lake, into=tmp_path / "catalog"))
    assert role not in crowded
    assert crowded == _joined(dovetail.build(lake, into=tmp_path / "anew"))
    for name in names:
        (lake / f"{name}.parquet").unlink()
    assert _joined(dovetail.build(lake, into=tmp_path / "catalog")) == alone


def test_members_join_the_master_and_not_its_satellite(tmp_path: Path) -> None:
    """The dues of a year hold just the calls with moves, but calls are made elsewhere."""
    calls, year = list(range(1, 901)), list(range(633, 901))
    tables: dict[str, dict[str, Sequence[object]]] = {
        "vessel_call": {"call_id": calls, "berth": ["A"] * 900},
        "port_dues": {"call_id": year, "amount": [1.5] * 268},
        "crane_move": {"move_id": [*range(5000, 7000)], "call_id": (year * 8)[:2000]},
    }
    held = {name: pa.table(columns) for name, columns in tables.items()}
    assert set(_joined(dovetail.build(held, into=tmp_path / "catalog"))) == {
        ("port_dues", "call_id", "vessel_call"),
        ("crane_move", "call_id", "vessel_call"),
    }
