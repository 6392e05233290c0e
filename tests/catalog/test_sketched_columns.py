"""Large columns that are no candidate keys are sketches: what is kept, counted and found."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.catalog import segment
from dovetail.cli import app
from dovetail.hashing import hash_values, text_array
from dovetail.phrases import cell_phrases
from dovetail.search import values

SKETCH = 100
WORDS = ["amber", "barley", "copper", "dark", "early", "fresh", "golden", "hazy", "lager"]


@pytest.fixture(autouse=True)
def small_sketches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "SKETCH", SKETCH)
    monkeypatch.setattr(values, "_LARGE", SKETCH)


def write(folder: Path, seed: int = 1) -> None:
    """Orders of customers, a tenth of whom are in no list."""
    folder.mkdir(exist_ok=True)
    drawn = random.Random(seed)
    customers = [f"{number},Customer {number}" for number in range(1, 901)]
    orders = []
    for number in range(100_001, 106_001):
        remark = " ".join(drawn.choices(WORDS, k=12))
        orders.append(f"{number},{drawn.randrange(1, 1001)},{number % 700}.25,{remark}")
    drawn.shuffle(orders)
    (folder / "customers.csv").write_text("\n".join(["customer_id,name", *customers]), "utf-8")
    (folder / "orders.csv").write_text(
        "\n".join(["order_no,customer_id,amount,remark", *orders]), "utf-8"
    )


def test_keys_are_exact_and_other_large_columns_are_sketches(tmp_path: Path) -> None:
    write(tmp_path / "files")
    catalog = dovetail.build(tmp_path / "files", into=tmp_path / "catalog")
    kept = {column.name: column.profile.kept for column in catalog["orders"].columns}
    assert kept == {"order_no": 6000, "customer_id": SKETCH, "amount": SKETCH, "remark": SKETCH}
    assert [column.profile.kept for column in catalog["customers"].columns] == [900, 900]
    table = catalog["orders"]
    assert table.column("customer_id").profile.distinct > 900
    for at, name in enumerate(kept):
        assert len(catalog.reader.hashes(table.id, at)) == kept[name]
        assert len(catalog.reader.counts(table.id, at)) == kept[name]
    assert catalog.show("orders")["columns"][1]["kept"] == SKETCH


def test_joins_of_a_sketched_column_are_estimated(tmp_path: Path) -> None:
    write(tmp_path / "files")
    catalog = dovetail.build(tmp_path / "files", into=tmp_path / "catalog")
    (join,) = catalog.joins("orders")
    assert join.condition() == "orders.customer_id = customers.customer_id"
    assert join.match_rate == pytest.approx(0.9, abs=0.1)
    assert join.evidence["row_containment"] == pytest.approx(0.9, abs=0.1)
    assert join.score > 0.8


def test_an_update_gives_what_a_rebuild_gives(tmp_path: Path) -> None:
    write(tmp_path / "files")
    dovetail.build(tmp_path / "files", into=tmp_path / "updated")
    write(tmp_path / "files", seed=2)
    updated = dovetail.build(tmp_path / "files", into=tmp_path / "updated")
    rebuilt = dovetail.build(tmp_path / "files", into=tmp_path / "rebuilt")
    assert updated.joins() == rebuilt.joins()
    assert list(updated) == list(rebuilt)
    for at in range(4):
        hashes = [one.reader.hashes(one["orders"].id, at) for one in (updated, rebuilt)]
        assert hashes[0].tolist() == hashes[1].tolist()


def test_keys_and_texts_are_found_by_every_value(tmp_path: Path) -> None:
    write(tmp_path / "files")
    catalog = dovetail.build(tmp_path / "files", into=tmp_path / "catalog")
    asked = np.concatenate(
        [
            hash_values(text_array([str(number) for number in range(100_001, 106_001)])),
            cell_phrases([f"Customer {number}" for number in range(1, 901)]),
        ]
    )
    index, column = values.ValueIndex.of(catalog.reader).columns_holding(asked)
    names = [f"{table.name}.{each.name}" for table in catalog for each in table.columns]
    assert index.tolist() == list(range(6900))
    assert {names[at] for at in column[:6000].tolist()} == {"orders.order_no"}
    assert {names[at] for at in column[6000:].tolist()} == {"customers.name"}


def test_what_is_kept_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "files")
    for command in (["index", str(tmp_path / "files")], ["show", "orders"]):
        with pytest.raises(SystemExit):
            app([*command, "-C", str(tmp_path / "catalog")])
    told = capsys.readouterr().out
    assert "Kept by sketches, large and no candidate keys: 3 columns." in told
    assert "kept by a sketch of 100 values: customer_id, amount, remark" in told
