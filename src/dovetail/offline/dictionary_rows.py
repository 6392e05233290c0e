"""What the rows of a data dictionary say: from cells that are names of tables and columns, and the
texts beside them, to descriptions of those tables.

Four shapes are read: a row per table; a row per column of a table; a row per column name, for all
tables that have it (a codebook, a field reference); and a row per column that names a data element,
whose text stands in another table (SAP's DD03L and DD04T).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from dovetail.domain import TableId
from dovetail.names.table_name import qualifier, unqualified

# Of the subjects that a dictionary names: how many must have a text, and each only one.
_COVERED, _CONSISTENT = 0.3, 0.9
# The fewest subjects, and of how many subjects the texts must differ.
_FEWEST, _DIFFERENT = 3, 0.5
# Texts are words: so many of them have several, and no more have digits.
_SEVERAL_WORDS, _WITH_DIGITS = 0.25, 0.5
# The share of a row's columns that its table must have, and of a table's columns that a codebook
# must explain.
_FITS, _EXPLAINED = 0.5, 0.5
# The longest code of a language, and how many there are at most.
_LANGUAGE, _LANGUAGES = 5, 60
_ENGLISH = ("e", "en", "eng", "en-us", "en_us", "en-gb", "en_gb")
_NO_SUCH_NAME = ""

Key = TypeVar("Key", bound=Hashable)
Column = Sequence[str]


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a dictionary may speak of: tables by name, in any case, and their columns."""

    tables: Mapping[str, Sequence[TableId]]
    columns: Mapping[TableId, Mapping[str, str]]

    @classmethod
    def of(cls, columns: Mapping[TableId, Sequence[str]]) -> Names:
        """The names of some tables and their columns."""
        tables: dict[str, list[TableId]] = defaultdict(list)
        for table in columns:
            for name in {folded(table.name), folded(unqualified(table.name))}:
                tables[name].append(table)
        folded_columns = {
            table: {folded(name): name for name in names} for table, names in columns.items()
        }
        return cls(tables, folded_columns)

    def table(self, name: str, row: Iterable[str], source: str) -> TableId | None:
        """The table that a cell means: of several, that of the dictionary's own source, or the one
        whose schema another cell of the row names. None where that does not decide."""
        tables = self.tables.get(name, ())
        if len(tables) > 1:
            tables = [table for table in tables if table.source == source] or tables
        if len(tables) > 1:
            cells = set(map(folded, row))
            tables = [table for table in tables if folded(qualifier(table.name)) in cells]
        return tables[0] if len(tables) == 1 else None


