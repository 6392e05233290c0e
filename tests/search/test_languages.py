"""Questions in other languages than English: stop words, stems, compounds; nasty piles."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.retrieve.ask import GraphRetriever
from dovetail.search import question_words as reading
from dovetail.search.languages import language_of, language_of_names, languages
from dovetail.search.question_words import LINKS, WordForms, split
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from tests.support.searchers import search_over

# Umlauts written out or not, plurals, compounds, and tables that share the words of others.
GERMAN = {
    "Kunde": "KdNr INTEGER, Nachname TEXT, Wohnort TEXT",
    "Auftragskopf": "AuftragNr INTEGER, KdNr INTEGER, Auftragsdatum TEXT",
    "Auftragsposition": "AuftragNr INTEGER, ArtikelNr INTEGER, Menge INTEGER",
    "Artikelstamm": "ArtikelNr INTEGER, Bezeichnung TEXT, Listenpreis REAL, LagerNr INTEGER",
    "Hochregallager": "LagerNr INTEGER, Standort TEXT, Fassungsvermoegen INTEGER",
    "Mitarbeiter": "PersonalNr INTEGER, Familienname TEXT, Gehaltsstufe INTEGER, AbtNr INTEGER",
    "Abteilung": "AbtNr INTEGER, Abteilungsname TEXT, Kostenstelle TEXT",
    "Urlaubsantrag": "AntragNr INTEGER, PersonalNr INTEGER, Urlaubsbeginn TEXT, Genehmigt TEXT",
    "Eingangsrechnung": "RechnungNr INTEGER, LieferantNr INTEGER, Faelligkeit TEXT, Betrag REAL",
    "Lieferant": "LieferantNr INTEGER, Firma TEXT, Sitz TEXT",
    "Fahrzeugpark": "Kennzeichen TEXT, Erstzulassung TEXT, FahrerPersonalNr INTEGER",
    "Werkstattbesuch": "BesuchNr INTEGER, Kennzeichen TEXT, Reparaturkosten REAL",
    "Beschwerde": "BeschwerdeNr INTEGER, KdNr INTEGER, Eingang TEXT",
    "Wie_geht_es": "Frage TEXT, Antwort TEXT",
    "Alle_Termine": "Termin TEXT, Haben REAL, Soll REAL",
}
IN_GERMAN = {
    "Welche Kunden haben sich beschwert?": ("Beschwerde", "Kunde"),
    "Wie viele Rechnungen haben die Lieferanten geschickt?": ("Eingangsrechnung", "Lieferant"),
    "Wie hoch sind die Kosten der Reparaturen je Fahrzeug?": ("Werkstattbesuch", "Fahrzeugpark"),
    "Zeige alle Anträge auf Urlaub von Mitarbeitern": ("Urlaubsantrag", "Mitarbeiter"),
    "Welche Positionen hat der Auftrag?": ("Auftragsposition",),
    "Was ist das Fassungsvermögen der Lager?": ("Hochregallager",),
    "Namen der Abteilungen mit ihren Kostenstellen": ("Abteilung",),
    "Die Preise der Artikel, absteigend sortiert": ("Artikelstamm",),
    "Wie viele Kundenbeschwerden gab es?": ("Beschwerde", "Kunde"),
    "Welche Gehaltsstufen haben die Beschäftigten einer Abteilung?": ("Mitarbeiter", "Abteilung"),
}
FRENCH = {
    "adherent": "no_adherent INTEGER, nom TEXT, ville TEXT",
    "emprunt": "no_emprunt INTEGER, no_adherent INTEGER, no_exemplaire INTEGER, date_retour TEXT",
    "exemplaire": "no_exemplaire INTEGER, no_ouvrage INTEGER, etat TEXT",
    "ouvrage": "no_ouvrage INTEGER, titre TEXT, no_editeur INTEGER",
    "editeur": "no_editeur INTEGER, raison_sociale TEXT",
    "cotisation": "no_adherent INTEGER, annee INTEGER, montant REAL",
    "employe": "matricule INTEGER, prenom TEXT, salaire REAL",
    "horaire_d_ouverture": "jour TEXT, heure_debut TEXT, heure_fin TEXT",
    "les_questions": "question TEXT, reponse TEXT",
}
IN_FRENCH = {
    "Combien d'emprunts les adhérents ont-ils faits ?": ("emprunt", "adherent"),
    "Quels sont les titres des ouvrages de chaque éditeur ?": ("ouvrage", "editeur"),
    "Quels employés ont les salaires les plus élevés ?": ("employe",),
    "Montants des cotisations par année": ("cotisation",),
    "Quel est l'état des exemplaires ?": ("exemplaire",),
}


def pile(folder: Path, tables: Mapping[str, str]) -> Searcher:
    with closing(sqlite3.connect(folder / "pile.sqlite")) as connection, connection:
        for name, columns in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
    file = str(folder / "pile.sqlite")
    catalog = dovetail.build(file, into=folder / "catalog", settings=Settings(embedder="none"))
    return search_over(catalog.reader, None)


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return pile(tmp_path_factory.mktemp("german"), GERMAN)


@pytest.fixture(scope="module")
def french(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return pile(tmp_path_factory.mktemp("french"), FRENCH)


def found_all(searcher: Searcher, questions: Mapping[str, Sequence[str]], k: int = 3) -> list[str]:
    """The questions whose tables are all among the first `k`."""
    return [
        question
        for question, gold in questions.items()
        if set(gold) <= {one.id.name for one in searcher.search(question, k)}
    ]


def in_english_alone(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> Searcher:
    """The same search, as if every question were English."""
    monkeypatch.setattr(reading, "language_of", lambda *_: None)
    return searcher.among(searcher.catalog.ids)  # without what is remembered of questions


def test_german_questions_find_their_tables(
    german: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_all(german, IN_GERMAN) == list(IN_GERMAN)
    before = found_all(in_english_alone(german, monkeypatch), IN_GERMAN)
    assert len(before) <= 8


def test_french_questions_find_their_tables(
    french: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_all(french, IN_FRENCH, k=2) == list(IN_FRENCH)
    before = found_all(in_english_alone(french, monkeypatch), IN_FRENCH, k=2)
    assert len(before) <= 3


def test_stop_words_are_no_sign_that_nothing_fits(
    german: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "Wie viele Rechnungen haben die Lieferanten geschickt?"
    likely = GraphRetriever(german).retrieve(question).answerable
    plain = GraphRetriever(in_english_alone(german, monkeypatch)).retrieve(question).answerable
    assert likely is not None
    assert plain is not None
    assert likely > plain


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Which customers in Berlin have no orders?", None),
        ("What's the die cast of the man in the hat?", None),
        ("orders", None),
        ("Annual premium of active policies per broker", None),
        ("", None),
        ("Welche Kunden haben nichts bestellt?", "german"),
        ("Hoeveel bestellingen heeft elke klant?", "dutch"),
        ("Combien de commandes par client ?", "french"),
        ("¿Cuántos pedidos hizo cada cliente?", "spanish"),
        ("Offene Rechnungen von Hartmann", "german"),
        ("Umsatz pro Kunde 2023", "german"),
        ("Offene Rechnungen Hartmann", "german"),
        ("Rechnungen an Kunden in Wien", "german"),
        ("Openstaande facturen van Hartmann", "dutch"),
        ("Factures impayées de Hartmann", "french"),
        ("Commandes par client", "french"),
        ("Facturas pendientes de Hartmann", "spanish"),
        ("Ordini per cliente", "italian"),
        ("Kunder utan beställningar", "swedish"),
        ("Orders von Hartmann", None),
        ("La Spezia pharmacies 2023", None),
        ("customers in La Rochelle", None),
        ("invoices van der Berg", None),
        ("orders per avgangshamn", None),
        ("SAEs per study", None),
        ("Quanti ordini ha fatto ogni cliente?", "italian"),
        ("Quantos pedidos fez cada cliente em 2023?", "portuguese"),
        ("Hur många beställningar har varje kund?", "swedish"),
        ("Genomsnittlig försening per orsak", "swedish"),
        ("Hva slags varer har vi fra hver leverandør?", "norwegian"),
        ("Kuinka monta tilausta kullakin asiakkaalla on?", "finnish"),
        ("Ile zamówień ma każdy klient?", "polish"),
        ("Kolik objednávek má každý zákazník?", "czech"),
        ("Hány megrendelése van az egyes ügyfeleknek?", "hungarian"),
        ("Câte comenzi are fiecare client?", "romanian"),
        ("Her müşterinin kaç siparişi var?", "turkish"),
        ("Сколько было заказов, и какие из них открыты?", "russian"),
    ],
)
def test_the_language_of_a_question(question: str, language: str | None) -> None:
    found = language_of(question)
    assert (found.name if found else None) == language


def test_a_question_without_stop_words_is_in_the_language_of_the_catalog() -> None:
    german = languages()["german"]
    assert language_of("Kunden Beschwerden", german) == german
    assert language_of("How many of the Beschwerden are there?", german) is None
    assert language_of_names(["datum", "der", "bestellung", "und", "von", "mit"]) == german
    assert language_of_names(["customer", "order", "date", "of", "birth", "am"]) is None


def test_forms_of_a_word_have_a_key_in_common() -> None:
    for language, one, other in (
        ("german", "Bestellungen", "bestellung"),
        ("german", "Straßen", "strasse"),
        ("german", "Kuenstler", "Künstlern"),
        ("french", "sociétés", "societe"),
        ("spanish", "clientes", "cliente"),
    ):
        known = languages()[language]
        assert known.keys(one) & known.keys(other), (one, other)


def test_compounds_are_split_by_the_words_of_the_catalog() -> None:
    forms = WordForms(languages()["german"], ["kunde", "beschwerde", "rechnung", "datum", "2023"])
    assert forms.words("Gibt es Kundenbeschwerden?") == {
        "kunde": "kundenbeschwerden",
        "beschwerde": "kundenbeschwerden",
    }
    assert forms.words("Gibt es Haustiere?") == {"haustier": "haustiere"}
    assert forms.words("Wie viele sind es im Durchschnitt?") == {}
    assert dict(forms.expansions("datum")) == {"datum": 1.0}


def test_a_word_that_the_catalog_lacks_means_what_the_glossary_says() -> None:
    swedish = WordForms(languages()["swedish"], ["customer", "segment", "lager"])
    assert swedish.words("Vilka fakturor har kunderna?") == {
        "invoic": "fakturor",
        "custom": "kunderna",
    }
    assert swedish.words("Hur många kundärenden finns i lagret?") == {
        "custom": "kundärenden",
        "case": "kundärenden",
        "lagret": "lagret",
    }
    assert swedish.in_english("Vilka fakturor har kunderna i Lund?") == "invoice customer lund"
    assert swedish.in_english("Vilka är det?") == ""
    # A word of few letters may be anything in another language.
    assert swedish.meaning("går") is None
    assert swedish.meaning("x" * 5_000) is None


IN_ENGLISH = {
    "shipment": "shipment_no INTEGER, consignee TEXT, hours_late REAL, cause TEXT",
    "invoice": "invoice_no INTEGER, shipment_no INTEGER, total REAL",
    "warehouse": "site TEXT, pallets INTEGER",
    "driver": "driver_no INTEGER, surname TEXT",
    "campaign": "campaign_no INTEGER, budget REAL",
}


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("Hur många fakturor har vi skickat?", "invoice"),
        ("Vilka kampanjer har vi haft?", "campaign"),
        ("Hvor mange sjåfører har vi?", "driver"),
        ("Kolik je faktur za každou zásilku?", "invoice"),
        ("Ile jest palet w magazynie?", "warehouse"),
        ("How many faktura did we send?", "invoice"),
    ],
)
def test_questions_find_tables_named_in_english(tmp_path: Path, question: str, table: str) -> None:
    path = tmp_path / "pool.sqlite"
    with closing(sqlite3.connect(path)) as database:
        for name, columns in IN_ENGLISH.items():
            database.execute(f"CREATE TABLE {name} ({columns})")
    plain = Settings(embedder="none")
    catalog = dovetail.build(path, into=tmp_path / "catalog", settings=plain)
    assert [one.name for one in catalog.search(question, k=1)] == [table]


def test_a_word_means_the_compounds_that_it_begins_or_ends() -> None:
    forms = WordForms(
        languages()["german"], ["rechnungsdatum", "eingangsrechnung", "mahnrechnungen"]
    )
    inside = dict.fromkeys(("rechnungsdatum", "eingangsrechnung", "mahnrechnungen"), 0.6)
    assert dict(forms.expansions("Rechnungen")) == inside
    french = WordForms(languages()["french"], ["porte", "portefeuille"])
    assert dict(french.expansions("portes")) == {"porte": 1.0}


def test_a_compound_with_an_unknown_beginning_means_what_it_ends_with() -> None:
    german = WordForms(languages()["german"], ["arbeiter", "rechnung", "datum", "kauf"])
    assert dict(german.expansions("Mitarbeitern")) == {"arbeiter": 0.6}
    assert dict(german.expansions("Stromrechnungen")) == {"rechnung": 0.6}
    assert not german.expansions("Verkauf")  # too short an ending says nothing
    assert not german.expansions("Darbeiter")
    assert not WordForms(languages()["french"], ["arbeiter"]).expansions("mitarbeiter")


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("rechnungsdatum", ("rechnung", "datum")),
        ("kundenauftragsnummer", ("kunde", "auftrag", "nummer")),
        ("rechnung", ()),
        ("datumx", ()),
        ("", ()),
        ("x" * 5_000, ()),
    ],
)
def test_splitting(word: str, parts: tuple[str, ...]) -> None:
    known = {"rechnung", "datum", "kunde", "auftrag", "nummer"}
    assert split(word, known.__contains__, links=LINKS) == parts
