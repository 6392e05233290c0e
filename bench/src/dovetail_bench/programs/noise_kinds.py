"""Kinds of noise in the foreign keys of the sample corpus: orphans, nulls, drift, duplicates.

What is drawn follows from the seed and the cell: what is noisy at 5% is noisy at 10% too.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from random import Random

from dovetail.sample.table import Kind, Row, SampleTable, Tables
from dovetail_bench.corpora.corpus import draw_corpus
from dovetail_bench.programs.planted_joins import Column, Reference

Corpus = dict[str, Tables]


def clean_corpus(planted: Iterable[Reference], seed: int) -> Corpus:
    """The sample corpus without orphans in planted references and without repeated keys."""
    corpus = draw_corpus()
    for parent in sorted({each.parent for each in planted}):
        table = corpus[parent.domain][parent.table]
        once = dict(zip(table.column(parent.name), table.rows, strict=True))
        _put(corpus, parent, replace(table, rows=tuple(once.values())))
    for each in planted:
        rng = Random(f"{seed}/{each.child}")
        known = corpus[each.parent.domain][each.parent.table].column(each.parent.name)
        held = {str(value) for value in known}
        table = corpus[each.child.domain][each.child.table]
        values = [
            value if value is None or str(value) in held else rng.choice(known)
            for value in table.column(each.child.name)
        ]
        _put(corpus, each.child, with_column(table, each.child.name, values))
    return corpus


def with_column(table: SampleTable, name: str, values: Sequence[object]) -> SampleTable:
    """A table with other values in one column."""
    place = list(table.columns).index(name)
    rows: list[Row] = [
        (*row[:place], value, *row[place + 1 :])
        for row, value in zip(table.rows, values, strict=True)
    ]
    return replace(table, rows=tuple(rows))


def _put(corpus: Corpus, column: Column, table: SampleTable) -> None:
    corpus[column.domain] = {**corpus[column.domain], column.table: table}


# What becomes of a value, given as text: another text, or nothing. Unchanged where the kind of
# noise does not apply.
Noise = Callable[[str, Random, Collection[str]], str | None]


def orphan(text: str, rng: Random, known: Collection[str]) -> str:
    """A value of the same shape that no parent has."""
    while text in known:
        if text.isdecimal():
            text = str(int(text) + rng.randint(1, 9) * 10 ** len(text))
        else:
            drawn = string.digits if any(map(str.isdecimal, text)) else string.ascii_uppercase
            made = "".join(rng.choice(drawn) if each in drawn else each for each in text)
            text = made if made != text else text + rng.choice(drawn)
    return text


def null(_text: str, _rng: Random, _known: Collection[str]) -> None:
    """No value."""
    return


def as_type(text: str, rng: Random, _known: Collection[str]) -> str:
    """A number as a spreadsheet or a form writes it: 7.0, 007."""
    return rng.choice((f"{text}.0", f"00{text}")) if text.isdecimal() else text


def other_case(text: str, _rng: Random, _known: Collection[str]) -> str:
    """In small letters, or in capitals where it was small."""
    return text.lower() if text != text.lower() else text.upper()


def blanks(text: str, rng: Random, _known: Collection[str]) -> str:
    """With blanks around it."""
    return rng.choice((f" {text}", f"{text} ", f"{text}   ", f"\t{text}", f"{text}\u00a0"))


CELLS: dict[str, Noise] = {
    "orphans": orphan,
    "nulls": null,
    "type drift": as_type,
    "case drift": other_case,
    "whitespace": blanks,
}


def mixed(text: str, rng: Random, known: Collection[str]) -> str | None:
    """One of the kinds that apply."""
    for noise in rng.sample(list(CELLS.values()), len(CELLS)):
        made = noise(text, rng, known)
        if made != text:
            return made
    return text


KINDS: dict[str, Noise | None] = {**CELLS, "duplicates": None, "mixed": mixed}


def add_noise(
    corpus: Corpus, planted: Sequence[Reference], kind: str, share: float, seed: int
) -> Corpus:
    """The corpus with a share of noise of one kind."""
    made = dict(corpus)
    noise = KINDS[kind]
    if noise is not None:
        for each in planted:
            table = noisy_column(made, each, noise, share, f"{seed}/{kind}")
            _put(made, each.child, table)
    if kind in ("duplicates", "mixed"):
        # In the mixture a cell has one of the kinds: every kind has an equal part.
        twice = share if kind == "duplicates" else share / len(CELLS)
        for domain, name in sorted({(each.parent.domain, each.parent.table) for each in planted}):
            rng = Random(f"{seed}/{kind}/{domain}/{name}")
            table = made[domain][name]
            again = tuple(row for row in table.rows if rng.random() < twice)
            made[domain] = {**made[domain], name: replace(table, rows=table.rows + again)}
    return made


def noisy_column(
    corpus: Corpus, reference: Reference, noise: Noise, share: float, seed: str
) -> SampleTable:
    """The child's table with noise in a share of the references."""
    child, parent = reference.child, reference.parent
    known = {str(value) for value in corpus[parent.domain][parent.table].column(parent.name)}
    table = corpus[child.domain][child.table]
    rng = Random(f"{seed}/{child}")
    values: list[str | None] = []
    for place, value in enumerate(table.column(child.name)):
        hit = rng.random() < share
        text = None if value is None else str(value)
        if hit and text is not None:
            # A generator per cell: more noise elsewhere does not change this cell's.
            text = noise(text, Random(f"{seed}/{child}/{place}"), known)
        values.append(text)
    if table.columns[child.name] is not Kind.INT:
        return with_column(table, child.name, values)
    if all(value is None or _is_number(value) for value in values):
        numbers = [None if value is None else int(value) for value in values]
        return with_column(table, child.name, numbers)
    # A number that is not written as one makes the whole column text.
    text_table = replace(table, columns={**table.columns, child.name: Kind.TEXT})
    return with_column(text_table, child.name, values)


def _is_number(text: str) -> bool:
    return text.isdecimal() and str(int(text)) == text


def touched(corpus: Corpus, planted: Iterable[Reference], kind: str) -> list[Reference]:
    """The references whose values a kind of noise changes."""
    noise = KINDS[kind]
    if noise is None:
        return list(planted)
    found = []
    for each in planted:
        values = corpus[each.child.domain][each.child.table].column(each.child.name)
        texts = {str(value) for value in values if value is not None}
        if any(noise(text, Random(0), texts) != text for text in texts):
            found.append(each)
    return found
