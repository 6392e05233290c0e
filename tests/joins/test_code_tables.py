"""Code tables: one table of many lists, each of which columns of its source may refer to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from dovetail.domain.joins import join_sql
from tests.joins.test_conditional import Table, Tables, built, conditional

Lists = dict[str, Sequence[object]]


def code_table(lists: Lists, names: tuple[str, str, str]) -> Table:
    """A table of lists: type, code and text of each."""
    return names, [
        (kind, code, f"{kind} no. {number}")
        for kind, codes in lists.items()
        for number, code in enumerate(codes)
    ]


def rows(random: Random, count: int, *columns: Sequence[object]) -> list[tuple[object, ...]]:
    """Rows with a running number, and one of some values in each other column."""
    return [(n, *(random.choice(values) for values in columns)) for n in range(1, count + 1)]


def insurer(random: Random) -> Tables:
    """Names of ten letters; lists are named as columns, and hold numbers or letters."""
    lists: Lists = {
        "POLSTS": ["A", "L", "C", "P"],
        "CLMSTS": ["A", "C", "O"],
        "PAYFRQ": [1, 2, 4, 12],
        "COVTYP": [1, 2, 3, 4, 5],
    }
    return {
        "CODTAB": code_table(lists, ("CTTYPE", "CTCODE", "CTTEXT")),
        "POLHDR": (
            ("PHPOL", "PHPOLSTS", "PHPAYFRQ", "PHRISKS"),
            rows(random, 300, ["A", "L", "C"], [1, 2, 4, 12], [1, 2, 3]),
        ),
        "CLMHDR": (("CHCLM", "CHCLMSTS", "CHLINE"), rows(random, 200, ["A", "C", "O"], [1, 2])),
    }


def shop(random: Random) -> Tables:
    """A list is named as its column behind the table; two have a column called status."""
    lists: Lists = {
        "ORDER_STATUS": ["new", "paid", "sent", "back"],
        "SHIPMENT_STATUS": ["new", "sent", "lost"],
        "INCOTERM": ["EXW", "FCA", "DAP", "DDP", "FOB"],
        "REASON": ["late", "broken", "other"],
    }
    return {
        "lookup_values": code_table(lists, ("lookup_type", "lookup_code", "meaning")),
        "orders": (
            ("order_id", "status", "terms", "city"),
            rows(random, 300, ["new", "paid", "sent"], lists["INCOTERM"], ["Oslo", "Bonn"]),
        ),
        "shipments": (("shipment_id", "status"), rows(random, 200, ["new", "sent", "lost"])),
        "returns": (("return_id", "reason_code"), rows(random, 90, ["late", "broken"])),
        "invoices": (("invoice_id", "status"), rows(random, 90, ["new", "paid"])),
    }


def depot(random: Random) -> Tables:
    """Lists are named by letters, short for a column or for its table and it; no code is of two."""
    lists: Lists = {"AST": [10, 20, 90], "ATY": ["IN", "UT"], "KTY": ["D", "F", "S"]}
    return {
        "kodlista": code_table(lists, ("listtyp", "kod", "text")),
        "arende": (
            ("arende_id", "status", "arendetyp", "antal"),
            rows(random, 200, [10, 20, 90], ["IN", "UT"], [10, 20]),
        ),
        "kontroll": (("kontroll_id", "typ", "flagga"), rows(random, 90, "DFS", "DF")),
    }


def dairy(random: Random) -> Tables:
    """Lists in another schema, whose names are short for a column behind its table, or for it; two
    hold the same codes, which a column uses all of."""
    lists: Lists = {
        "ORDST": [10, 20, 30, 90],
        "WOST": [10, 20, 30, 90],
        "RETRS": ["01", "02", "03", "04"],
        "WDREASON": ["A", "F", "H", "P", "T"],
        "VERSART": ["P", "S", "A"],
    }
    return {
        "gencode": code_table(lists, ("code_type", "code", "descr")),
        "sales_order": (("order_no", "order_status"), rows(random, 300, [10, 20, 30, 90])),
        "work_order": (("wo_no", "status"), rows(random, 200, [10, 20, 30, 90])),
        "goods_return": (("ret_no", "reason"), rows(random, 99, ["01", "02", "03", "04"])),
        "withdrawal": (("wd_no", "wdrn_code", "VersArt"), rows(random, 90, "AFHPT", "PSA")),
        "bottle": (("bottle_no", "size"), rows(random, 90, [10, 20, 30])),
    }


VARIANTS: list[tuple[Callable[[Random], Tables], set[tuple[str, str, str]]]] = [
    (
        insurer,
        {
            ("POLHDR.PHPOLSTS", "CODTAB.CTCODE", "CODTAB.CTTYPE = 'POLSTS'"),
            ("POLHDR.PHPAYFRQ", "CODTAB.CTCODE", "CODTAB.CTTYPE = 'PAYFRQ'"),
            ("CLMHDR.CHCLMSTS", "CODTAB.CTCODE", "CODTAB.CTTYPE = 'CLMSTS'"),
        },
    ),
    (
        shop,
        {
            ("orders.status", "lookup_values.lookup_code", "ORDER_STATUS"),
            ("orders.terms", "lookup_values.lookup_code", "INCOTERM"),
            ("shipments.status", "lookup_values.lookup_code", "SHIPMENT_STATUS"),
            ("returns.reason_code", "lookup_values.lookup_code", "REASON"),
        },
    ),
    (
        depot,
        {
            ("arende.status", "kodlista.kod", "kodlista.listtyp = 'AST'"),
            ("arende.arendetyp", "kodlista.kod", "kodlista.listtyp = 'ATY'"),
            ("kontroll.typ", "kodlista.kod", "kodlista.listtyp = 'KTY'"),
        },
    ),
    (
        dairy,
        {
            ("sales_order.order_status", "gencode.code", "gencode.code_type = 'ORDST'"),
            ("work_order.status", "gencode.code", "gencode.code_type = 'WOST'"),
            ("goods_return.reason", "gencode.code", "gencode.code_type = 'RETRS'"),
            ("withdrawal.wdrn_code", "gencode.code", "gencode.code_type = 'WDREASON'"),
            ("withdrawal.VersArt", "gencode.code", "gencode.code_type = 'VERSART'"),
        },
    ),
]


@pytest.mark.parametrize(
    ("make", "expected"), VARIANTS, ids=[each.__name__ for each, _ in VARIANTS]
)
def test_columns_refer_to_lists(
    tmp_path: Path, make: Callable[[Random], Tables], expected: set[tuple[str, str, str]]
) -> None:
    catalog = built(tmp_path, make(Random(5)), files=False)
    told = {
        (child, code, when if "=" in when else f"lookup_values.lookup_type = '{when}'")
        for child, code, when in expected
    }
    assert conditional(catalog) == told


def test_sql_and_paths_say_the_list(tmp_path: Path) -> None:
    catalog = built(tmp_path, shop(Random(5)), files=False)
    (edge,) = catalog.join_graph().between("shipments", "lookup_values")
    assert edge.brief() == (
        "shipments.status = lookup_values.lookup_code "
        "AND lookup_values.lookup_type = 'SHIPMENT_STATUS'"
    )
    sql = join_sql([edge.left, edge.right], [edge])
    assert sql == (
        "FROM shipments\nJOIN lookup_values ON shipments.status = lookup_values.lookup_code "
        "AND lookup_values.lookup_type = 'SHIPMENT_STATUS'"
    )
    counted = catalog.sql(f"SELECT count(*) AS n {sql}").to_arrow()
    assert counted.to_pylist()[0]["n"] / 200 == edge.match_rate == 1
    check = catalog.check_join(edge)
    assert check is not None and (check.matched, check.multiplied) == (200, 1)
    # No code is of two lists: there is no way from orders to shipments through them.
    assert catalog.path("orders", "shipments") == []
