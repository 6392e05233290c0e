"""In words, what a table has to do with a question: the cells it holds, the words its names say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import PERSON, Description, Table, TableId, warns_off
from dovetail.names.words import Parts
from dovetail.notes.notes import NO_NOTES, Notes, Remark
from dovetail.search.query import Query, QueryTerm, query_words, shapes_speech, stems
from dovetail.search.value_linking import NumberColumns
from dovetail.text import count, cut

# Characters of a comment that a reason quotes.
_WIDTH = 80
_NOT_DESCRIBED = Description("", PERSON)


def reasons(
    catalog: CatalogReader,
    query: Query,
    tables: Sequence[int],
    notes: Notes = NO_NOTES,
    descriptions: Mapping[TableId, Description] | None = None,
    parts: Parts | None = None,
) -> list[list[str]]:
    """The reasons of tables, each given by its number in the catalog's order.

    `descriptions` tell which of the comments no person wrote, `parts` what names run together.
    """
    bounds, names = catalog.records.bounds, catalog.records.columns["name"]
    reasons_of: list[list[str]] = []
    numbers = NumberColumns(catalog)
    places = np.array(tables, dtype=np.int64)
    meanings = [(term, term.means(places).tolist()) for term in query.terms]
    for at, number in enumerate(tables):
        start, end = bounds[number], bounds[number + 1]
        sentences = [
            f"holds {(link.meant or link.span.text)!r} in {names[int(column)].as_py()}"
            for link in query.links
            for column in link.columns.tolist()
            if start <= column < end and (not link.span.number or numbers.meant(column))
        ]
        meant = [term for term, means in meanings if means[at]]
        sentences += dict.fromkeys(term.note for term in meant if term.note)
        plain = [term for term in meant if not term.note]
        if plain := [term for term in plain if not shapes_speech(query.words[term.text])]:
            table = catalog[catalog.ids[number]]
            about = (descriptions or {}).get(table.id, _NOT_DESCRIBED)
            remarks = notes.remarks_on(table.id)
            sentences += _by_words(table, about, query, plain, remarks, parts)
        if sentences and (in_dbt := catalog.dbt.tables.get(catalog.ids[number])):
            sentences += in_dbt.reasons
        if sentences and (use := catalog.usage.tables.get(catalog.ids[number])):
            sentences.append(f"stands in {count(use.queries, 'query')}")
        reasons_of.append(sentences)
    return reasons_of


def _by_words(
    table: Table,
    about: Description,
    query: Query,
    terms: Sequence[QueryTerm],
    remarks: Sequence[Remark],
    parts: Parts | None,
) -> Iterator[str]:
    """Which words the names of a table say, and what comments and notes say of the others."""
    comments = [
        *(("your note", remark.text) for remark in remarks),
        (
            "its comment" if about.author == PERSON else "its description",
            "" if warns_off(table.comment) else table.comment,
        ),
        *(
            (f"the {'gloss' if column.name in about.glosses else 'comment'} on {column.name}", text)
            for column in table.columns
            if (text := column.comment)
        ),
    ]
    read = [(whose, text, set(query_words(text))) for whose, text in comments if text]
    every = (table.name, *(column.name for column in table.columns)) if read else ()
    names = {word for name in every for word in stems(name, parts)}
    by_name = [term for term in terms if not read or _means(term, names)]
    if by_name:
        yield f"its names say {', '.join(query.words[term.text] for term in by_name)}"
    left = [term for term in terms if term not in by_name]
    for whose, text, words in read:
        if any(_means(term, words) for term in left):
            left = [term for term in left if not _means(term, words)]
            yield f"{whose} says {cut(text, _WIDTH)!r}"


def _means(term: QueryTerm, words: set[str]) -> bool:
    return any(word in words for word, _ in term.expansions)
