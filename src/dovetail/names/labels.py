"""What tables and columns are called where their names are cryptic: by a data dictionary in the
data, or by what people wrote on them.

`OCCLI` and `CLCOD` have no word in common; "Cliente" and "Codice cliente", as the dictionary of
their system calls them, do. A short text on a column is a label of it. Where most columns of a
schema have labels, and few of these a word of the name, the labels stand for the names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from dovetail.domain import TableId
from dovetail.names.table_name import qualifier
from dovetail.names.words import BY, ID_WORDS, words

# Words of a text that is a label, at most; and what stands between a label and a remark on it.
_LONGEST, _REMARKS = 4, re.compile(r"[(),;:=]|\s[-\u2013\u2014]\s")
# The share of a schema's columns that have labels, at least, and of these that share a word with
# the name, at most.
_LEAST, _READABLE = 0.5, 0.5


def label(text: str | None) -> str:
    """The label that a text on a column or table begins with, empty for none.

    >>> label("Approvato da (matricola)"), label("Customers of the ERP, in full, since 2019")
    ('Approvato da', 'Customers of the ERP')
    >>> label("Set by the night run when an order is late"), label("= 12")
    ('', '')
    """
    front = _REMARKS.split(text or "", maxsplit=1)[0].strip()
    return front if len(front.split()) <= _LONGEST and any(map(str.isalpha, front)) else ""


def in_words(
    tables: Sequence[TableId],
    ends: Sequence[int],
    called: Sequence[str],
    table_texts: Sequence[str | None],
    column_texts: Sequence[str | None],
) -> tuple[list[str], list[str]]:
    """The labels of tables and of columns that stand for their names, empty where names do.

    The columns of a table stand between its end in `ends` and the next; `called` are their names.
    """
    of_tables, of_columns = [""] * len(tables), [""] * len(called)
    schemas: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, table in enumerate(tables):
        schemas[table.source, qualifier(table.name)].append(number)
    bounds = list(pairwise(ends))
    for members in schemas.values():
        columns = [at for table in members for at in range(*bounds[table])]
        labels = {at: text for at in columns if (text := label(column_texts[at]))}
        if len(labels) < _LEAST * len(columns) or not labels:
            continue
        readable = sum(not set(words(labels[at])).isdisjoint(words(called[at])) for at in labels)
        if readable > _READABLE * len(labels):
            continue
        turned = _head_first(labels.values())
        for at, text in labels.items():
            of_columns[at] = _head_last(text) if turned else text
        for number in members:
            text = label(table_texts[number])
            of_tables[number] = _head_last(text) if turned else text
    return of_tables, of_columns


def _head_first(labels: Iterable[str]) -> bool:
    """Whether labels begin with what they are about, as in Romance languages: "codice cliente" is
    the customer's code, and "fornitore abituale" the usual supplier."""
    front = back = 0
    for text in labels:
        every = words(text)
        front += len(every) > 1 and every[0] in ID_WORDS
        back += len(every) > 1 and every[-1] in ID_WORDS
    return front > back


def _head_last(text: str) -> str:
    """A label with its words turned round, but for one that says by whom."""
    every = text.split()
    return text if every and every[-1].casefold() in BY else " ".join(reversed(every))
