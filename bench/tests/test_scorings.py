"""Scorings by name, and those of other papers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import dovetail
from dovetail.errors import UsageError
from dovetail.joins.columns import ColumnArrays
from dovetail.offline.pipeline import update
from dovetail.settings import Settings
from dovetail_bench.headers import words
from dovetail_bench.scorings import SharedCounts, score_joins

WORDS = Settings(embedder="none")


def test_every_scoring_gives_edges_from_zero_to_one(sample: dovetail.Catalog) -> None:
    for name in ("foreign_key", "paper", "jar"):
        edges = score_joins(sample.reader, name)
        assert edges
        assert all(0 <= edge.score <= 1 for edge in edges)
        assert edges == sorted(edges, key=lambda edge: -edge.score)
    with pytest.raises(
        UsageError, match="scoring 'best' is not known; there are: foreign_key, paper, jar"
    ):
        score_joins(sample.reader, "best")


def test_paper_scoring_by_hand(tmp_path: Path) -> None:
    """Equations 1-4: valid pairs score half jaccard, half header overlap; others nothing."""
    (tmp_path / "city.csv").write_text("city_id\n1\n2\n3\n4\n")
    (tmp_path / "shop.csv").write_text("city_id,size\n1\n".replace("1\n", "1,9\n1,8\n2,7\n"))
    catalog = dovetail.build(str(tmp_path), into=tmp_path / ".catalog")
    (edge,) = score_joins(catalog.reader, "paper")
    assert edge.columns == (("city_id", "city_id"),)
    # Values: {1, 2} in {1, 2, 3, 4}. Headers: {shop, city, id} and {city, id} share both words.
    assert edge.score == 0.5 * (2 / 4) + 0.5 * 1.0


class Initials:
    """An embedder whose vectors count first letters: enough to tell what was asked of it."""

    model_id, dimension = "initials", 26

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked.append(list(texts))
        found = np.zeros((len(texts), 26), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            for word in text.split():
                row[ord(word[0]) - ord("a")] += 1
        unit: npt.NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self.embed_documents(texts)


def test_headers_are_embedded_in_one_call_and_weigh_half_of_the_name(tmp_path: Path) -> None:
    (tmp_path / "City.csv").write_text("cityId\n1\n2\n3\n4\n")
    (tmp_path / "shop.csv").write_text("town_no,size\n1,9\n1,8\n2,7\n")
    catalog = update(
        [str(tmp_path)], into=tmp_path / ".catalog", settings=Settings(embedder="none")
    ).catalog
    (plain,) = score_joins(catalog, "paper")
    assert plain.score == 0.5 * (2 / 4)
    assert plain.evidence["lexical_only"] == 1.0
    embedder = Initials()
    (edge,) = score_joins(catalog, "paper", embed=embedder.embed_documents)
    assert embedder.asked == [["city city id", "shop town no", "shop size"]]
    # "city city id" and "shop town no" share no initial, so nothing is added.
    assert (edge.evidence["semantic"], edge.score) == (0.0, 0.25)
    assert "lexical_only" not in edge.evidence
    (tmp_path / "shop.csv").write_text("cost_idx,size\n1,9\n1,8\n2,7\n")
    catalog = update(
        [str(tmp_path)], into=tmp_path / ".catalog", settings=Settings(embedder="none")
    ).catalog
    (edge,) = score_joins(catalog, "paper", embed=embedder.embed_documents)
    # (2, 0, 1) and (1, 1, 1) of the letters c, s and i.
    cosine = 3 / np.sqrt(5 * 3)
    assert edge.evidence["semantic"] == pytest.approx(cosine, abs=1e-6)
    assert edge.score == pytest.approx(0.5 * (2 / 4) + 0.5 * (0 + cosine) / 2, abs=1e-6)
    assert score_joins(catalog, "jar", embed=embedder.embed_documents)[0].evidence["semantic"] > 0.7


def test_jar_compares_columns_of_one_type_alone(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("code\n1\n2\n3\n")
    (tmp_path / "two.csv").write_text("code\nx\ny\nz\n")
    (tmp_path / "three.csv").write_text("code\nx\ny\nw\n")
    catalog = update(
        [str(tmp_path)], into=tmp_path / ".catalog", settings=Settings(embedder="none")
    ).catalog
    (edge,) = score_joins(catalog, "jar")
    assert {edge.left.name, edge.right.name} == {"two", "three"}
    # Two values of four in common, one word of two; all values are distinct.
    assert edge.score == pytest.approx((2 / 4 + 1 / 2) / 2, abs=1e-6)


def test_counts_are_those_of_sets() -> None:
    drawn = np.random.default_rng(1)
    sets = [np.unique(drawn.integers(0, 30, size)) for size in (0, 3, 12, 25, 40)]
    counts = SharedCounts(sets)
    for one in sets:
        expected = [len(set(one.tolist()) & set(other.tolist())) for other in sets]
        assert counts.counts(one).tolist() == expected


def test_paper_is_the_best_valid_pair_of_sets(sample: dovetail.Catalog) -> None:
    """By Python sets and every pair of columns."""
    arrays = ColumnArrays.of(sample.reader)
    held = [set(arrays.values[column].tolist()) for column in range(len(arrays))]
    header = [
        {*words(arrays.ids[table].name), *words(name)}
        for table, name in zip(arrays.table.tolist(), arrays.name, strict=True)
    ]
    best: dict[frozenset[str], float] = {}
    for inner, outer in permutations(range(len(arrays)), 2):
        valid = held[inner] and held[inner] <= held[outer]
        valid = valid and (arrays.unique[inner] or arrays.unique[outer])
        if valid and arrays.table[inner] != arrays.table[outer]:
            both = len(header[inner] & header[outer])
            name = both / max(min(len(header[inner]), len(header[outer])), 1)
            score = (len(held[inner]) / len(held[outer]) + name) / 2
            tables = frozenset(str(arrays.ids[arrays.table[c]]) for c in (inner, outer))
            best[tables] = max(best.get(tables, 0.0), score)
    edges = score_joins(sample.reader, "paper")
    assert {frozenset((str(e.left), str(e.right))): e.score for e in edges} == {
        tables: round(score, 6) for tables, score in best.items()
    }