@dataclass(slots=True)
class Texts:
    """What a dictionary says: of tables, and of their columns."""

    tables: dict[TableId, str] = field(default_factory=dict)
    columns: dict[TableId, dict[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tables or self.columns)


def folded(name: str) -> str:
    """A name as cells and names are compared: in any case, without blanks around it."""
    return name.strip().casefold()


def read_rows(
    cells: Mapping[str, Column],
    table_column: str | None,
    name_column: str | None,
    names: Names,
    source: str,
) -> Texts:
    """What the rows of a table say of others.

    `cells` are its columns of text, `table_column` the one that names tables and `name_column` the
    one that names columns; one of both may be missing. Nothing where it is no dictionary.
    """
    rows = _Rows(cells, names)
    if table_column is None:
        return _codebook(rows, name_column or _NO_SUCH_NAME, names)
    listed = list(zip(*cells.values(), strict=True))
    subjects = [
        names.table(folded(cell), row, source)
        for cell, row in zip(cells[table_column], listed, strict=True)
    ]
    texts = Texts()
    if name_column is not None:
        pairs = _pairs(subjects, cells[name_column], names)
        named = sum(pair is not None for pair in pairs)
        if named >= max(_FEWEST, _FITS * sum(bool(s) for s in subjects)):
            others = cells.keys() - {table_column, name_column}
            for (table, column), text in rows.texts(pairs, others, by_last=True).items():
                texts.columns.setdefault(table, {})[column] = text
            # A row that names a table and no column, or all of them (`*`), is about the table.
            alone = [
                None if any(map(str.isalnum, cell)) else subject
                for subject, cell in zip(subjects, cells[name_column], strict=True)
            ]
            texts.tables |= rows.texts(alone, others, proven=bool(texts.columns))
    others = cells.keys() - {table_column, name_column}
    texts.tables = rows.texts(subjects, others) | texts.tables
    if name_column is not None and len({*subjects} - {None}) < _FEWEST:
        texts.columns = _codebook(rows, name_column, names).columns | texts.columns
    return texts


def with_elements(
    elements: Mapping[str, Column], cells: Mapping[str, Column], column: str
) -> Mapping[str, Column]:
    """The cells of a dictionary whose texts stand in another table, with one more column of these.

    `column`, which both have, names the data element that each row is about.
    """
    if column not in elements:
        return cells
    subjects = [folded(cell) or None for cell in elements[column]]
    texts = _Rows(elements, Names({}, {})).texts(subjects, elements.keys() - {column})
    return {**cells, f"{column} text": [texts.get(folded(cell), "") for cell in cells[column]]}


def _pairs(
    subjects: Sequence[TableId | None], cells: Column, names: Names
) -> list[tuple[TableId, str] | None]:
    """The column that each row is about; None where its table has none of that name."""
    pairs: list[tuple[TableId, str] | None] = []
    for table, cell in zip(subjects, cells, strict=True):
        column = names.columns[table].get(folded(cell)) if table is not None else None
        pairs.append((table, column) if table is not None and column is not None else None)
    return pairs


def _codebook(rows: _Rows, name_column: str, names: Names) -> Texts:
    """What a dictionary of column names says of the tables that have most of their columns in it,
    or, where it has most names of all, of every table."""
    cells = rows.cells[name_column]
    known = {name for columns in names.columns.values() for name in columns}
    subjects = [folded(cell) if folded(cell) in known else None for cell in cells]
    by_name = rows.texts(subjects, rows.cells.keys() - {name_column})
    every = len(by_name) >= _EXPLAINED * len(known)
    texts = Texts()
    for table, columns in names.columns.items():
        glosses = {columns[name]: by_name[name] for name in columns if name in by_name}
        if glosses and (every or len(glosses) >= max(_FEWEST, _EXPLAINED * len(columns))):
            texts.columns[table] = glosses
    return texts


class _Rows:
    """The rows of a table, as columns of text."""

    def __init__(self, cells: Mapping[str, Column], names: Names) -> None:
        self.cells, self._names = cells, names

    def texts(
        self,
        subjects: Sequence[Key | None],
        columns: Iterable[str],
        *,
        by_last: bool = False,
        proven: bool = False,
    ) -> dict[Key, str]:
        """The text of each subject, from the column that says most; none where no column does.

        `by_last`: subjects with the same last part, such as a column's name, may share a text.
        `proven`: other rows showed that this is a dictionary, so one subject is enough.
        """
        listed = sorted(columns)
        subjects = self._in_one_language(subjects, listed)
        best: tuple[float, dict[Key, str]] = (0.0, {})
        for column in listed:
            texts = self._texts_in(subjects, self.cells[column], 1 if proven else _FEWEST)
            about = {key[-1] if by_last and isinstance(key, tuple) else key for key in texts}
            if texts and (proven or self._are_descriptions(texts, len(about))):
                words = sum(len(text.split()) for text in texts.values()) / len(texts)
                best = max(best, (words * len(texts), texts), key=lambda each: each[0])
        return best[1]

    def _texts_in(
        self, subjects: Sequence[Key | None], cells: Column, fewest: int
    ) -> dict[Key, str]:
        """The one text that each subject has in a column; none where many have several."""
        by_subject: dict[Key, dict[str, None]] = defaultdict(dict)
        every: set[Key] = set()
        for subject, cell in zip(subjects, cells, strict=True):
            if subject is not None:
                every.add(subject)
                if text := " ".join(cell.split()):
                    by_subject[subject][text] = None
        single = {key: next(iter(texts)) for key, texts in by_subject.items() if len(texts) == 1}
        enough = len(by_subject) >= max(fewest, _COVERED * len(every))
        return single if enough and len(single) >= _CONSISTENT * len(by_subject) else {}

    def _are_descriptions(self, texts: Mapping[Key, str], subjects: int) -> bool:
        """Whether texts describe things: they are words, differ, and are no names of tables."""
        several = sum(" " in text for text in texts.values())
        digits = sum(any(map(str.isdigit, text)) for text in texts.values())
        named = sum(folded(text) in self._names.tables for text in texts.values())
        return (
            several >= _SEVERAL_WORDS * len(texts)
            and digits <= _WITH_DIGITS * len(texts)
            and named < _FITS * len(texts)
            and len(set(texts.values())) >= max(_FEWEST, _DIFFERENT * subjects)
        )

    def _in_one_language(
        self, subjects: Sequence[Key | None], columns: Iterable[str]
    ) -> Sequence[Key | None]:
        """The subjects of the rows in one language, English where there is any, if rows repeat
        subjects because each is described in several."""
        counted = Counter(subject for subject in subjects if subject is not None)
        if not counted or max(counted.values()) == 1:
            return subjects
        for column in columns:
            cells = [folded(cell) for cell in self.cells[column]]
            codes = Counter(cell for cell, subject in zip(cells, subjects, strict=True) if subject)
            if not 1 < len(codes) <= _LANGUAGES or not all(map(_is_code, codes)):
                continue
            pairs = set(zip(subjects, cells, strict=True))
            if sum(subject is not None for subject, _ in pairs) < sum(counted.values()):
                continue
            wanted = next((code for code in _ENGLISH if code in codes), "")
            wanted = wanted or min(codes, key=lambda code: (-codes[code], code))
            return [
                subject if cell == wanted else None
                for subject, cell in zip(subjects, cells, strict=True)
            ]
        return subjects


def _is_code(text: str) -> bool:
    letters = text.replace("-", "").replace("_", "")
    return 0 < len(text) <= _LANGUAGE and letters.isalpha()
