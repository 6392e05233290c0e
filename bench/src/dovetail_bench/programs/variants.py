"""Corpora made worse on purpose: noise in cells and names, and tables that no question is about.

What is drawn follows from the seed and the place it is drawn for: what is noisy at 5% is noisy at
10% too, and ten times as many tables have the first ones among them. The tables of the corpus keep
their names, so gold stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from dovetail.domain import TableId
from dovetail.errors import RescanError
from dovetail.names.words import spelled
from dovetail.plugins import open_source
from dovetail.ports import Listing, Source
from dovetail.sources.resolve import expand, root
from dovetail_bench.corpus_folder import ABOUT, QUESTIONS
from dovetail_bench.datasets import Dataset, ForeignKey, open_dataset
from dovetail_bench.programs.noise_kinds import orphan

# Other tables need not be as long as those that they are made from.
MOST_ROWS = 1000
# One spelling of a type for all sources.
SMALL = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
Place = tuple[TableId, str]


@dataclass(frozen=True, slots=True)
class Frame:
    """A table as it was read; `untyped` is one of text, whose types are for the reader to find."""

    data: pa.Table
    untyped: bool = False


Corpus = dict[TableId, Frame]


def read_corpus(dataset: Dataset) -> Corpus:
    """Every table of a dataset, in memory."""
    found: Corpus = {}
    for label, path in dataset.sources.items():
        for spec in expand(root(f"{label}={path}", Path.cwd())):
            source = open_source(spec)
            try:
                for listing in source.tables():
                    found[TableId(spec.label, listing.name)] = _read(source, listing)
            finally:
                source.close()
    return dict(sorted(found.items()))


def _read(source: Source, listing: Listing) -> Frame:
    while True:
        try:
            scan = source.scan(listing)
            batches = list(scan.batches)
        except RescanError:  # it knows another way now
            continue
        names = [column.name for column in scan.columns]
        empty = pa.schema([(name, pa.string()) for name in names])
        read = pa.Table.from_batches(batches, None if batches else empty).rename_columns(names)
        wanted = [(each.name, SMALL.get(each.type, each.type)) for each in read.schema]
        data = read.cast(pa.schema(wanted)).combine_chunks()
        return Frame(data, any(column.untyped for column in scan.columns))


def references(corpus: Corpus, keys: Sequence[ForeignKey]) -> dict[Place, set[Place]]:
    """What each column refers to, by the names that tables and columns really have."""
    places: dict[tuple[str, ...], Place] = {
        (table.source.casefold(), table.name.casefold(), name.casefold()): (table, name)
        for table, frame in corpus.items()
        for name in frame.data.column_names
    }
    found: dict[Place, set[Place]] = {}
    for key in keys:
        names = (
            (key.database, key.table, key.column),
            (key.ref_database, key.ref_table, key.ref_column),
        )
        child, parent = (
            places.get((a.casefold(), b.casefold(), c.casefold())) for a, b, c in names
        )
        if child and parent:
            found.setdefault(child, set()).add(parent)
    return found


# A corpus with a share of noise, drawn with a seed.
AddNoise = Callable[[Corpus, Mapping[Place, set[Place]], float, int], Corpus]


def with_orphans(
    corpus: Corpus, refers: Mapping[Place, set[Place]], share: float, seed: int
) -> Corpus:
    """A share of the values of declared references become values that the key does not have."""
    made = dict(corpus)
    for (table, name), parents in sorted(refers.items()):
        known = {
            str(value)
            for parent, key in parents
            for value in corpus[parent].data[key].to_pylist()
            if value is not None
        }
        column = made[table].data[name]
        hit = _hit(len(column), share, seed, "orphans", table, name)
        texts = [
            orphan(str(value), Random(f"{seed}/{table}/{name}/{at}"), known)
            if dirty and value is not None
            else None
            if value is None
            else str(value)
            for at, (value, dirty) in enumerate(zip(column.to_pylist(), hit.tolist(), strict=True))
        ]
        made[table] = _with_column(made[table], name, _as(texts, column.type))
    return made


def with_renamed_columns(
    corpus: Corpus, _refers: Mapping[Place, set[Place]], share: float, seed: int
) -> Corpus:
    """A share of all columns have names that say nothing: f1, f2, … by their place."""
    made: Corpus = {}
    for table, frame in corpus.items():
        taken = {name.casefold() for name in frame.data.column_names}
        names = []
        for place, name in enumerate(frame.data.column_names, 1):
            other = next(
                each for n in range(place + 1) if (each := "_" * n + f"f{place}") not in taken
            )
            hit = _hit(1, share, seed, "renamed", table, name)[0]
            names.append(other if hit else name)
        made[table] = replace(frame, data=frame.data.rename_columns(names))
    return made


def with_removed_values(
    corpus: Corpus, _refers: Mapping[Place, set[Place]], share: float, seed: int
) -> Corpus:
    """A share of all cells are empty."""
    made: Corpus = {}
    for table, frame in corpus.items():
        columns = [
            pc.if_else(
                pa.array(_hit(len(column), share, seed, "removed", table, name)),
                pa.scalar(None, column.type),
                column,
            )
            for name, column in zip(frame.data.column_names, frame.data.columns, strict=True)
        ]
        made[table] = replace(frame, data=pa.table(columns, names=frame.data.column_names))
    return made


NOISE: dict[str, AddNoise] = {
    "orphans": with_orphans,
    "renamed columns": with_renamed_columns,
    "removed values": with_removed_values,
}


def distractors(
    corpus: Corpus, refers: Mapping[Place, set[Place]], times: int, seed: int
) -> Corpus:
    """The corpus and so many other databases for each of its own, with a table for each table.

    Another name, made of the words that tables and columns of the corpus are called by; of its
    columns those of declared keys, and of the others a third as they are, a third renamed, and a
    third from elsewhere. Keys that are text have other codes, the same all over the database, so
    what joined still joins; the cells of other columns are drawn from the originals.
    """
    ends = set(refers) | {parent for parents in refers.values() for parent in parents}
    maker = _Maker(corpus, ends)
    made = dict(corpus)
    for copy in range(1, times + 1):
        for source in sorted({table.source for table in corpus}):
            made |= maker.database(source, copy, Random(f"{seed}/{source}/{copy}"))
    return made


class _Maker:
    def __init__(self, corpus: Corpus, keys: set[Place]) -> None:
        self._corpus, self._keys = corpus, keys
        self._columns = [(t, name) for t in corpus for name in corpus[t].data.column_names]
        names = [*(table.name for table in corpus), *(name for _, name in self._columns)]
        words = {word for name in names for word in spelled(name).split()}
        self._words = sorted(word for word in words if word.isalpha() and len(word) > 2)
        self._taken = {table.name.casefold() for table in corpus}

    def database(self, source: str, copy: int, rng: Random) -> Corpus:
        codes = _codes(rng)
        taken = set(self._taken)
        made: Corpus = {}
        for table in self._corpus:
            if table.source == source:
                name = self._renamed(table.name, rng, taken)
                taken.add(name)
                made[TableId(f"{source}.{copy}", name)] = self._table(table, codes, rng)
        return made

    def _table(self, table: TableId, codes: Mapping[int, int], rng: Random) -> Frame:
        frame = self._corpus[table]
        rows = min(frame.data.num_rows, MOST_ROWS)
        taken = {name.casefold() for name in frame.data.column_names if (table, name) in self._keys}
        columns: dict[str, pa.ChunkedArray] = {}
        for name in frame.data.column_names:
            if (table, name) in self._keys:
                columns[name] = _recoded(frame.data[name].slice(0, rows), codes)
                continue
            here, fate = (table, name), rng.random()
            if fate < 1 / 3:
                here = rng.choice(self._columns)
            made = here[1]
            if fate >= 2 / 3 or made.casefold() in taken:
                made = self._renamed(made, rng, taken)
            taken.add(made.casefold())
            columns[made] = _resampled(self._corpus[here[0]].data[here[1]], rows, rng)
        return Frame(pa.table(columns), frame.untyped)

    def _renamed(self, name: str, rng: Random, taken: set[str]) -> str:
        """The name with one word more, or another in its place; one that is not taken."""
        words = spelled(name).split() or [name]
        while True:
            place, word = rng.randrange(len(words) + 1), rng.choice(self._words)
            instead = place < len(words) and rng.random() < 1 / 2
            made = "_".join([*words[:place], word, *words[place + instead :]])
            if made not in taken:
                return made


def _codes(rng: Random) -> dict[int, int]:
    found: dict[int, int] = {}
    for signs in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        found |= dict(zip(map(ord, signs), map(ord, rng.sample(signs, len(signs))), strict=True))
    return found


def _recoded(column: pa.ChunkedArray, codes: Mapping[int, int]) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    texts = [None if text is None else text.translate(codes) for text in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _resampled(column: pa.ChunkedArray, rows: int, rng: Random) -> pa.ChunkedArray:
    if not len(column):
        return pa.chunked_array([pa.nulls(rows, column.type)])
    drawn = np.random.default_rng(rng.getrandbits(64)).integers(len(column), size=rows)
    return column.take(pa.array(drawn))


def strangers(corpus: Corpus, other: Dataset) -> Corpus:
    """The corpus and another's tables, less those that it has by name and columns itself."""

    def face(table: TableId, frame: Frame) -> tuple[str, ...]:
        return table.name.casefold(), *sorted(map(str.casefold, frame.data.column_names))

    own = {face(table, frame) for table, frame in corpus.items()}
    return corpus | {
        TableId(f"{table.source}.{other.name}", table.name): frame
        for table, frame in read_corpus(other).items()
        if face(table, frame) not in own
    }


