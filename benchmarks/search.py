"""How long does search take? From a question to its ten best tables, at 1k, 10k and 100k tables.

    python benchmarks/search.py [--tables 1000,10000,100000] [--lancedb PYTHON] [--json]

Lakes are clones of the sample corpus: its schemas under varied names, up to fifty values of every
column (a third of the columns with values of the clone's own), its joins inside every clone. Their
vectors are not embedded, but drawn around those of the originals: a hundred thousand tables have
some seven hundred thousand texts. Everything else is as `dovetail index` makes it. A lake is made
in one process and asked in another: the 120 questions of the sample, one after the other, after a
round that is not counted. Figures are milliseconds of CPU time on one processor, beyond the
embedding of the question, which has a row of its own.

search   `Searcher.search`: words, values, vectors, headers, neighbours
dense    `Searcher.dense`: vectors alone; `recall` is its share of the true ten nearest
numpy    the ten nearest by brute force: a matrix product and a partial sort
lancedb  the ten nearest by LanceDB, exact, in the Python given by --lancedb
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dovetail.bench.datasets import open_dataset
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import ColumnRecord, TableRecord
from dovetail.catalog.segment import SegmentWriter
from dovetail.catalog.writer import writing
from dovetail.domain import Table, TableId
from dovetail.joins.cache import join_edges
from dovetail.models.embed_minilm import open_minilm
from dovetail.search.dense import Dense
from dovetail.search.headers import HeaderVectors
from dovetail.search.index import Index, IndexInputs, open_index, save_index
from dovetail.search.lexical import Lexical
from dovetail.search.neighbours import Neighbours
from dovetail.search.searcher import Searcher
from dovetail.search.values import ValueIndex

if TYPE_CHECKING:
    from dovetail.search.dense import Vectors

HERE = Path(__file__).resolve()
SEED, K, MOST_VALUES = 7, 10, 50
SPREAD = 0.35  # length of the noise on a vector of length one
QUERIES, VECTORS = "queries.npy", "lines.npy"
ONE_CORE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LANCE_CPU_THREADS", "RAYON_NUM_THREADS")
WORDS = [
    f"{first}{second}"
    for first in ("ar", "bel", "cor", "dan", "el", "fer", "gol", "hor", "il", "jun", "kar", "lim")
    for second in ("ba", "co", "dex", "fi", "gan", "lo", "mit", "nor", "pa", "rus", "ta", "vik")
]
# Reads the vectors beside the catalog, and answers with milliseconds per question.
IN_LANCEDB = """
import sys, tempfile, time, numpy as np, lancedb, pyarrow as pa
lines, queries = (np.load(f"{sys.argv[1]}/{name}") for name in sys.argv[2:4])
flat = pa.FixedSizeListArray.from_arrays(pa.array(lines.reshape(-1)), lines.shape[1])
table = lancedb.connect(tempfile.mkdtemp()).create_table("lines", pa.table({"vector": flat}))
for _ in range(2):
    spent = []
    for query in queries:
        began = time.process_time()
        table.search(query).distance_type("dot").limit(int(sys.argv[4])).to_arrow()
        spent.append(1e3 * (time.process_time() - began))
