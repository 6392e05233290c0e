"""The chosen tables, connected by tables between them where a short path allows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.domain import TableId
from dovetail.retrieve.connect import ConnectedSet, Connector, LinkGraph

A, B, C, D, E, F, G = (TableId("s", name) for name in "abcdefg")


def names(found: ConnectedSet) -> tuple[str, str, str]:
    return (
        "".join(table.name for table in found.tables),
        "".join(connector.table.name for connector in found.connectors),
        "".join(table.name for table in found.left_out),
    )


def links(*pairs: tuple[TableId, TableId, float]) -> LinkGraph:
    return LinkGraph((A, B, C, D, E, F, G), pairs)


def test_components_are_parts_that_do_not_join() -> None:
    joined = links((A, B, 0.9), (B, C, 0.9), (D, E, 0.9), (A, F, 0.2))
    assert joined.components([C, D, A, B, F, E]) == [[C, A, B], [D, E], [F]]
    assert joined.components([C, A]) == [[C], [A]]
    assert joined.components([]) == []


@pytest.mark.parametrize(
    ("pairs", "chosen", "expected"),
    [
        pytest.param([(A, B, 0.9)], [A, B], ("ab", "", ""), id="joined already"),
        pytest.param([(A, B, 0.9), (B, C, 0.9)], [A, C], ("ac", "b", ""), id="one between"),
        pytest.param(
            [(A, B, 0.6), (B, C, 0.9), (A, D, 0.7), (D, C, 0.8)], [A, C], ("ac", "d", ""),
            id="the surer of the weaker joins",
        ),
        pytest.param(
            [(A, F, 0.6), (F, C, 0.6), (A, D, 1.0), (D, C, 1.0)], [A, C], ("ac", "f", ""),
            id="the more probable before the surer",
        ),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (A, D, 0.9), (D, C, 0.9)], [A, C], ("ac", "b", ""),
            id="by name, all else equal",
        ),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (C, D, 0.9)], [A, D], ("ad", "cb", ""), id="two between"
        ),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (C, D, 0.9), (D, E, 0.9)], [A, E], ("a", "", "e"),
            id="three between are too many",
        ),
        pytest.param([(A, B, 0.9)], [A, C], ("ac", "", ""), id="no path: it stays"),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (B, D, 0.9)], [A, C, D], ("acd", "b", ""),
            id="one connector for two components",
        ),
        pytest.param(
            [(A, B, 1), (B, C, 1), (C, D, 1), (D, E, 1), (E, F, 1)], [A, F, D],
            ("afd", "cbe", ""), id="a far component is reached over a nearer one",
        ),
        pytest.param(
            [(A, B, 0.9), (C, D, 0.9), (D, E, 0.9)], [A, C, E], ("ace", "d", ""),
            id="each component of the catalog is connected by itself",
        ),
        pytest.param([], [], ("", "", ""), id="nothing"),
    ],
)  # fmt: skip
def test_connected(
    pairs: list[tuple[TableId, TableId, float]],
    chosen: list[TableId],
    expected: tuple[str, str, str],
) -> None:
    assert names(links(*pairs).connect(chosen, {F: 0.4, A: 0.9})) == expected


def test_a_connector_says_between_what_it_stands() -> None:
    found = links((A, B, 0.9), (B, C, 0.9), (C, D, 0.9)).connect([A, D], {})
    assert [str(connector) for connector in found.connectors] == [
        "connects d and b",
        "connects c and a",
    ]
    assert found.ids == [A, D, C, B]


@pytest.mark.parametrize(
    ("least", "kept", "left_out"),
    [(0.0, [A, D, C, B], ()), (0.13, [A, D, C, B], ()), (0.15, [A], (D,))],
)
def test_a_part_must_be_worth_its_connectors(
    least: float, kept: list[TableId], left_out: tuple[TableId, ...]
) -> None:
    # d and its two connectors have a mean probability of 0.42 / 3.
    probabilities = {A: 0.9, D: 0.35, B: 0.05, C: 0.02}
    found = links((A, B, 0.9), (B, C, 0.9), (C, D, 0.9)).connect([A, D], probabilities, least)
    assert (found.ids, found.left_out) == (kept, left_out)


def test_a_chosen_table_is_no_connector_of_another() -> None:
    # From c, the connector of a and b, the chosen d is one join away, and e two by way of d.
    graph = links((A, C, 0.9), (C, B, 0.9), (C, D, 0.3), (D, F, 0.9), (F, E, 0.9))
    found = graph.connect([A, B, E, D], {A: 0.9, B: 0.8, E: 0.7, D: 0.6})
    assert (found.tables, [connector.table for connector in found.connectors]) == (
        (A, B, E, D),
        [C, F],
    )


_TABLES = [TableId("s", f"t{n}") for n in range(9)]
_PAIRS = st.lists(
    st.tuples(st.sampled_from(_TABLES), st.sampled_from(_TABLES), st.sampled_from([0.1, 0.3, 0.9])),
    max_size=14,
)


@settings(deadline=None, max_examples=300)
@given(_PAIRS, st.lists(st.sampled_from(_TABLES), unique=True, max_size=6))
def test_a_set_falls_apart_only_where_no_way_leads(
    pairs: list[tuple[TableId, TableId, float]], chosen: list[TableId]
) -> None:
    probabilities = {table: 1 / (place + 1) for place, table in enumerate(chosen)}
    joined = LinkGraph(_TABLES, pairs)
    found = joined.connect(chosen, probabilities)
    assert sorted((*found.tables, *found.left_out)) == sorted(chosen)
    assert found.tables == tuple(table for table in chosen if table not in found.left_out)
    assert found.tables[:1] == tuple(chosen[:1])
    added = [connector.table for connector in found.connectors]
    assert len({*added, *chosen}) == len(added) + len(chosen)
    reached = _closure(pairs)
    parts = joined.components(found.ids)
    for place, part in enumerate(parts):
        for other in parts[place + 1 :]:
            assert not any((one, two) in reached for one in part for two in other)
    # What is left out could have been reached, but by no table or two.
    for table in found.left_out:
        assert any((table, kept) in reached for kept in found.tables)
    assert joined.connect(chosen, probabilities) == found


def _closure(pairs: list[tuple[TableId, TableId, float]]) -> set[tuple[TableId, TableId]]:
    """All pairs that a path of joins leads between, by going on until nothing is new."""
    joined = [(one, other) for one, other, score in pairs if score > 0.2]
    reached = {*joined, *((other, one) for one, other in joined)}
    while True:
        more = {(a, d) for a, b in reached for c, d in reached if b == c} - reached
        if not more:
            return reached
        reached |= more


def test_a_connector_that_connects_nothing_goes_with_its_table() -> None:
    orders, lines, goods, plants = (TableId("erp", name) for name in ("o", "l", "g", "p"))
    links = LinkGraph(
        [orders, lines, goods, plants],
        [(orders, lines, 0.9), (lines, goods, 0.9), (goods, plants, 0.9)],
    )
    connectors = (Connector(lines, (orders, goods)),)
    whole = ConnectedSet((orders, goods, plants), connectors)
    assert links.splits(lines, whole.ids)
    assert not links.splits(plants, whole.ids)
    assert whole.among([orders, goods, lines], links).ids == [orders, goods, lines]
    assert whole.among([goods, plants, lines], links).ids == [goods, plants]


def test_connectors_in_a_row_leave_with_what_they_connect() -> None:
    joined = links((A, B, 0.9), (B, C, 0.9), (C, D, 0.9), (A, E, 0.9))
    connected = ConnectedSet((A, E, D), (Connector(B, (A, C)), Connector(C, (D, B))))
    assert names(connected.among([A, E, C, B], joined)) == ("ae", "", "")
    assert names(connected.among([A, D, C, B], joined)) == ("ad", "bc", "")
