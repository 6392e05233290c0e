"""How a made company writes its names and keys, and what lies about in it, by kind.

Each kind has ways that companies to fit on show (`seen`) and others that only companies to be
measured on do (`held`): what is learned of a mess must carry over to a mess of another kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from dovetail.names.words import split

Spelling = Callable[[Sequence[str]], str]

_GERMAN = dict(
    pair.split(":")
    for pair in """name:name date:datum type:art customer:kunde customers:kunden player:spieler
    address:adresse addresses:adressen product:produkt products:produkte year:jahr order:auftrag
    orders:auftraege description:beschreibung country:land number:nummer city:stadt team:mannschaft
    document:dokument documents:dokumente status:status last:nach location:ort staff:personal
    home:heim phone:telefon class:klasse first:vor student:student students:studenten age:alter
    state:staat amount:betrag course:kurs courses:kurse price:preis store:filiale rank:rang
    party:partei school:schule schools:schulen event:ereignis events:ereignisse service:dienst
    services:dienste time:zeit position:stelle people:personen person:person member:mitglied
    members:mitglieder points:punkte company:firma companies:firmen employee:mitarbeiter
    employees:mitarbeiter department:abteilung departments:abteilungen transaction:buchung
    start:beginn end:ende title:titel payment:zahlung payments:zahlungen county:kreis total:summe
    club:verein item:posten items:posten invoice:rechnung invoices:rechnungen driver:fahrer
    claim:schaden claims:schaeden building:gebaeude gender:geschlecht region:region birth:geburt
    race:rennen account:konto accounts:konten category:kategorie station:bahnhof district:bezirk
    room:zimmer rooms:zimmer market:markt role:rolle film:film height:groesse artist:kuenstler
    result:ergebnis results:ergebnisse card:karte manager:leiter level:stufe area:gebiet
    project:projekt projects:projekte shop:laden weight:gewicht winner:sieger user:benutzer
    policy:police airport:flughafen airports:flughaefen match:spiel ship:schiff ships:schiffe
    language:sprache parent:eltern salary:gehalt street:strasse day:tag supplier:lieferant
    suppliers:lieferanten quantity:menge song:lied songs:lieder singer:saenger concert:konzert
    stadium:stadion teacher:lehrer teachers:lehrer car:auto cars:autos model:modell flight:flug
    flights:fluege pet:haustier pets:haustiere dog:hund dogs:hunde owner:besitzer owners:besitzer
    treatment:behandlung house:haus museum:museum visitor:besucher visit:besuch book:buch
    books:buecher author:autor grade:note friend:freund weather:wetter trip:fahrt hours:stunden
    list:liste details:einzelheiten district:bezirk loan:darlehen client:mandant""".split()  # noqa: SIM905 - words read best as text
)
_VOWELS = str.maketrans("", "", "aeiou")


def _vowelless(word: str) -> str:
    return word[0] + word[1:].translate(_VOWELS) if len(word) > 3 else word


def _eight(words: Sequence[str]) -> str:
    """Eight letters at most, as old systems have them: ORDHDRDT."""
    share = max(2, 8 // max(len(words), 1))
    return "".join(_vowelless(word)[:share] for word in words)[:8].upper()


# Each spelling of a name's words.
SPELLINGS: Mapping[str, Spelling] = {
    "snake": "_".join,
    "camel": lambda words: "".join(word.capitalize() for word in words),
    "upper": lambda words: "_".join(words).upper(),
    "prefixed": lambda words: "t_" + "_".join(words),
    "shortened": lambda words: "_".join(word[:4] for word in words),
    "run together": lambda words: "".join(words).upper(),
    "vowelless": lambda words: "_".join(map(_vowelless, words)),
    "German": lambda words: "_".join(_GERMAN.get(word, word) for word in words),
    "eight letters": _eight,
}
# Spellings that nobody understands without being told what names mean.
CRYPTIC = frozenset(("shortened", "vowelless", "eight letters"))


@dataclass(frozen=True, slots=True)
class Styles:
    """The ways of one side, kind by kind; `{}` stands for the name of the table that is meant."""

    spellings: Sequence[str]
    keys: Sequence[str]  # what keys look like in the second of two systems; `n` is the number
    copies: Sequence[str]  # older copies
    parts: Sequence[str]  # `y` is the year
    marts: Sequence[str]
    empties: Sequence[str]
    dictionaries: Sequence[tuple[str, str, str, str]]  # the table and its three columns


SEEN = Styles(
    spellings=("snake", "camel", "upper", "prefixed", "shortened"),
    keys=("{n:06d}", "K{n}", "{n}"),
    copies=("{}_bak", "stg_{}", "{}_old"),
    parts=("{}_{y}",),
    marts=("mart_{}", "rpt_{}"),
    empties=("{}_import", "tmp_{}"),
    dictionaries=(("data_dictionary", "table_name", "column_name", "description"),),
)
HELD = Styles(
    spellings=("run together", "vowelless", "German", "eight letters", "snake"),
    keys=("ID-{n:05d}", "{n:04d}/00", "x{n:08d}"),
    copies=("{}_copy2", "zz_{}", "{}_archive", "{}_20190312"),
    parts=("{}{y}", "y{y}_{}"),
    marts=("dm_{}_flat", "v_{}_export"),
    empties=("{}_new", "load_{}"),
    dictionaries=(("field_texts", "tab", "fld", "txt"), ("REPOSITORY", "OBJ", "ATTR", "MEANING")),
)
STYLES = {"seen": SEEN, "held": HELD}


def spell(name: str, style: str, taken: set[str]) -> str:
    """A name in a spelling, told apart from those that are taken, which it joins."""
    plain = SPELLINGS[style](split(name) or [name.lower()]) or name
    if plain[0].isdigit():
        plain = f"n{plain}"
    free, number = plain, 1
    while free.casefold() in taken:
        number += 1
        free = f"{plain}{number}"
    taken.add(free.casefold())
    return free


def named(pattern: str, name: str, year: int = 0) -> str:
    """What is made of a table, by its pattern; capitals stay with capitals.

    >>> named("{}_bak", "ORDERS"), named("y{y}_{}", "orders", 2021)
    ('ORDERS_BAK', 'y2021_orders')
    """
    made = pattern.replace("{y}", str(year)).replace("{}", name)
    return made.upper() if name.isupper() else made


def one_of(ways: Sequence[str], rng: Random) -> str:
    """A way of a kind, drawn."""
    return ways[rng.randrange(len(ways))]
