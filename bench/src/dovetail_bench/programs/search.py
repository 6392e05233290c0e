"""How long does search take? From a question to its ten best tables, at 1k to 1M tables.

    dovetail bench run search [--tables 1000,10000,100000] [--lancedb PYTHON] [--keep FOLDER]
                                [--json]

Lakes are clones of the sample corpus with varied names (`search_lakes.py`). A lake is made in one
process and asked in another: the 120 questions of the sample, one after the other, after a round
that is not counted. Figures are milliseconds of CPU time on one processor, beyond the embedding of
the question, which has a row of its own. With --keep the lake stays in a folder, and is asked again
if it is there.

search   `Searcher.search`: words, values, vectors, headers, neighbours; the four parts below it:
lexical  looking the words of the question up
linking  looking its values up
nearest  the nearest tables by their vectors
fusion   all the rest: the pool, its signals, the ranking
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
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.models.embed_minilm import open_minilm
from dovetail.search.embeddings import Embeddings
from dovetail.search.index import open_index, save_index
from dovetail.search.lexical import Lexical
from dovetail.search.noted_terms import NotedTerms
from dovetail.search.searcher import Searcher
from dovetail.search.value_linking import ValueLinker
from dovetail_bench.datasets import open_dataset
from dovetail_bench.programs.search_lakes import Lake, written_around

if TYPE_CHECKING:
    from dovetail.arrays import Vectors

K = 10
QUERIES, VECTORS, HEADERS = "queries.npy", "lines.npy", "header_lines.npy"
NAME = "dovetail_bench.programs.search"
ONE_CORE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LANCE_CPU_THREADS", "RAYON_NUM_THREADS")
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


def make(count: int, path: Path) -> None:
    """Write a lake, its index, and the vectors for the other ways."""
    sample = open_dataset("sample").catalog()
    embedder = open_minilm()
    index = open_index(sample, embedder)
    assert index.dense is not None
    assert index.headers is not None
    lake = Lake(sample, count)
    step("names drawn")
    table_vectors = index.dense.vectors(np.arange(len(sample)))
    lines = written_around(path / VECTORS, table_vectors, lake.original, np.float32)
    headers = lake.headers(index.headers.of(slice(None)), path / HEADERS)
    step("vectors drawn")
    questions = open_dataset("sample").questions()
    np.save(path / QUERIES, embedder.embed_queries([question.text for question in questions]))
    lexical = Lexical.build(lake.tables(), {})
    step("words indexed")
    joined = lake.neighbours(index.joined)

    def save(folder: Path) -> None:
        save_index(folder, lexical, joined, Embeddings(lines, headers), embedder)

    lake.write(path, save)
    (path / HEADERS).unlink()
    step("catalog written")


def step(what: str) -> None:
    """Say on standard error what is done, and at what cost so far."""
    print(f"{what}: {time.process_time():.0f} s, {memory():.0f} MB", file=sys.stderr, flush=True)


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


class Parts:
    """CPU time of the parts of a search, taken by wrapping the methods that do them."""

    METHODS: ClassVar = {
        "lexical": (NotedTerms, "apply"),
        "linking": (ValueLinker, "link"),
        "nearest": (Searcher, "_nearest"),
    }

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {name: [] for name in (*self.METHODS, "fusion")}
        self._spent = dict.fromkeys(self.METHODS, 0.0)
        for name, (kind, method) in self.METHODS.items():
            setattr(kind, method, self._timed(name, getattr(kind, method)))

    def _timed(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began = time.process_time()
            try:
                return method(*arguments)
            finally:
                self._spent[name] += 1e3 * (time.process_time() - began)

        return timed

    def search(self, searcher: Searcher, question: str) -> None:
        """Search, and keep what each part took."""
        self._spent = dict.fromkeys(self.METHODS, 0.0)
        began = time.process_time()
        searcher.search(question, K)
        whole = 1e3 * (time.process_time() - began)
        for name, spent in self._spent.items():
            self.times[name].append(spent)
        self.times["fusion"].append(whole - sum(self._spent.values()))


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
    searcher = Searcher(catalog, known)
    searcher.search(questions[0], K)
    opened = time.process_time() - began
    first_mb = memory() - before
    times["search"] = spent(lambda question: searcher.search(question, K), questions)
    after, own = memory(), private_memory() - own
    times["dense"] = spent(lambda question: searcher.dense(question, K), questions)
    parts = Parts()
    spent(lambda question: parts.search(searcher, question), questions)
    times |= {name: each[len(questions) :] for name, each in parts.times.items()}
    lines = np.load(path / VECTORS, mmap_mode="r")
    nearest: dict[str, set[int]] = {}

    def brute(question: str) -> None:
        cosines = lines @ known.embed_queries([question])[0]
        nearest[question] = set(np.argpartition(-cosines, K)[:K].tolist())

    times["numpy"] = spent(brute, questions)
    ids = catalog.ids
    right = sum(
        len({ids[at] for at in nearest[question]} & {c.id for c in searcher.dense(question, K)})
        for question in questions
    )
    return {
        "tables": len(catalog),
        "columns": len(catalog.records.columns),
        "opened_s": opened,
        "opened_mb": first_mb,
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
    env = {**os.environ, **dict.fromkeys(ONE_CORE, "1")}
    done = subprocess.run(
        [python, *arguments], stdout=subprocess.PIPE, env=env, check=True, text=True
    )
    return done.stdout.splitlines()[-1]


def measure(count: int, lancedb: str | None, keep: str | None) -> dict[str, Any]:
    """One lake, made and asked."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(keep or folder) / f"lake-{count}"
        if not (path / QUERIES).exists():
            run(sys.executable, "-m", NAME, "--make", str(count), str(path))
        found: dict[str, Any] = json.loads(run(sys.executable, "-m", NAME, "--ask", str(path)))
        if lancedb:
            arguments = (str(path), VECTORS, QUERIES, str(K))
            found["times"]["lancedb"] = json.loads(run(lancedb, "-c", IN_LANCEDB, *arguments))
    for way, times in found["times"].items():
        found["times"][way] = {
            f"p{each}": round(float(np.percentile(times, each)), 3) for each in (50, 95, 99)
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", default="1000,10000,100000", help="sizes, with commas between")
    parser.add_argument("--lancedb", help="a Python that has lancedb")
    parser.add_argument("--keep", help="a folder that lakes are kept in")
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
        found = measure(int(size), options.lancedb, options.keep)
        if options.json:
            print(json.dumps(found), flush=True)
            continue
        print(
            f"{found['tables']:,} tables, {found['columns']:,} columns: opened in "
            f"{found['opened_s']:.1f} s with {found['opened_mb']:.0f} MB, then "
            f"{found['memory_mb']:.0f} MB, recall {found['recall']:.4f}"
        )
        for way, times in found["times"].items():
            print(
                f"  {way:<10}" + "".join(f" {p} {ms:>8.2f} ms  " for p, ms in times.items()),
                flush=True,
            )


if __name__ == "__main__":
    main()