print(spent)
"""


def around(vectors: Vectors, places: npt.NDArray[np.int64]) -> Vectors:
    """A vector near the original at each place."""
    drawn = np.random.default_rng(SEED)
    found = np.empty((len(places), vectors.shape[1]), dtype=np.float32)
    for start in range(0, len(places), 20_000):
        part = vectors[places[start : start + 20_000]]
        noise = drawn.standard_normal(part.shape, dtype=np.float32)
        near = part + SPREAD * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        found[start : start + 20_000] = near / np.linalg.norm(near, axis=1, keepdims=True)
    return found


class Clones:
    """So many copies of the tables of a catalog, written as a catalog of their own.

    The source of a table begins with the number of its copy; its digest is the original's place.
    """

    def __init__(self, sample: CatalogReader, count: int) -> None:
        self._sample = sample
        self._count = count
        self._tables = list(sample)
        self._drawn = Random(SEED)

    def write(self, path: Path) -> CatalogReader:
        """The clones as a catalog."""
        manifest = self._sample.manifest
        with writing(path) as writer, writer.staging() as folder:
            with SegmentWriter(folder) as segment:
                records = [self._record(number, segment) for number in range(self._count)]
                name = segment.finish_tables(records, manifest.profile)
            adopted = writer.adopt(folder, name)
            return writer.commit(
                adopted.records().sorted(), {name: adopted}, profile=manifest.profile,
                roots=manifest.roots, skipped=(),
            )  # fmt: skip

    def _record(self, number: int, writer: SegmentWriter) -> TableRecord:
        copy, original = divmod(number, len(self._tables))
        table = self._tables[original]
        name = f"{table.name}_{self._drawn.choice(WORDS)}" if copy else table.name
        return TableRecord(
            id=TableId(f"{copy:05}/{table.id.source}", name),
            root=self._sample.manifest.roots[0].label,
            rows=table.rows,
            digest=str(original),
            token="",
            sample=(),
            columns=tuple(
                self._column(table, place, copy, writer) for place in range(len(table.columns))
            ),
        )

    def _column(self, table: Table, place: int, copy: int, writer: SegmentWriter) -> ColumnRecord:
        column, drawn = table.columns[place], self._drawn
        number = int(self._sample.records.bounds[self._sample.ids.index(table.id)]) + place
        hashes = self._sample.hashes(table.id, place)[:MOST_VALUES]
        (phrases,) = self._sample.phrases([number])
        phrases = phrases[:MOST_VALUES]
        if copy and drawn.random() < 1 / 3:  # an odd factor makes other values of them, one to one
            odd = np.uint64(2 * copy + 1)
            hashes, phrases = np.sort(hashes * odd), np.sort(phrases * odd)
        if copy and drawn.random() < 1 / 4:
            column = replace(column, name=f"{drawn.choice(WORDS)}_{column.name}")
        ones = np.ones(len(hashes), dtype=np.uint32)
        distinct, hashes_at, _ = writer.add_value_hashes([(hashes, ones)] if len(hashes) else [])
        phrases_at, said = writer.add_phrases([phrases])
        column = replace(column, profile=replace(column.profile, distinct=distinct))
        return ColumnRecord(column, hashes_at, None, phrases_at, said)


def make(count: int, path: Path) -> None:
    """Write a lake, its index, and the vectors for the other ways."""
    sample = open_dataset("sample").catalog()
    embedder = open_minilm()
    index = open_index(sample, IndexInputs(embedder))
    assert index.dense is not None
    assert index.headers is not None
    catalog = Clones(sample, count).write(path)
    original = np.array([int(digest) for digest in catalog.records.tables["digest"].to_pylist()])
    copy = [int(source[:5]) for source in catalog.records.tables["source"].to_pylist()]
    lines = around(index.dense.vectors(np.arange(len(sample))), original)
    first = np.repeat(sample.records.bounds[original] - catalog.records.bounds[:-1],
                      np.diff(catalog.records.bounds))  # fmt: skip
    columns = first + np.arange(len(first))
    np.save(path / VECTORS, lines)
    questions = open_dataset("sample").questions()
    np.save(path / QUERIES, embedder.embed_queries([question.text for question in questions]))
    place = {key: at for at, key in enumerate(zip(copy, original.tolist(), strict=True))}
    ids = {table: at for at, table in enumerate(sample.ids)}
    pairs = {
        (place[number, ids[edge.left]], place[number, ids[edge.right]]): edge.score
        for edge in reversed(join_edges(sample))
        for number in range(max(copy) + 1)
        if edge.left != edge.right
        and {(number, ids[edge.left]), (number, ids[edge.right])} <= place.keys()
    }
    clones = Index(
        lexical=Lexical.build(catalog, {}),
        joined=Neighbours.build({table: at for at, table in enumerate(catalog.ids)}, (), pairs),
        values=ValueIndex.of(catalog),
        dense=Dense.build(lines),
        headers=HeaderVectors(
            around(index.headers.of(slice(None)), columns).astype(np.float16),
            np.arange(len(columns), dtype=np.int32),
        ),
    )
    save_index(clones, catalog, IndexInputs(embedder))
    Searcher(catalog, IndexInputs(embedder)).search("so that all that is kept has been made", K)


class Known:
    """An embedder that has embedded some questions beforehand."""

    def __init__(self, questions: Sequence[str]) -> None:
        self._model = open_minilm()
        self.model_id, self.dimension = self._model.model_id, self._model.dimension
        self._vectors = dict(zip(questions, self._model.embed_queries(questions), strict=True))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._model.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


def spent(ask: Callable[[str], object], questions: Sequence[str]) -> list[float]:
    """Milliseconds of CPU time for each question, in the second of two rounds."""
    found: list[float] = []
    for _ in range(2):
        found = []
        for question in questions:
            began = time.process_time()
            ask(question)
            found.append(1e3 * (time.process_time() - began))
    return found


def ask(path: Path) -> dict[str, Any]:
    """Ask every question of a lake in every way."""
    questions = [question.text for question in open_dataset("sample").questions()]
    model = open_minilm()
    number = count()  # the model remembers what it was asked, so no question comes twice

    def embed(question: str) -> object:
        return model.embed_queries([f"{question} {next(number)}"])

    times = {"embedding": spent(embed, questions)}
    known = Known(questions)
    before, own = memory(), private_memory()
    began = time.process_time()
    catalog = CatalogReader.open(path)
    searcher = Searcher(catalog, IndexInputs(known))
    searcher.search(questions[0], K)
    opened = time.process_time() - began
    times["search"] = spent(lambda question: searcher.search(question, K), questions)
    after, own = memory(), private_memory() - own
    times["dense"] = spent(lambda question: searcher.dense(question, K), questions)
    lines = np.load(path / VECTORS)
    nearest: dict[str, set[int]] = {}

    def brute(question: str) -> None:
        cosines = lines @ known.embed_queries([question])[0]
        nearest[question] = set(np.argpartition(-cosines, K)[:K].tolist())

    times["numpy"] = spent(brute, questions)
    ids = catalog.ids
    right = sum(
        len({ids[at] for at in nearest[question]} & {c.table for c in searcher.dense(question, K)})
        for question in questions
    )
    return {
        "tables": len(catalog),
        "columns": len(catalog.records.columns),
        "opened_s": opened,
        "memory_mb": after - before,
        "private_mb": own,
        "recall": right / K / len(questions),
        "times": times,
    }


def memory() -> float:
    """Megabytes that this process holds now, those of files it has mapped and touched included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def private_memory() -> float:
    """Megabytes of this process's own: without mapped files, which the system drops at need."""
    resident, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    return (resident - shared) * resource.getpagesize() / 1e6


