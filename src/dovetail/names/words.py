"""The words of a name, and what they say: whether it identifies, what, and whom.

All rules are about how people write names (id-words, plurals, abbreviations, roles in front of a
noun), none about what a particular schema calls its things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from unicodedata import combining, normalize

from dovetail.names.concepts import other_words

Words = tuple[str, ...]
# Words that are several, run together, with their parts (search/run_together.py).
Parts = Mapping[str, Words]

# Where a word ends without a sign between: before a capital in camelCase, before a number; IDs are
# one word.
_BREAKS = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])|(?<=[^\W\d_])(?=\d)"
)
_SIGNS = re.compile(r"[\W_]+")
_AFTER_NUMBER = re.compile(r"(?<=\d)(?=[^\W\d_])")
# Words of a name that are looked at: names are compared word by word.
_MOST = 32
# A remark behind a column's name, which does not name it.
_REMARK = re.compile(r"(?<=\w)\s*\([^()]*\)\s*$")
# Words that say "this identifies" and nothing about what.
ID_WORDS = frozenset(
    """id ids identifier code cd cde key no nr nbr num number fk pk uuid guid ref sk nk nummer
    numero numer nro kode kod codigo codice cod cle clave kennung matricola matricule sigla
    tunnus""".split()  # noqa: SIM905 - words read best as text
)
# Those that are often glued to a stem in lower case: custid, empno, deptcode.
_GLUED = (
    *("nummer", "uuid", "guid", "code", "kode", "nbr", "num", "cde", "cod", "kod", "key"),
    *("id", "no", "nr", "fk", "pk", "cd"),
)
# English words that merely end like that.
_NOT_GLUED = frozenset(
    """paid unpaid prepaid grid valid invalid bid kid solid fluid hybrid android raid void avoid
    acid rapid liquid orchid pyramid mid lid did said laid maid covid humid vivid stupid placid
    candid splendid squid asteroid steroid thyroid centroid ovoid plaid braid amid piano casino
    kimono volcano domino albino inferno latino platinum aluminum monkey turkey whiskey hockey
    jockey donkey unicode""".split()  # noqa: SIM905 - words read best as text
)
# "number of shops" and "num_shops" count; "shop number" and "numero_cliente" identify.
_COUNTING = frozenset(("no", "nr", "nbr", "num", "number", "nummer", "numero", "numer", "nro"))
# What is measured: a number so called refers to nothing.
_MEASURES = frozenset(
    """count total quantity amount qty amt cnt age price cost pct percent percentage ratio score
    rating weight height width length duration balance salary betrag menge anzahl preis saldo
    importe importo cantidad quantita precio prezzo montant prix quantite belop antall pris
    aantal bedrag prijs""".split()  # noqa: SIM905 - words read best as text
)
ENGLISH_PREPOSITIONS = frozenset("of for in to with by from at on per".split())  # noqa: SIM905
PREPOSITIONS = ENGLISH_PREPOSITIONS | {
    *("de", "del", "della", "delle", "dei", "di", "du", "des", "da", "do", "von", "van", "av"),
}
_IRREGULAR = {"people": "person", "men": "man", "women": "woman", "children": "child"}
# Abbreviations and words that end in s without being many.
_NO_PLURALS = frozenset(("pers", "lens"))
# What tables of people are called by what they are about.
_PERSONS = frozenset(
    """person people employee emp staff worker personnel user member partner party individual
    colleague human operative workforce technician cashier clerk operator planner nurse driver
    engineer inspector officer""".split()  # noqa: SIM905 - words read best as text
)
_POSITIONS = frozenset(
    ("line", "pos", "position", "seq", "sequence", "row", "step", "zeile", "riga")
)
# Names come again with every question; texts that are longer do not.
_A_NAME = 100
# "By" in several languages, at the end of a name: created_by, inserito_da, erfasst_von.
BY = frozenset(("by", "von", "durch", "par", "por", "da", "door", "av", "af", "przez"))
# What columns call people by what they do.
_ROLES = frozenset(
    """rep representative manager mgr supervisor boss superior lead leader head chief owner buyer
    purchaser seller salesperson salesman agent author creator editor approver reviewer
    requester reporter assignee handler cashier clerk operator planner technician recruiter
    sender recipient responsible responsabile responsable verantwortlicher techniker
    technicien tecnico operatore operador bearbeiter sachbearbeiter leiter vorgesetzter capo
    jefe chef mentor tutor advisor adviser instructor lecturer organizer organiser holder
    pers person employee emp staff worker user personnel""".split()  # noqa: SIM905 - words read best as text
)


def spelled(name: str, parts: Parts | None = None) -> str:
    """A name as separate words: split on case, digits and punctuation, in lower case.

    `parts` are those of words that are run together.

    >>> spelled("OrderItems"), spelled("T_BIL_ADDR2"), spelled("größe")
    ('order items', 't bil addr 2', 'größe')
    >>> spelled("T_ORDERLINES", {"orderlines": ("order", "lines")})
    't order lines'
    """
    apart = _apart(name) if len(name) <= _A_NAME else _taken_apart(name)
    if not parts:
        return apart
    return " ".join(piece for word in apart.split() for piece in parts.get(word, (word,)))


def _taken_apart(text: str) -> str:
    return _SIGNS.sub(" ", _BREAKS.sub(" ", text)).strip().lower()


_apart = lru_cache(maxsize=1 << 16)(_taken_apart)


def split(name: str) -> list[str]:
    """The words of a name as they are written, in lower case; numbers are words of their own.

    >>> split("T_2ndADDRLine")
    ['t', '2', 'nd', 'addr', 'line']
    """
    return _AFTER_NUMBER.sub(" ", spelled(name)).split()


@lru_cache(maxsize=1 << 17)
def plain(name: str) -> str:
    """A name without regard to case and signs, as columns of several tables are compared.

    >>> plain("Customer ID "), plain("customer_id")
    ('customerid', 'customerid')
    """
    return _SIGNS.sub("", name.casefold()) or name


@lru_cache(maxsize=1 << 17)
def words(name: str) -> Words:
    """The words of a name in the singular, with id-words that are glued to another cut off.

    A name of more than 32 words says what it is about at its end, as any other does.

    >>> words("OrderItems"), words("cust_id"), words("empno"), words("paid")
    (('order', 'item'), ('cust', 'id'), ('emp', 'no'), ('paid',))
    """
    parts: list[str] = []
    for word in split(_without_accents(_REMARK.sub("", name)))[-_MOST:]:
        parts.extend((word,) if word in ID_WORDS else _unglued(word))
    return tuple(parts)


def _without_accents(name: str) -> str:
    """A name in letters that people use who have no others: numero, for número."""
    if name.isascii():
        return name
    return "".join(sign for sign in normalize("NFKD", name) if not combining(sign))


@lru_cache(maxsize=1 << 17)
def _unglued(word: str) -> Words:
    """A word as the words that it is glued of; computed once for a word of many names."""
    if singular(word) in _NOT_GLUED:
        return (word,)
    for ending in _GLUED:
        if word.endswith(ending) and len(word) - len(ending) >= (
            1 if ending in ("id", "no") else 2
        ):
            return singular(word.removesuffix(ending)), ending
    return (singular(word),)


@lru_cache(maxsize=1 << 14)
def singular(word: str) -> str:
    """The singular of an English noun, by its ending.

    >>> [singular(word) for word in ("cities", "boxes", "campuses", "status", "people")]
    ['city', 'box', 'campus', 'status', 'person']
    """
    if word in _NO_PLURALS:
        return word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 6 and word.endswith("uses") and word[-5] not in "ao":  # campuses, not houses
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return _IRREGULAR.get(word, word)


def plural(word: str) -> str:
    """The plural of a noun, by its ending.

    >>> plural("city"), plural("batch"), plural("order")
    ('cities', 'batches', 'orders')
    """
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


@lru_cache(maxsize=1 << 17)
def core(column: str) -> Words:
    """What a column's name says besides identifying, its head noun last: nothing, for a bare `id`.

    Where the id-word stands in front, as it does in Romance languages, so does the head; where it
    stands between, what follows is a role.

    >>> core("customer_no"), core("num_cliente_web"), core("id"), core("TERM_CODE_ENTRY")
    (('customer',), ('web', 'cliente'), (), ('entry', 'term'))
    """
    every = [word for word in words(column) if not word.isdecimal()]
    said = tuple(word for word in every if word not in ID_WORDS)
    at = next((at for at, word in enumerate(every) if word in ID_WORDS), len(every))
    if at == 0 and every and every[-1] not in ID_WORDS:
        return said[::-1]
    return said[at:] + said[:at]


@lru_cache(maxsize=1 << 17)
def identifies(column: str) -> bool:
    """Whether a column's name has an id-word at its end, or at its beginning.

    >>> identifies("shop_number"), identifies("num_cliente"), identifies("num_shops")
    (True, True, False)
    """
    parts = [word for word in words(column) if not word.isdecimal()]
    first = bool(parts) and parts[0] in ID_WORDS and not _counts_in_front(column)
    return bool(parts) and (parts[-1] in ID_WORDS or first)


@lru_cache(maxsize=1 << 17)
def _counts_in_front(column: str) -> bool:
    """Whether a name begins with the word for a number, of many things."""
    parts = words(column)
    if len(parts) < 2 or parts[0] not in _COUNTING:
        return False
    last = split(column)[-1]
    return parts[1] == "of" or singular(last) != last


@lru_cache(maxsize=1 << 17)
def has_id_word(column: str) -> bool:
    """Whether an id-word that stands by itself follows the first word of a name.

    >>> has_id_word("date_key"), has_id_word("TERM_CODE_ENTRY"), has_id_word("giorno")
    (True, True, False)
    """
    return not ID_WORDS.isdisjoint(split(column)[1:])


@lru_cache(maxsize=1 << 17)
def counts(column: str) -> bool:
    """Whether the name is that of a count or another measure, which is never a reference.

    >>> counts("no_of_customers"), counts("drv_age"), counts("customer_no")
    (True, True, False)
    """
    parts = words(column)
    return _counts_in_front(column) or (bool(parts) and parts[-1] in _MEASURES)


@lru_cache(maxsize=1 << 17)
def is_position(column: str) -> bool:
    """Whether the name is that of a row's place among others, which no other system means.

    >>> is_position("line_no"), is_position("pos"), is_position("line_id")
    (True, True, False)
    """
    parts = words(column)
    return (
        bool(parts) and parts[-1] != "id" and set(core(column)) <= _POSITIONS and any(core(column))
    )


@lru_cache(maxsize=1 << 17)
def is_role(called: Words) -> bool:
    """Whether what a column is called, besides an id-word, is a person's role.

    A role shares no word with the table that it refers to: `manager_id`, `buyer_no`.

    >>> is_role(("sales", "rep")), is_role(("approved", "by")), is_role(("order",))
    (True, True, False)
    """
    return bool(called) and (called[-1] in _ROLES or (len(called) > 1 and called[-1] in BY))


@lru_cache(maxsize=1 << 17)
def is_people(about: Words) -> bool:
    """Whether a table is about people, by the noun at the head of its name."""
    return bool(about) and (about[-1] in _PERSONS or "employee" in other_words(about[-1]))


# A prefix that says no more than its table (columns elsewhere are called by longer ones, such as
# `emp_`), and the share of a table's columns that must have it.
_PREFIX = re.compile(r"([^\W\d_]{1,2})[_.-](?=.)")
_MOST_HAVE = 0.8
# Names of the systems that had room for ten capitals, two of them for the table.
_RUN_TOGETHER = re.compile(r"[A-Z]{2}[A-Z0-9#$@]{2,8}")


def without_table_prefix(columns: Sequence[str], own: str = "") -> list[str]:
    """The names of a table's columns without a short prefix that nearly all of them have, or
    without its `own` name in front of them.

    >>> without_table_prefix(["l_orderkey", "l_partkey", "l_comment"])
    ['orderkey', 'partkey', 'comment']
    >>> without_table_prefix(["CDNUM", "CDETB", "CDDAT", "CDFOU"])
    ['NUM', 'ETB', 'DAT', 'FOU']
    >>> without_table_prefix(["PAKNR", "PAKBEZ", "PAKPRS"])
    ['PAKNR', 'PAKBEZ', 'PAKPRS']
    >>> without_table_prefix(["SPPERS_UID", "SPPERS_NAME", "SPPERS_BIRTH"], "SPPERS")
    ['UID', 'NAME', 'BIRTH']
    """
    first = _PREFIX.match(columns[0]) if len(columns) > 2 else None
    prefix = first[0].casefold() if first else ""
    if len(columns) > 2 and all(_RUN_TOGETHER.fullmatch(name) for name in columns):
        # Of more letters in common it is a word, which others may be called by as well.
        prefix = columns[0][: 0 if _have(columns, columns[0][:3].casefold()) else 2].casefold()
    prefix = prefix or own.casefold() + "_" * bool(own)
    if not prefix or not _have(columns, prefix):
        return list(columns)
    return [
        name[len(prefix) :] if name.casefold().startswith(prefix) and name[len(prefix) :] else name
        for name in columns
    ]


def _have(columns: Sequence[str], prefix: str) -> bool:
    """Whether nearly all names begin with a prefix."""
    have = sum(name.casefold().startswith(prefix) for name in columns)
    return have >= _MOST_HAVE * len(columns)


def own_prefixes(tables: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The name that each table puts in front of its columns, empty for none; given the names of
    tables and of their columns.

    That it is the table's alone shows where no other uses it but for nearly all columns, as a copy
    does: what refers to `customer.customer_id` is called so too.

    >>> person = ("SPPERS", ["SPPERS_UID", "SPPERS_NAME"])
    >>> own_prefixes([person, ("customer", ["customer_id"]), ("orders", ["id", "customer_id"])])
    ['SPPERS', '', '']
    """
    mixed = set()
    for _, columns in tables:
        for front in {name.partition("_")[0].casefold() for name in columns if "_" in name}:
            if not _have(columns, f"{front}_"):
                mixed.add(front)
    return [
        "" if name.casefold() in mixed or not _have(columns, f"{name}_".casefold()) else name
        for name, columns in tables
    ]
