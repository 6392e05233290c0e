"""Headers as the systems of the comparison have them: words, texts and vectors."""

from __future__ import annotations

import numpy as np
from tests.support.scripted import HashEmbedder

from dovetail.search.searcher import Searcher
from dovetail_bench.headers import header_text, headers_of, words


def test_words_that_identify_stand_apart_and_remarks_go() -> None:
    for name, wanted in {
        "custid": "cust id", "empno": "emp no", "jobcode": "job code", "paid": "paid",
        "Free Meal Count (K-12)": "free meal count", "Campuses": "campus", "uuid": "uuid",
    }.items():  # fmt: skip
        assert words(name) == set(wanted.split()), name


def test_every_column_has_the_vector_of_its_table_and_name(shop: Searcher) -> None:
    headers = headers_of(shop)
    for table in shop.tables:
        texts = [header_text(table.name, column.name) for column in table.columns]
        wanted = HashEmbedder().embed_documents(texts)
        assert np.array_equal(headers.of(table.id), wanted)
        own = headers.nearest(wanted[0], 100)
        near = {(one, name): cosine for one, name, cosine in own}
        assert np.isclose(near[table.id, table.columns[0].name], 1.0)
        assert [cosine for *_, cosine in own] == sorted(near.values(), reverse=True)
