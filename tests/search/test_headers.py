"""Texts of headers, and the vectors that columns share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.search.headers import HeaderVectors, header_texts
from tests.search.test_lexical import table

TABLES = (("orders", ("id", "customer_id")), ("orders_2", ("id", "CustomerId")), ("empty", ()))


def test_a_header_is_the_name_of_a_column_after_that_of_its_table() -> None:
    tables = [table(at, name, *columns) for at, (name, columns) in enumerate(TABLES)]
    found = header_texts(tables)
    texts = ["orders id", "orders customer id", "orders 2 id", "orders 2 customer id"]
    assert (found.texts, found.codes.tolist()) == (texts, [0, 1, 2, 3])
    embedded = np.eye(4, dtype=np.float32)
    assert (found.vectors(embedded).of(slice(None)) == embedded).all()


def test_columns_of_one_header_share_its_vector(tmp_path: Path) -> None:
    vectors = np.eye(3, dtype=np.float16)
    held = HeaderVectors(vectors, np.array([2, 0, 2, 1], dtype=np.int32))
    held.save(tmp_path)
    loaded = HeaderVectors.load(tmp_path)
    assert len(loaded) == 4
    assert loaded.of(slice(1, 3)).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (loaded.of(np.array([3, 0])) == held.of(np.array([3, 0]))).all()
    np.save(tmp_path / "header_of.npy", np.array([3], dtype=np.int32))
    with pytest.raises(ValueError, match=str(tmp_path)):
        HeaderVectors.load(tmp_path)