def run(python: str, *arguments: str) -> str:
    """What a process of its own says at last, on one processor."""
    path = os.pathsep.join([str(HERE.parent.parent / "src"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, **dict.fromkeys(ONE_CORE, "1"), "PYTHONPATH": path}
    done = subprocess.run(
        [python, *arguments], stdout=subprocess.PIPE, env=env, check=True, text=True
    )
    return done.stdout.splitlines()[-1]


def measure(count: int, lancedb: str | None) -> dict[str, Any]:
    """One lake, made and asked."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog"
        run(sys.executable, str(HERE), "--make", str(count), str(path))
        found: dict[str, Any] = json.loads(run(sys.executable, str(HERE), "--ask", str(path)))
        if lancedb:
            arguments = (str(path), VECTORS, QUERIES, str(K))
            found["times"]["lancedb"] = json.loads(run(lancedb, "-c", IN_LANCEDB, *arguments))
    for way, times in found["times"].items():
        p50, p99 = np.percentile(times, (50, 99))
        found["times"][way] = {"p50": round(float(p50), 3), "p99": round(float(p99), 3)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", default="1000,10000,100000", help="sizes, with commas between")
    parser.add_argument("--lancedb", help="a Python that has lancedb")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make or options.ask:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        if options.make:
            make(int(options.make[0]), Path(options.make[1]))
        print(json.dumps(ask(Path(options.ask)) if options.ask else None))
        return
    for size in options.tables.split(","):
        found = measure(int(size), options.lancedb)
        if options.json:
            print(json.dumps(found), flush=True)
            continue
        print(
            f"{found['tables']:,} tables, {found['columns']:,} columns: opened in "
            f"{found['opened_s']:.1f} s, {found['memory_mb']:.0f} MB, recall {found['recall']:.4f}"
        )
        for way, times in found["times"].items():
            print(
                f"  {way:<10} p50 {times['p50']:>8.2f} ms   p99 {times['p99']:>8.2f} ms", flush=True
            )


if __name__ == "__main__":
    main()
