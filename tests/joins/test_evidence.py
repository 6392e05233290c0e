"""Join evidence beside a catalog: found again, and brought up to date as if worked out anew."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.domain import JoinEdge
from dovetail.joins.edges import stored_edges
from dovetail.joins.evidence import join_evidence


def join_edges(catalog: dovetail.Catalog) -> list[JoinEdge]:
    return list(stored_edges(catalog.reader))


def test_evidence_is_kept_and_found_again(corpus: tuple[Path, ...], tmp_path: Path) -> None:
    shop = next(path for path in corpus if path.name == "shop.sqlite")
    copy = tmp_path / "shop.sqlite"
    shutil.copy(shop, copy)
    catalog = dovetail.build(f"shop={copy}", into=tmp_path / "catalog")
    first = join_edges(catalog)
    assert join_edges(dovetail.open(catalog.folder)) == first
    assert join_evidence(catalog.reader)[0] == first

    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE order_items SET product_id = product_id + 100000")
        connection.commit()
    changed = dovetail.build(f"shop={copy}", into=tmp_path / "catalog")
    updated = join_edges(changed)
    rebuilt = join_edges(dovetail.build(f"shop={copy}", into=tmp_path / "rebuilt"))
    assert updated == rebuilt != first
    assert len(list(catalog.folder.glob("generations/*/evidence"))) == 1  # the other is gone


# Columns of every sort: keys and references by one name, sparse ids, words, measures, nothing.
NAMES = ("id", "customer_id", "customer", "order_no", "city", "amount")


VALUES = {
    "id": st.integers(1, 12),
    "customer_id": st.integers(1, 12),
    "customer": st.integers(10_000, 10_008),
    "order_no": st.sampled_from([f"N{n}" for n in range(9)]),
    "city": st.sampled_from(["Bath", "York", "Ely", ""]),
    "amount": st.integers(0, 99),
}


TABLES = ("customer", "orders", "city", "customers_old", "visit")


@st.composite
def contents(draw: st.DrawFn) -> str:
    columns = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(0, 12))
    cells = []
    for name in columns:
        unique = draw(st.booleans()) and name != "city" and rows <= 9
        values = st.lists(VALUES[name], min_size=rows, max_size=rows, unique=unique)
        cells.append([str(value) for value in draw(values)])
    lines = [",".join(columns), *(",".join(row) for row in zip(*cells, strict=True))]
    return "\n".join(lines) + "\n"


STEP = st.dictionaries(st.sampled_from(TABLES), st.none() | contents(), min_size=1, max_size=2)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    st.dictionaries(st.sampled_from(TABLES), contents(), min_size=2),
    st.lists(STEP, min_size=1, max_size=4),
)
def test_an_update_is_a_rebuild(first: dict[str, str], steps: list[dict[str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "lake"
        folder.mkdir()
        (folder / "always.csv").write_text("always_id,customer_id\n1,2\n2,3\n3,3\n")
        for number, step in enumerate((dict[str, str | None](first), *steps)):
            for table, text in step.items():
                file = folder / f"{table}.csv"
                file.unlink(missing_ok=True)
                if text is not None:
                    file.write_text(text)
            updated = dovetail.build(str(folder), into=Path(name) / "updated")
            rebuilt = dovetail.build(str(folder), into=Path(name) / f"rebuilt{number}")
            assert join_edges(updated) == join_evidence(rebuilt.reader)[0]
