"""What an embedder makes of headers: a column's is its table's name and its own, as words."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from dovetail.arrays import Encoded, Floats, Ints
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.ports import Embedder

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
# Pairs whose vectors are held at a time.
_BLOCK = 1 << 14

# A similarity of two columns' headers in [0, 1], for many pairs of columns at once.
HeaderSimilarity = Callable[[Ints, Ints], Floats]


def header(table: str, column: str) -> str:
    """The text that stands for a column.

    >>> header("OrderItems", "cust_id")
    'order items cust id'
    """
    return " ".join(word.lower() for name in (table, column) for word in _WORD.findall(name))


def header_similarity(arrays: ColumnArrays, embedder: Embedder | None) -> HeaderSimilarity | None:
    """The cosine of two columns' headers, no less than 0; None without an embedder.

    All headers are embedded in one call.
    """
    if embedder is None or not len(arrays):
        return None
    tables = [arrays.ids[table].name for table in arrays.table.tolist()]
    texts = Encoded.of([header(*names) for names in zip(tables, arrays.name, strict=True)])
    vectors = embedder.embed_documents(texts.dictionary)

    def cosine(left: Ints, right: Ints) -> Floats:
        found = np.empty(len(left), dtype=np.float64)
        for at in range(0, len(left), _BLOCK):
            part = slice(at, at + _BLOCK)
            one, other = vectors[texts.codes[left[part]]], vectors[texts.codes[right[part]]]
            found[part] = np.einsum("ij,ij->i", one, other)
        return np.clip(found, 0.0, 1.0)

    return cosine
