"""The search index as a part of a generation: never out of date, refused where it is damaged."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import DamagedError, ModelError
from dovetail.offline.pipeline import update
from dovetail.search import index
from dovetail.search.index import open_index
from dovetail.search.searcher import Searcher, open_searcher
from dovetail.settings import Settings
from tests.support.scripted import HashEmbedder, write_shop
from tests.support.searchers import indexed, search_over

WORDS = Settings(embedder="none")
QUESTIONS = (
    "Which customers in Oslo ordered product 7001?",
    "rainfall per station",
    "companies of Italy that supply more than 3 products",
    "größe 街",
)
Found = list[list[tuple[TableId, float, dict[str, float]]]]


def results(searcher: Searcher) -> Found:
    return [
        [(one.id, one.relevance, dict(one.signals)) for one in searcher.search(question, 5)]
        for question in QUESTIONS
    ]


def build(folder: Path, into: Path) -> CatalogReader:
    """A catalog that no embedder has seen yet."""
    return update([str(folder)], into=into, settings=WORDS).catalog


@pytest.fixture
def shop(tmp_path: Path) -> CatalogReader:
    return build(write_shop(tmp_path / "shop.sqlite"), tmp_path / "catalog")


class Refusing(HashEmbedder):
    """Has no wish to embed anything but questions."""

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        raise AssertionError(f"asked for {texts}")

    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return HashEmbedder().embed_documents(texts)


def test_what_is_kept_gives_the_same_and_is_not_embedded_again(shop: CatalogReader) -> None:
    first = results(search_over(shop, HashEmbedder()))
    assert [found[0][0].name for found in first[:2]] == ["customers", "weather"]
    assert results(search_over(shop, Refusing())) == first


@pytest.mark.parametrize("file", ["words.txt", "table.npy", "joined.npy"])
@pytest.mark.parametrize(
    "harm", [lambda content: content[: len(content) // 2], lambda _: b"", None]
)
def test_what_is_damaged_is_an_error_until_the_next_update(
    shop: CatalogReader, file: str, harm: Callable[[bytes], bytes] | None
) -> None:
    first = results(open_searcher(shop, WORDS))
    (path,) = shop.folder.glob(f"generations/*/search/{file}")
    sound = path.read_bytes()
    path.unlink()
    if harm:
        path.write_bytes(harm(sound))
    with pytest.raises(DamagedError, match=rf"{file} is damaged.* dovetail repair -C "):
        open_searcher(CatalogReader.open(shop.folder), WORDS)
    assert results(open_searcher(shop, WORDS)) == first  # it was open before
    again = update(into=shop.folder, settings=WORDS).catalog
    assert results(open_searcher(again, WORDS)) == first
    (path,) = shop.folder.glob(f"generations/*/search/{file}")
    assert path.read_bytes() == sound


def test_a_reader_writes_nothing(shop: CatalogReader) -> None:
    before = {path: path.stat().st_mtime_ns for path in shop.folder.rglob("*")}
    opened = CatalogReader.open(shop.folder)
    results(open_searcher(opened, WORDS))
    assert {path: path.stat().st_mtime_ns for path in shop.folder.rglob("*")} == before


def test_an_update_gives_what_a_rebuild_gives(tmp_path: Path) -> None:
    drawn = random.Random(11)
    folder = tmp_path / "files"
    folder.mkdir()
    names = ("customers", "orders", "towns", "stations", "rainfall", "products", "companies")
    for step in range(5):
        for name in drawn.sample(names, 3):
            towns = [drawn.choice(("Oslo", "Turin", "Porto")) for _ in range(30)]
            rows = [f"{n},{town},{drawn.randrange(7001, 7010)}" for n, town in enumerate(towns)]
            (folder / f"{name}.csv").write_text(
                "\n".join([f"{name}_id,town,product_{step % 2}", *rows]) + "\n"
            )
        if step > 1:
            drawn.choice(sorted(folder.iterdir())).unlink()
        catalog = build(folder, tmp_path / "updated")
        fresh = build(folder, tmp_path / f"fresh{step}")
        updated = results(search_over(catalog, HashEmbedder()))
        assert updated == results(search_over(fresh, HashEmbedder()))
        assert any(updated)
        assert len(list(catalog.folder.glob("generations/*/search"))) == 1


def test_without_an_embedder_words_values_and_joins_remain(shop: CatalogReader) -> None:
    searcher = search_over(shop, None)
    found = searcher.search("customers in 'Oslo' and what they ordered", 3)
    assert [one.id.name for one in found][:2] == ["customers", "orders"]
    assert all(one.signals["dense"] == one.signals["column"] == 0 for one in found)
    assert searcher.search("🦆", 3) == []
    assert searcher.column_cosines(searcher.analyse("orders"), shop.ids[0]) == [0.0] * len(
        shop[shop.ids[0]].columns
    )
    with pytest.raises(ModelError, match="the setting embedder"):
        searcher.dense("x", 3)


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        (
            HashEmbedder(),
            HashEmbedder("other"),
            "the embedder hashed of 256 numbers, not with the embedder other",
        ),
        (
            HashEmbedder(),
            HashEmbedder("hashed", 64),
            "hashed of 256 numbers, not with the embedder hashed of 64 numbers",
        ),
        (None, HashEmbedder(), "with no embedder, not with the embedder hashed"),
    ],
)
def test_another_embedder_is_refused_with_the_remedy(
    shop: CatalogReader, first: HashEmbedder | None, then: HashEmbedder, told: str
) -> None:
    with pytest.raises(ModelError, match=told) as raised:
        open_index(indexed(shop, first), then)
    assert "the setting embedder" in str(raised.value)


def test_going_without_vectors_is_allowed(shop: CatalogReader) -> None:
    without = Searcher(open_index(indexed(shop, HashEmbedder()), None))
    assert without.search("orders", 1)[0].signals["dense"] == 0


def _no_weights(name: str) -> None:
    raise ModelError(f"the weights of {name} are missing: pip install weights")


def test_without_weights_search_goes_by_words_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "open_embedder", _no_weights)
    done = update([str(write_shop(tmp_path / "shop.sqlite"))], into=tmp_path / "catalog")
    assert done.note == (
        "search goes by words, values and joins alone: "
        "the weights of minilm are missing: pip install weights"
    )
    searcher = open_searcher(done.catalog, Settings())
    assert searcher.embedder is None
    assert searcher.search("suppliers", 1)[0].id.name == "suppliers"
    with pytest.raises(ModelError, match="weights of st:x are missing"):
        open_searcher(done.catalog, Settings(embedder="st:x"))


def test_where_weights_went_missing_the_remedy_names_them(
    shop: CatalogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = indexed(shop, HashEmbedder())
    monkeypatch.setattr(index, "open_embedder", _no_weights)
    with pytest.raises(ModelError, match=r"not with no embedder; .*pip install weights"):
        open_searcher(made, Settings())


def test_descriptions_are_searched(shop: CatalogReader) -> None:
    described = {shop["weather"].id: "How much precipitation fell, by meteorological site."}
    plain = search_over(shop, None)
    assert plain.search("meteorological precipitation", 3) == []
    told = search_over(shop, None, described)
    assert told.search("meteorological precipitation", 1)[0].id.name == "weather"
    dense = search_over(shop, HashEmbedder(), described)
    (before, after) = (
        one.dense("How much precipitation fell, by meteorological site.", 1)[0]
        for one in (search_over(shop, HashEmbedder()), dense)
    )
    assert after.id.name == "weather"
    assert after.relevance > before.relevance
