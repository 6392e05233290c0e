"""docs/join-graph.svg: the join graph of some tables of the sample corpus, as it is found."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.domain import JoinEdge, TableId
from dovetail.joins.graph import JoinGraph
from tests.docs.drawing import arrow, box, document, text

WIDTH, HEIGHT = 920, 392
WIDE, HIGH = 128, 46
# Where a table stands: its column and row.
COLUMNS, ROWS = (24, 272, 520, 768), (44, 150, 256)
TABLES = {
    TableId("exports", "shop_customers"): (0, 0),
    TableId("shop.sqlite", "accounts"): (0, 1),
    TableId("shop.sqlite", "orders"): (1, 0),
    TableId("shop.sqlite", "order_items"): (1, 2),
    TableId("shop.sqlite", "products"): (2, 2),
    TableId("warehouse.duckdb", "shipments"): (2, 0),
    TableId("warehouse.duckdb", "warehouses"): (3, 0),
    TableId("warehouse.duckdb", "stock"): (3, 1),
    TableId("warehouse.duckdb", "items"): (3, 2),
}
SOURCES = {"shop.sqlite": "a", "exports": "b", "warehouse.duckdb": "c"}


def join_graph(graph: JoinGraph) -> str:
    """The tables, and between every two of them the surest edge."""
    parts = [text(24, 24, "A join graph, found from values and names", anchor="start", weight=600)]
    for edge in surest(graph):
        parts += _edge(edge)
    for table in TABLES:
        parts += _table(table)
    return document(
        "A join graph of nine tables in three sources", WIDTH, HEIGHT, [*parts, *_legend()]
    )


def surest(graph: JoinGraph) -> Iterator[JoinEdge]:
    """The first edge between every two of the tables."""
    seen: set[frozenset[TableId]] = set()
    for edge in graph.edges:
        ends = frozenset((edge.left, edge.right))
        if edge.score > 0.5 and len(ends) == 2 and ends <= TABLES.keys() and ends not in seen:
            seen.add(ends)
            yield edge


def _corner(table: TableId) -> tuple[int, int]:
    column, row = TABLES[table]
    return COLUMNS[column], ROWS[row]


def _table(table: TableId) -> list[str]:
    left, top = _corner(table)
    style = SOURCES[table.source]
    middle = left + WIDE / 2
    source = text(middle, top + 35, table.source, "faint")
    frame = box(left, top, WIDE, HIGH, style)
    return [frame, text(middle, top + 20, table.name, weight=600), source]


def _edge(edge: JoinEdge) -> list[str]:
    """An arrow from the foreign key to the key, with both columns and the score."""
    (left, top), (other_left, other_top) = _corner(edge.left), _corner(edge.right)
    ((child, parent),) = edge.columns
    if top == other_top:
        y = top + HIGH / 2
        ends = (left + WIDE, other_left) if left < other_left else (left, other_left + WIDE)
        middle = sum(ends) / 2
        return [
            arrow((ends[0], y), (ends[1], y)),
            text(middle, y - 22, child, "ink code"),
            text(middle, y - 8, f"= {parent}", "ink code"),
            text(middle, y + 17, f"{edge.score:.2f}", "faint"),
        ]
    x = left + WIDE / 2
    up = top > other_top
    ends = (top, other_top + HIGH) if up else (top + HIGH, other_top)
    middle = sum(ends) / 2
    # Beside the last column there is room on the left only.
    side, anchor = (-10, "end") if left == COLUMNS[-1] else (10, "start")
    return [
        arrow((x, ends[0]), (x, ends[1])),
        text(x + side, middle - 10, child, "ink code", anchor),
        text(x + side, middle + 4, f"= {parent}", "ink code", anchor),
        text(x + side, middle + 19, f"{edge.score:.2f}", "faint", anchor),
    ]


def _legend() -> list[str]:
    y = 350
    parts = [
        arrow((24, y), (64, y)),
        text(72, y + 4, "from foreign key to key, with columns and score", "faint", "start"),
    ]
    return [
        *parts,
        text(
            24,
            y + 26,
            "A colour is a source: joins lead from one source to another.",
            "faint",
            "start",
        ),
    ]
