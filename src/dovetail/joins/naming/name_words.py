"""What the name of a column or table says: its words, whether it is an identifier, and of what.

All rules are about how people write names (id-words, plurals, abbreviations, roles in front of a
noun), none about what a particular schema calls its things.
"""

from __future__ import annotations

import re
from functools import cache
from string import ascii_lowercase, ascii_uppercase, digits

Words = tuple[str, ...]

# Words that say "this identifies" and nothing about what.
ID_WORDS = frozenset(
    """id ids identifier code cd key no nr nbr num number fk pk uuid guid ref sk
    nk""".split()  # noqa: SIM905 - words read best as text
)
# Those that are often glued to a stem in lower case: custid, empno, deptcode.
_GLUED = ("uuid", "guid", "code", "num", "key", "id", "no", "nr", "fk", "pk")
# English words that merely end like that.
_NOT_GLUED = frozenset(
    """paid unpaid prepaid grid valid invalid bid kid solid fluid hybrid android raid void avoid
    acid rapid liquid orchid pyramid mid lid did said laid maid covid humid vivid stupid placid
    candid splendid squid asteroid steroid thyroid centroid ovoid plaid braid amid piano casino
    kimono volcano domino albino inferno latino platinum aluminum monkey turkey whiskey hockey
    jockey donkey unicode""".split()  # noqa: SIM905 - words read best as text
)
# "number of shops" counts, only "shop number" identifies: these identify as a last word only.
_COUNTING = frozenset(("no", "nr", "nbr", "num", "number"))
_TOTALS = frozenset(("count", "total", "quantity", "amount"))
# Conventions of warehouses in table names that name no thing.
_TABLE_WORDS = frozenset(("tbl", "table", "ref", "dim", "fact", "lookup", "lkp", "tb", "t", "xref"))
_PREPOSITIONS = frozenset(("of", "for", "in", "to", "with", "by", "from", "at", "on", "per"))
_IRREGULAR = {"people": "person", "men": "man", "women": "woman", "children": "child"}
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
# A remark behind a column's name, and a schema or folder in front of a table's: neither names it.
_REMARK = re.compile(r"(?<=\w)\s*\([^()]*\)\s*$")
_SCHEMA = re.compile(r"(?:[^\W\d]\w*\.){1,2}(?=[^\W\d]\w*$)")
# Files that a folder's one table is spread over: there the folder names the table.
_PIECES = frozenset(("part", "data", "chunk", "file", "export"))
# Letters as one small and one capital letter, digits as one digit; and an id at the end of a name.
_SHAPE = str.maketrans(ascii_lowercase + ascii_uppercase + digits, 26 * "a" + 26 * "A" + 10 * "0")
_LAST_ID = re.compile(r"(?<![A-Za-z])([Ii][Dd])[^A-Za-z]*\Z")
# The head noun of a name counts as much as two of its other words.
_HEAD = 2.0


def singular(word: str) -> str:
    """The singular of an English noun, by its ending.

    >>> [singular(word) for word in ("cities", "boxes", "campuses", "status", "people")]
    ['city', 'box', 'campus', 'status', 'person']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 6 and word.endswith("uses") and word[-5] not in "ao":  # campuses, not houses
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return _IRREGULAR.get(word, word)


@cache
def words(name: str) -> Words:
    """The words of a name, in lower case and singular.

    >>> words("OrderItems"), words("cust_id"), words("empno"), words("paid")
    (('order', 'item'), ('cust', 'id'), ('emp', 'no'), ('paid',))
    """
    found: list[str] = []
    for part in _WORD.findall(_REMARK.sub("", name)):
        word = part.lower()
        found.extend((word,) if word in ID_WORDS else _unglued(word))
    return tuple(found)


@cache
def _unglued(word: str) -> Words:
    """A word of a name as the words that it is glued of; asked once for a word of many names."""
    if singular(word) in _NOT_GLUED:
        return (word,)
    for ending in _GLUED:
        if word.endswith(ending) and len(word) - len(ending) >= (
            1 if ending in ("id", "no") else 2
        ):
            return singular(word.removesuffix(ending)), ending
    return (singular(word),)


@cache
def core(column: str) -> Words:
    """What a column's name says besides identifying: nothing, for a bare `id`."""
    return tuple(word for word in words(column) if word not in ID_WORDS and not word.isdigit())


@cache
def entity(table: str) -> Words:
    """The thing a table is about, its head noun last.

    >>> entity("tbl_customers"), entity("products_for_hire"), entity("crm.customers")
    (('customer',), ('for', 'hire', 'product'), ('customer',))
    """
    all_words = words(unqualified(table))
    found = tuple(w for w in all_words if w not in _TABLE_WORDS and not w.isdigit()) or all_words
    for place, word in enumerate(found):
        if word in _PREPOSITIONS and 0 < place < len(found) - 1:
            return found[place:] + found[:place]
    return found


