"""programs/prompt_contents.py: what is read off the text of a prompt, and off a gold query."""

from __future__ import annotations

from pathlib import Path

from tests.support.scripted import write_shop

import dovetail
from dovetail.domain import TableId
from dovetail.retrieve.registry import COMPACT, FULL, GROUPED
from dovetail.settings import Settings
from dovetail_bench.programs.prompt_contents import Counts, Needed, joined_in, text_of
from dovetail_bench.questions import Question

PROMPT = """Reply with JSON alone
```
Group 1
1 orders(order_no, total, +2)
12 items(line 'a', order_no)
1.order_no=12,3.number ?
12.a b=3.c 0.9
```
Question: 1 of what?"""
IN_FULL = """Candidate 1
```
| order_no |
```

Candidate 2
```
| line |
```
Pairs:
1 and 2: 0.90, orders.order_no = items.order_no"""


def test_joins_and_lines_are_read_as_they_stand() -> None:
    assert joined_in(PROMPT, GROUPED) == {frozenset((1, 12)), frozenset((1, 3)), frozenset((12, 3))}
    assert joined_in(IN_FULL, FULL) == {frozenset((1, 2))}
    assert text_of(PROMPT, COMPACT, 12).splitlines() == [
        "12 items(line 'a', order_no)", "1.order_no=12,3.number ?", "12.a b=3.c 0.9",
    ]  # fmt: skip
    assert "line" in text_of(IN_FULL, FULL, 2)
    assert "| order_no" not in text_of(IN_FULL, FULL, 2)


def test_a_gold_query_says_which_joins_and_columns_are_needed(tmp_path: Path) -> None:
    catalog = dovetail.build(
        f"shop={write_shop(tmp_path / 'shop.sqlite')}",
        into=tmp_path / "catalog",
        settings=Settings(embedder="none"),
    )
    orders, customers = TableId("shop", "orders"), TableId("shop", "customers")
    sql = (
        "SELECT c.city, o.order_no FROM orders o JOIN customers c ON o.customer_no = c.customer_no"
    )
    question = Question("1", "?", (customers, orders), sql=sql)
    needed = Needed.of(catalog, question)
    assert needed.joins == {frozenset((orders, customers))}
    assert needed.columns == {
        (customers, "city"), (customers, "customer_no"), (orders, "order_no"),
        (orders, "customer_no"),
    }  # fmt: skip


def test_figures_of_a_prompt() -> None:
    counts = Counts()
    one, other = TableId("s", "a"), TableId("s", "b")
    counts.add("word " * 100, GROUPED, [one, other], Question("1", "?", (other,)))
    counts.add("word " * 100, GROUPED, [one], Question("2", "?", (other,)))
    cells = counts.cells("mine")
    assert cells[2:5] == ["", "1.5", "50.0"]
