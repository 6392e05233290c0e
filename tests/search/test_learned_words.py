"""What a catalog teaches of its own words: abbreviations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

import dovetail
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.edges import stored_edges
from dovetail.search.index import open_index
from dovetail.search.learned_words import abbreviates, learned, translated
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

WORDS = Settings(embedder="none")
COUNT = 40


def keys(start: int) -> list[str]:
    return [f"K{start + place * 7}" for place in range(COUNT)]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """A department that staff refer to as `dept`; `qty` is explained nowhere here."""
    departments, managers = keys(100), keys(5_000)
    tables = {
        "department": pa.table({"department_no": departments, "floor": list(range(COUNT))}),
        "staff_list": pa.table(
            {"person": managers, "dept_no": [departments[n % 25] for n in range(COUNT)]}
        ),
        "dept_budget_2024": pa.table({"cost_line": keys(9_000), "euro": list(range(COUNT))}),
        "goods": pa.table({"label": keys(700), "qty": list(range(COUNT))}),
    }
    folder = tmp_path_factory.mktemp("learned")
    return dovetail.build(tables, into=folder / "catalog", settings=WORDS)


@pytest.fixture(scope="module")
def searcher(catalog: dovetail.Catalog) -> Searcher:
    return Searcher(open_index(catalog.reader, None))


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        ("qty", "quantity", True),
        ("dept", "department", True),
        ("mgr", "manager", True),
        ("amt", "amount", True),
        ("cust", "customer", False),  # a beginning, which search takes for the word anyway
        ("set", "street", True),  # letters alone are no proof
        ("no", "number", False),
        ("use", "usage", False),
        ("roads", "roadss", False),
        ("", "", False),
    ],
)
def test_letters_that_can_be_short_for_a_word(short: str, long: str, *, expected: bool) -> None:
    assert abbreviates(short, long) is expected


def test_two_columns_that_join_teach_an_abbreviation(catalog: dovetail.Catalog) -> None:
    found = learned(list(catalog), stored_edges(catalog.reader))
    assert found == {"dept": ("depart",)}
    assert learned(list(catalog), []) == {}


def test_an_abbreviation_counts_for_tables_that_taught_nothing(searcher: Searcher) -> None:
    """The budget's name has the short word, and neither a join nor a comment."""
    ranked = [one.id.name for one in searcher.search("budget of each department", 3)]
    assert ranked[0] == "dept_budget_2024"
    term = next(one for one in searcher.analyse("each department").terms if one.text == "depart")
    assert ("dept", 0.45) in term.expansions
    assert all(word != "qty" for word, _ in searcher.lexical.term("quantity").expansions)


def test_comments_teach(catalog: dovetail.Catalog) -> None:
    goods = catalog["goods"]
    label, quantity = goods.columns
    told = replace(goods, columns=(label, replace(quantity, comment="Quantity in stock")))
    assert learned([told], []) == {"qty": ("quantity",)}
    unrelated = replace(goods, columns=(label, replace(quantity, comment="Set by the quay")))
    assert learned([unrelated], []) == {}


def test_a_doubtful_join_teaches_nothing(catalog: dovetail.Catalog) -> None:
    def edges(score: float) -> Iterator[JoinEdge]:
        ends = (catalog["staff_list"].id, catalog["department"].id)
        yield JoinEdge(*ends, (("dept_no", "department_no"),), score, "n:1", 1.0, {})

    assert learned(list(catalog), edges(0.4)) == {}
    assert learned(list(catalog), edges(0.9)) == {"dept": ("depart",)}
    stranger = JoinEdge(
        TableId("x", "a"), TableId("x", "b"), (("dept_no", "department_no"),), 1.0, "n:1", 1.0, {}
    )
    assert learned(list(catalog), [stranger]) == {}


def test_joins_translate_words_of_other_languages(catalog: dovetail.Catalog) -> None:
    """`probka` is no English word, and means what it refers to; two English words are roles."""

    def edge(left: str, right: str) -> JoinEdge:
        ends = (catalog["staff_list"].id, catalog["department"].id)
        return JoinEdge(*ends, ((left, right),), 0.9, "n:1", 1.0, {})

    tables = [table.id for table in catalog]
    assert set(translated(tables, [edge("probka_id", "sample_id")])) == {
        ("probka", "sample"),
        ("probka", "department"),
    }
    assert not set(translated(tables, [edge("manager_id", "employee_id")]))
    named_only = replace(edge("probka_id", "sample_id"), evidence={"names_only": 1.0})
    assert not set(translated(tables, [named_only]))


def test_what_was_learned_is_kept_with_the_index(catalog: dovetail.Catalog) -> None:
    made, loaded = (Searcher(open_index(catalog.reader, None)).lexical for _ in range(2))
    assert dict(made.learned) == dict(loaded.learned)
    assert made.learned["depart"] == ("dept",)
