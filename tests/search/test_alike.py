"""Catalogs of samples: which ones are, and what tables that are alike lend each other."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.arrays import Float32s
from dovetail.search.fusion import DEFAULT, SAMPLES, alike, weights_for
from dovetail.settings import Settings
from tests.support.scripted import HashEmbedder
from tests.support.searchers import search_over

TOPICS = ("harbour", "clinic", "orchard", "railway", "theatre")


def slow(vectors: Float32s, scores: Float32s) -> list[float]:
    """The same by loops."""
    means = []
    for here, vector in enumerate(vectors):
        others = [place for place in range(len(scores)) if place != here]
        cosines = {place: float(vectors[place] @ vector) for place in others}
        nearest = sorted(others, key=lambda place: -cosines[place])[:8]
        theirs = sorted((scores[one] for one in nearest if cosines[one] > 0.5), reverse=True)[:3]
        means.append(float(np.mean([scores[here], *theirs])))
    return [mean - max(means) for mean in means]


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_alike_is_what_loops_say(count: int) -> None:
    drawn = np.random.default_rng(count)
    vectors = drawn.normal(size=(count, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = drawn.uniform(0, 2, count).astype(np.float32)
    assert alike(vectors, scores) == pytest.approx(slow(vectors, scores), abs=1e-5)


def test_no_table_is_like_none() -> None:
    assert alike(np.zeros((0, 3), np.float32), np.zeros(0, np.float32)).tolist() == []


def lake(file: Path, count: int, rows: int) -> dovetail.Catalog:
    """Tables of some rows, by systems that their names begin with."""
    with closing(sqlite3.connect(file)) as made:
        for number in range(count):
            topic = TOPICS[number % len(TOPICS)]
            made.execute(f'CREATE TABLE "{topic}_{number}" ("{topic} code", "part {number}")')
            cells = [(f"{number}-{row}", row) for row in range(rows)]
            made.executemany(f'INSERT INTO "{topic}_{number}" VALUES (?, ?)', cells)
        made.commit()
    return dovetail.build(file, into=file.with_suffix(""), settings=Settings(embedder="none"))


@pytest.mark.parametrize(
    ("count", "rows", "samples"), [(100, 5, True), (100, 6, False), (99, 5, False)]
)
def test_most_tables_of_a_large_catalog_must_be_samples(
    tmp_path: Path, count: int, rows: int, samples: bool
) -> None:
    catalog = lake(tmp_path / "lake.sqlite", count, rows)
    assert weights_for(catalog.reader) == (SAMPLES if samples else DEFAULT)


def test_a_table_among_its_like_goes_before_one_alone(tmp_path: Path) -> None:
    searcher = search_over(lake(tmp_path / "lake.sqlite", 100, 5).reader, HashEmbedder())
    question = "Which code has the harbour part 7?"
    found = searcher.search(question, 10)
    assert found == searcher.search(question, 30)[:10]
    assert all(one.signals["alike"] <= 0 for one in found)
    topics = [one.id.name.split("_")[0] for one in found]
    assert topics.count("harbour") == 9
