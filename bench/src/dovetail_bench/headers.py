"""The headers of columns as the systems of the paper's comparison have them: table and column name.

How names are taken apart is fixed here. What dovetail makes of names changes with its code, and
neither scores that a prompt shows nor recorded replies to it may change with it.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from dovetail.arrays import Vectors
from dovetail.domain import TableId
from dovetail.errors import ModelError
from dovetail.models.vectors import VectorStore
from dovetail.search.dense import Dense
from dovetail.search.embeddings import FOLDER
from dovetail.search.index import NO_EMBEDDER
from dovetail.search.searcher import Searcher

# Where a word of a name ends: before a capital, before a number, and behind one.
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_NUMBER, _BEHIND = re.compile(r"(?<=[^\W\d_])(?=\d)"), re.compile(r"(?<=\d)(?=[^\W\d_])")
_SIGNS = re.compile(r"[\W_]+")
# A remark behind a name, and words that identify, often glued to another: custid, empno, jobcode.
_REMARK = re.compile(r"(?<=\w)\s*\([^()]*\)\s*$")
_GLUED = re.compile(r"(..+)(code|key|num)|(.+)(id|no)")
# Words that end like that, or like many of something, and stay as they are.
_WHOLE = frozenset(
    ("bid", "grid", "guid", "key", "kid", "kids", "lens", "monkey", "paid", "uuid", "valid")
)
_IRREGULAR = {"people": "person", "campuses": "campus"}


def spelled(name: str) -> str:
    """A name as separate words in lower case.

    >>> spelled("OrderItems"), spelled("T_BIL_ADDR2")
    ('order items', 't bil addr 2')
    """
    return _SIGNS.sub(" ", _NUMBER.sub(" ", _CAPITAL.sub(" ", name))).strip().lower()


@lru_cache(maxsize=1 << 17)
def words(name: str) -> frozenset[str]:
    """The words of a name that two headers may share: in the singular, words that identify apart.

    >>> sorted(words("custIDs (old)")), sorted(words("2ndCities"))
    (['cust', 'id'], ['2', 'city', 'nd'])
    """
    found: set[str] = set()
    for word in _BEHIND.sub(" ", spelled(_REMARK.sub("", name))).split():
        glued = None if word in _WHOLE else _GLUED.fullmatch(word)
        found.update(_singular(part) for part in (glued.groups() if glued else (word,)) if part)
    return frozenset(found)


def _singular(word: str) -> str:
    if word in _WHOLE:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def header_text(table: str, column: str) -> str:
    """What is embedded of a column: the name of its table and its own.

    >>> header_text("OrderItems", "order_no")
    'order items order no'
    """
    return f"{spelled(table)} {spelled(column)}"


class Headers:
    """A vector of each column's header, kept beside those of the catalog, so each is made once."""

    def __init__(self, searcher: Searcher) -> None:
        if searcher.embedder is None:
            raise ModelError(NO_EMBEDDER)
        catalog = searcher.catalog
        self._columns = [(table.id, column.name) for table in catalog for column in table.columns]
        self._bounds = np.cumsum([0, *(len(table.columns) for table in catalog)])
        self._places = {table: place for place, table in enumerate(catalog.ids)}
        texts = [header_text(table.name, column) for table, column in self._columns]
        store = VectorStore(catalog.folder / FOLDER, searcher.embedder)
        self._vectors = store.documents(texts)
        self._nearest = Dense(self._vectors)

    def of(self, table: TableId) -> Vectors:
        """A vector for each column of a table, in its order."""
        place = self._places[table]
        found: Vectors = self._vectors[self._bounds[place] : self._bounds[place + 1]]
        return found

    def nearest(self, vector: Vectors, count: int) -> list[tuple[TableId, str, float]]:
        """The table, the name and the cosine of each of the nearest columns."""
        rows, cosines = self._nearest.nearest(vector, count)
        return [
            (*self._columns[row], cosine)
            for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]


@lru_cache(maxsize=2)
def headers_of(searcher: Searcher) -> Headers:
    """The headers that all systems over one searcher share."""
    return Headers(searcher)