def unqualified(table: str) -> str:
    """The name of a table without its schema or folder.

    >>> unqualified("hr.staff"), unqualified("exports/2024/staff"), unqualified("staff/part-0")
    ('staff', 'staff', 'staff/part-0')
    """
    name = table.rpartition("/")[2] or table
    if {word for word in words(name) if not word.isdigit()} <= _PIECES:
        name = table
    return _SCHEMA.sub("", name)


@cache
def identifies(column: str) -> bool:
    """Whether the name has an id-word where one stands."""
    parts = [word for word in words(column) if not word.isdigit()]
    return bool(parts) and (
        parts[-1] in ID_WORDS or (parts[0] in ID_WORDS and parts[0] not in _COUNTING)
    )


@cache
def counts(column: str) -> bool:
    """Whether the name is that of a count, which is never a reference: no_of_customers, total."""
    parts = words(column)
    return (len(parts) > 1 and parts[0] in _COUNTING) or (bool(parts) and parts[-1] in _TOTALS)


@cache
def is_plural(table: str) -> bool:
    """Whether the last word of a name stands in the plural."""
    parts = re.findall("[A-Za-z]+", table)
    return bool(parts) and singular(parts[-1].lower()) != parts[-1].lower()


@cache
def naming_convention(name: str) -> Words:
    """The convention a name follows: case of first and later words, separator, form of 'id'.

    >>> naming_convention("cust_id")
    ('first lower', 'later lower', 'between _', 'id as id')
    """
    found = _convention_of_shape(name.translate(_SHAPE))
    last = _LAST_ID.search(name)
    return (*found, f"id as {last[1]}") if last else found


@cache
def _convention_of_shape(name: str) -> Words:
    """The convention of names that have small and capital letters at the same places."""
    parts = re.findall(r"[A-Za-z]+", name)
    if not parts:
        return ()
    cases = [_case(part) for part in parts]
    found = [f"first {cases[0]}", *(f"later {case}" for case in cases[1:])]
    camel = re.search(r"[a-z][A-Z]", name) is not None
    if len(parts) > 1 or camel:
        separator = "_" if "_" in name.strip("_") else " " if " " in name else ""
        found.append(f"between {separator}{'camel' if camel else ''}")
    return tuple(found)


def _case(part: str) -> str:
    if part.isupper() and len(part) > 1:
        return "upper"
    return "title" if part[0].isupper() else "lower"


@cache
def word_likeness(one: str, other: str) -> float:
    """1 for equal words, less for what people make of a word: a prefix, its letters, its initial.

    >>> [word_likeness(*pair) for pair in (("stu", "student"), ("dept", "department"), ("a", "b"))]
    [0.8, 0.6, 0.0]
    """
    if one == other:
        return 1.0
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if short[0] == long[0]:
        if len(short) == 1:
            return 0.4
        if long.startswith(short):
            return 0.8 if len(short) > 2 else 0.5
        if len(short) >= 3 and _in_order(short, long):
            return 0.6
    return 0.8 if len(short) >= 4 and long.endswith(short) else 0.0


def _in_order(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


@cache
def refers(one: Words, other: Words) -> float:
    """How far the words of one name refer to the thing called by the other, from 0 to 1.

    All of the other's words should be there, its head above all. A role may stand in front
    (created_by_staff names staff), another head may not follow (an account type is no account).

    >>> [round(refers(core(c), entity("customers")), 2) for c in ("customer_id", "cust_no", "city")]
    [1.0, 0.72, 0.0]
    """
    if not one or not other:
        return 0.0
    glued = "".join(one)
    if glued == "".join(other):
        return 1.0
    if _are_initials(glued, other):
        return 0.8 if len(glued) > 2 else 0.5
    found = _weighted(other, one)
    if not found:
        return 0.0
    if not any(word_likeness(one[head], word) for head in head_places(one) for word in other):
        return found / 3
    return found * (0.5 + 0.5 * _weighted(one, other))


def head_places(name: Words) -> list[int]:
    """Where a name has a head: at its end, and before a preposition."""
    last = len(name) - 1
    return [at for at in range(last + 1) if at == last or name[at + 1] in _PREPOSITIONS]


def initials_of(name: Words) -> str:
    """The first letters of a name's words, in order of the alphabet."""
    return "".join(sorted(word[0] for word in name))


def _are_initials(letters: str, name: Words) -> bool:
    return 1 < len(name) == len(letters) and "".join(sorted(letters)) == initials_of(name)


def _weighted(wanted: Words, among: Words) -> float:
    """How much of some words is found among others, the head counting double."""
    if len(wanted) == 1:
        return _best(wanted[0], among)
    best = [_best(word, among) for word in wanted]
    if not any(best):
        return 0.0
    weights = word_weights(wanted)
    return sum(w * likeness for w, likeness in zip(weights, best, strict=True)) / sum(weights)


def word_weights(name: Words) -> list[float]:
    """How much each word of a name counts."""
    return [0.0 if word in _PREPOSITIONS else 1.0 for word in name[:-1]] + [_HEAD] * bool(name)


@cache
def _best(word: str, among: Words) -> float:
    """How like a word the likest of some others is: asked again for every table of a schema."""
    return max(word_likeness(word, other) for other in among)
