"""Vectors of headers put together from those of names: how near they come to the headers' own."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.domain import TableId
from dovetail.models.embed_minilm import open_minilm
from dovetail.search.composed_headers import composed_headers
from dovetail.search.embeddings import like_tables
from dovetail.search.headers import header_texts
from tests.search.test_lexical import table

NAMES = [
    "orders",
    "order_items",
    "customers",
    "suppliers",
    "products",
    "warehouses",
    "shipments",
    "invoices",
    "payments",
    "employees",
    "departments",
    "schools",
    "teachers",
    "pupils",
    "courses",
    "grades",
    "trains",
    "stations",
    "patients",
    "doctors",
]
COLUMNS = [
    "id",
    "name",
    "city",
    "country",
    "price",
    "amount",
    "created_at",
    "updated_by",
    "status",
    "kind",
    "first_name",
    "last_name",
    "birth_date",
    "phone",
    "email",
    "street",
    "weight",
    "height",
    "start_date",
    "end_date",
]


def test_headers_are_pairs_of_names_and_those_drawn_stand_whole_among_the_texts() -> None:
    tables = [table(0, "sales_2019", "id", "Amount"), table(1, "sales_2020", "amount", "id")]
    found = composed_headers(tables, [0, 0], drawn=1)
    assert found.tables == ["sales 2019"]
    assert found.columns == ["id", "amount"]
    assert found.codes.tolist() == [0, 1, 1, 0]
    assert found.texts == ["sales 2019", "id", "amount", "sales 2019 amount"]


def test_composed_vectors_are_nearer_to_the_own_ones_than_sums() -> None:
    embedder = open_minilm()
    tables = [table(at, name, *COLUMNS) for at, name in enumerate(NAMES)]
    headers = composed_headers(tables, range(len(tables)), drawn=200)
    assert len(headers.texts) == len(NAMES) + len(COLUMNS) + 200
    found = headers.vectors(embedder.embed_documents(headers.texts)).of(slice(None))
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=2e-3)
    whole = header_texts(tables)
    own = embedder.embed_documents(whole.texts)[whole.codes]
    names = embedder.embed_documents(headers.texts)
    table_of, column_of = headers.table[headers.codes], headers.column[headers.codes]
    sums = names[table_of] + names[len(NAMES) + column_of]
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    rest = np.setdiff1d(np.arange(len(own)), headers.drawn)  # those it did not learn from
    near, plain = (np.sum(v[rest] * own[rest], axis=1).mean() for v in (found, sums))
    assert len(rest) == 200
    assert plain < 0.9 < 0.93 < near


def test_the_same_headers_are_drawn_whatever_the_order_of_tables() -> None:
    tables = [table(at, name, *COLUMNS) for at, name in enumerate(NAMES)]
    one = composed_headers(tables, range(len(tables)), drawn=30)
    other = composed_headers(tables[::-1], range(len(tables)), drawn=30)
    assert one.texts[-30:] == other.texts[-30:]


def test_tables_are_alike_by_names_without_digits_columns_in_any_order_and_purpose() -> None:
    tables = [
        table(0, "gsod1929", "stn", "temp"),
        table(1, "gsod1930", "temp", "stn"),
        table(2, "gsod1931", "stn", "temp", "wban"),
        table(3, "gsod", "stn", "temp"),
        table(4, "gsod7", "stn", "temp"),
    ]
    purposes: dict[TableId, str] = {tables[4].id: "another"}
    assert like_tables(tables, purposes) == [0, 0, 2, 3, 4]
    assert like_tables(tables, {}) == [0, 0, 2, 3, 0]
