"""What search keeps beside a catalog: found again, made again, never out of date."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import ModelError
from dovetail.offline.pipeline import update
from dovetail.search import index
from dovetail.search.index import FOLDER, IndexInputs
from dovetail.search.searcher import Searcher, open_searcher
from dovetail.settings import Settings
from tests.support.scripted import HashEmbedder, write_shop
from tests.support.searchers import bring_up_to_date

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
    return update([str(folder)], into=into, search=False).catalog


@pytest.fixture
def shop(tmp_path: Path) -> CatalogReader:
    return build(write_shop(tmp_path / "shop.sqlite"), tmp_path / "catalog")


def kept(catalog: CatalogReader) -> Path:
    (path,) = (catalog.folder / FOLDER).iterdir()
    return path


class Refusing(HashEmbedder):
    """Has no wish to embed anything but questions."""

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        raise AssertionError(f"asked for {texts}")

    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return HashEmbedder().embed_documents(texts)


def test_what_is_kept_gives_the_same_and_is_not_embedded_again(shop: CatalogReader) -> None:
    first = results(Searcher(shop, IndexInputs(HashEmbedder())))
    assert [found[0][0].name for found in first[:2]] == ["customers", "weather"]
    assert results(Searcher(shop, IndexInputs(Refusing()))) == first


@pytest.mark.parametrize(
    "file",
    [
        "index.json",
        "dense.npy",
        "headers.npy",
        "header_of.npy",
        "words.txt",
        "table.npy",
        "joined.npy",
    ],
)
@pytest.mark.parametrize(
    "harm", [lambda content: content[: len(content) // 2], lambda _: b"", None]
)
def test_what_is_damaged_is_made_again(
    shop: CatalogReader, file: str, harm: Callable[[bytes], bytes] | None
) -> None:
    first = results(Searcher(shop, IndexInputs(HashEmbedder())))
    path = kept(shop) / file
    sound = path.read_bytes()
    if harm:
        path.write_bytes(harm(sound))
    else:
        path.unlink()
    # The vectors of texts are kept apart, so that none is embedded again.
    assert results(Searcher(shop, IndexInputs(Refusing()))) == first
    assert path.read_bytes() == sound


def test_a_catalog_that_cannot_be_written_is_searched_all_the_same(
    shop: CatalogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = results(Searcher(shop, IndexInputs(None)))
    for folder in (FOLDER, "values", "postings", "joins"):
        shutil.rmtree(shop.folder / folder, ignore_errors=True)
        (shop.folder / folder).write_text("in the way")
    assert results(Searcher(CatalogReader.open(shop.folder), IndexInputs(None))) == expected
    assert (shop.folder / FOLDER).read_text() == "in the way"


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
        bring_up_to_date(catalog, IndexInputs(HashEmbedder()))
        fresh = build(folder, tmp_path / f"fresh{step}")
        updated = results(Searcher(catalog, IndexInputs(HashEmbedder())))
        assert updated == results(Searcher(fresh, IndexInputs(HashEmbedder())))
        assert any(updated)
        assert len(list((catalog.folder / FOLDER).iterdir())) == 1


def test_without_an_embedder_words_values_and_joins_remain(shop: CatalogReader) -> None:
    searcher = Searcher(shop, IndexInputs(None))
    found = searcher.search("customers in 'Oslo' and what they ordered", 3)
    assert [one.id.name for one in found][:2] == ["customers", "orders"]
    assert all(one.signals["dense"] == one.signals["column"] == 0 for one in found)
    assert searcher.search("🦆", 3) == []
    for ask in (lambda: searcher.dense("x", 3), lambda: searcher.column_vectors(shop.ids[0])):
        with pytest.raises(ModelError, match="the setting embedder"):
            ask()


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
    bring_up_to_date(shop, IndexInputs(first))
    with pytest.raises(ModelError, match=told) as raised:
        Searcher(shop, IndexInputs(then))
    assert "the setting embedder" in str(raised.value)
    bring_up_to_date(shop, IndexInputs(HashEmbedder("other")))
    assert len(results(Searcher(shop, IndexInputs(HashEmbedder("other"))))) == len(QUESTIONS)


def test_going_without_vectors_is_allowed(shop: CatalogReader) -> None:
    bring_up_to_date(shop, IndexInputs(HashEmbedder()))
    assert Searcher(shop, IndexInputs(None)).search("orders", 1)[0].signals["dense"] == 0


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
    bring_up_to_date(shop, IndexInputs(HashEmbedder()))
    monkeypatch.setattr(index, "open_embedder", _no_weights)
    with pytest.raises(ModelError, match=r"not with no embedder; .*pip install weights"):
        open_searcher(shop, Settings())


def test_purposes_are_searched(shop: CatalogReader) -> None:
    purposes = {shop["weather"].id: "How much precipitation fell, by meteorological site."}
    plain = Searcher(shop, IndexInputs(None))
    assert plain.search("meteorological precipitation", 3) == []
    told = Searcher(shop, IndexInputs(None, purposes))
    assert told.search("meteorological precipitation", 1)[0].id.name == "weather"
    dense = Searcher(build_again(shop), IndexInputs(HashEmbedder(), purposes))
    (before, after) = (
        one.dense("How much precipitation fell, by meteorological site.", 1)[0]
        for one in (Searcher(build_again(shop), IndexInputs(HashEmbedder())), dense)
    )
    assert after.id.name == "weather"
    assert after.relevance > before.relevance


def build_again(catalog: CatalogReader) -> CatalogReader:
    """The same catalog, as if never searched."""
    shutil.rmtree(catalog.folder / FOLDER)
    return CatalogReader.open(catalog.folder)