def write_variant(folder: Path, dataset: Dataset, make: Callable[[], Corpus]) -> Dataset:
    """A corpus with the questions of a dataset; one that was written whole is not made again."""
    if not (folder / ABOUT).is_file():
        corpus = make()
        sources = {
            source: str(number)
            for number, source in enumerate(sorted({table.source for table in corpus}))
        }
        for table, frame in corpus.items():
            _write(folder / sources[table.source] / table.name, frame)
        rows = json.dumps(list(dataset.rows()), ensure_ascii=False)
        (folder / QUESTIONS).write_text(rows, encoding="utf-8")
        about = {"sources": sources, "dialects": list(dataset.dialects)}
        (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8")
    return open_dataset(folder)


def _write(path: Path, frame: Frame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if frame.untyped and not any(map(pa.types.is_binary, frame.data.schema.types)):
        pyarrow.csv.write_csv(frame.data, f"{path}.csv")
    else:
        pyarrow.parquet.write_table(frame.data, f"{path}.parquet")


def contents_of(dataset: Dataset, *more: object) -> str:
    """A short name for the files of a dataset, and what else decides what is made of them."""
    found = hashlib.sha256(repr(more).encode())
    for label, path in sorted(dataset.sources.items()):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                found.update(f"{label}/{file.name}".encode())
                found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:12]


def _hit(count: int, share: float, *where: object) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of so many are drawn; a larger share draws the same ones and more."""
    seed = hashlib.sha256("/".join(map(str, where)).encode()).digest()
    drawn = np.random.default_rng(int.from_bytes(seed[:8], "big")).random(count)
    return drawn < share


def _with_column(frame: Frame, name: str, values: pa.Array) -> Frame:
    place = frame.data.column_names.index(name)
    return replace(frame, data=frame.data.set_column(place, name, values))


def _as(texts: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    """Texts as a type, or as they are where one of them cannot be of it."""
    column = pa.array(texts, pa.string())
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return column
