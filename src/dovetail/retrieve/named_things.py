"""Tables with the names and labels of what a set of tables has only the numbers and codes of.

"Pieces received, by name of the supplier": receipts have the number of the supplier, and the name
stands in a table of suppliers that they refer to, which may be called by another word, in another
system. The label of "each kind of disruption" stands in a list of codes, and the name of "which
mechanic" in the master of employees, maybe behind a table of users. Where a question asks for
things by name, for a row each, for kinds of a thing or for who it was, the table that the set
refers to for it comes in, if it has names and no table of the set has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from dovetail.domain import Column, JoinEdge, Kind, Table, TableId
from dovetail.joins.graph import JOINABLE
from dovetail.names.concepts import meaning_of, thing_of
from dovetail.names.table_name import unqualified
from dovetail.names.words import identifies, is_people, is_role, plain, singular, spelled, words
from dovetail.retrieve.liveness import Liveness
from dovetail.search.method_cache import method_cache
from dovetail.search.query import WORD, Query, QueryTerm, stem
from dovetail.search.searcher import Searcher

_NAMES = frozenset(("name", "names", "surname", "surnames"))
# Words that say which name, words that ask for things, and words that ask for a row for each.
_WHICH_NAME = frozenset(
    ["full", "first", "last", "and", "family", "company", "proper", "own", "real", "complete", "s"]
)
_OF_WHICH = frozenset(
    """which what who are quali welche vilka quels quelles cuales quais welke hvilke""".split()  # noqa: SIM905
)
_BY = frozenset(
    """each every per by je jede jeden jedem jeder pro ogni ciascun ciascuna chaque cada elke
    varje hver hvert""".split()  # noqa: SIM905 - words read best as text
)
# Words that ask for persons where a sentence begins: elsewhere they speak of what stands before.
_WHO = frozenset(("who", "wer", "chi", "qui", "quien", "quem", "vem", "hvem"))
_AND = frozenset(("and", "und", "e", "et", "y", "en", "och", "og"))
_BEGINS = ".?!:;"
# What persons are called by what they do, in letters at least: controllers, lecturers.
_DOING = ("er", "or", "ist", "ian", "man", "are", "ore", "ori", "iere", "ieri", "eur")
_LEAST_DOING = 6
# Words for kinds of a thing, as questions and names have them, and what follows those of questions.
_KINDS = frozenset(
    """kind type category class group sort model typ cat categ grp cls kat tipo""".split()  # noqa: SIM905
)
_OF = frozenset(("of", "the", "von", "di", "de", "del", "della", "du", "des", "van", "av", "af"))
# How columns are called that label codes.
_LABELS = frozenset(
    "name text txt description designation title label bez klartext".split()  # noqa: SIM905
)
# How names of persons end in the names of columns that hold them.
_NAME_ENDS = (
    *("name", "nome", "namn", "navn", "naam", "nom", "nombre", "apellido", "apellidos", "nimi"),
    *("nazwisko", "imie", "jmeno"),
)
# Words of a comment that may be read as a name, words between a name or `each` and the thing, and
# between `which` and it.
_SHORT, _NEAR, _SUBJECT = 6, 3, 2
# The share of its rows that a column of names tells apart, and of its letters and signs that are
# letters. First and last names tell persons apart together.
_APART, _LETTERS, _FIRST_AND_LAST = 0.3, 0.5, 2
_TABLES_KEPT = 4096

_Path = tuple[JoinEdge, ...]


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A table with the names of a thing, or one that leads there, and the table that refers to
    it."""

    table: TableId
    thing: str
    referring: TableId
    leads_to: str = ""

    def __str__(self) -> str:
        if self.leads_to:
            return f"leads to {self.leads_to}, which has the names of each {self.thing}"
        return f"has the names of each {self.thing}, to which {self.referring.name} refers"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks the names or labels of: words that may mean it, the likeliest first.

    `kinds_of` are words of which some mean the thing whose kinds are asked for, if kinds are.
    `person`: a person is asked for.
    """

    words: tuple[str, ...]
    kinds_of: tuple[str, ...] = ()
    person: bool = False


class NamedThings:
    """Finds the tables with the names that questions ask for."""

    def __init__(self, searcher: Searcher, liveness: Liveness) -> None:
        self._searcher, self._liveness = searcher, liveness
        self._references = method_cache(self._read_references, _TABLES_KEPT)

    def of(self, query: Query, tables: Sequence[TableId]) -> list[NamedThing]:
        """The tables that a set of tables lacks for the names that a question asks for."""
        lacking: dict[TableId, NamedThing] = {}
        terms = _terms(query)
        for asked in dict.fromkeys(_asked(query.text, terms)):
            reader = _Reader(self, asked, terms, (*tables, *lacking))
            path, thing = reader.path()
            for edge, after in zip(path, (*path[1:], None), strict=False):
                leads_to = after.right.name if after else ""
                if edge.right not in reader.tables:
                    lacking[edge.right] = NamedThing(edge.right, thing, edge.left, leads_to)
        return list(lacking.values())

    def profile(self, table: TableId) -> Table:
        """The table as the catalog has it."""
        return self._searcher.catalog[table]

    def references(self, table: TableId) -> list[JoinEdge]:
        """The references of a table to live ones."""
        return self._references(table)

    def _read_references(self, table: TableId) -> list[JoinEdge]:
        return [
            edge
            for edge in self._searcher.joins.joins(table, least=JOINABLE)
            if edge.left == table != edge.right
            and (not edge.when or edge.when_right)
            and not self._liveness.why(edge.right)
        ]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a set of tables for what is asked for: which reference leads to its names."""

    things: NamedThings
    asked: Asked
    terms: Mapping[str, QueryTerm]
    tables: tuple[TableId, ...]

    def path(self) -> tuple[_Path, str]:
        """The reference to a table with the names that are asked for, or two in a row, and the
        word that asked for them; none where the set has them."""
        edges = [
            edge
            for table in self.tables
            for edge in self.things.references(table)
            if edge.right not in self.tables
        ]
        for word in self.asked.words:
            if any(self._has(table, word) for table in self.tables):
                return (), ""
            about = [edge for edge in edges if self._is_about(edge, word)]
            if paths := [path for edge in about if (path := self._to_names(edge))]:
                return max(paths, key=lambda path: (-len(path), path[0].score)), word
        far = [path for word in self.asked.words[:1] for path in self._far(edges, word)]
        if far and len({path[-1].right for path in far}) == 1:
            return max(far, key=lambda path: path[0].score + path[1].score), self.asked.words[0]
        if self.asked.person:
            return self._person(edges), (*self.asked.words, "person")[0]
        return (), ""

    def _is_about(self, edge: JoinEdge, word: str) -> bool:
        """Whether a reference is one to the thing that a word means."""
        left = self.things.profile(edge.left)
        told = _told(left, edge, self.things.profile(edge.right))
        if self.asked.kinds_of:
            both = [*told, unqualified(left.name), left.comment]
            return _says_kind(told) and self._says(both, *self.asked.kinds_of)
        return self._says(told, word)

    def _far(self, edges: Sequence[JoinEdge], word: str) -> Iterator[_Path]:
        """The references to the thing of tables that the set refers to."""
        for edge in edges:
            middle = self.things.profile(edge.right)
            for after in self.things.references(edge.right):
                right = self.things.profile(after.right)
                if after.right in self.tables or not has_names(right, _keys(after)):
                    continue
                told = _told(middle, after, right)
                if self.asked.kinds_of:
                    both = [*_told(self.things.profile(edge.left), edge, middle), *told]
                    about = _says_kind(told) and self._says(both, *self.asked.kinds_of)
                else:
                    about = self._says(told, word)
                if about:
                    yield edge, after

    def _person(self, edges: Sequence[JoinEdge]) -> _Path:
        """The reference to the one table with names of persons, or two in a row, if the set has
        none. A mere `who` may mean those that the set has, unless a column says who did it."""
        profiles = [self.things.profile(table) for table in self.tables]
        if any(map(names_employees, profiles)):
            return ()
        if not self.asked.words and any(map(names_persons, profiles)):
            edges = [edge for edge in edges if all(is_role(words(own)) for own, _ in edge.columns)]
        paths = [path for edge in edges if (path := self._to_names(edge))]
        found = [path for path in paths if names_employees(self.things.profile(path[-1].right))]
        return min(found, key=len) if len({path[-1].right for path in found}) == 1 else ()

    def _to_names(self, edge: JoinEdge) -> _Path:
        """A reference to a table with names, or to one whose rows are the same things as those of
        a table with names, with the reference from the one to the other."""
        right = self.things.profile(edge.right)
        if has_names(right, _keys(edge)):
            return (edge,)
        for same in self.things.references(edge.right):
            named = self.things.profile(same.right)
            if _is_same(right, same) and has_names(named, _keys(same)):
                return edge, same
        return ()

    def _has(self, table: TableId, word: str) -> bool:
        """Whether a table has the names of a thing, or says its kind in words."""
        profile = self.things.profile(table)
        own = (unqualified(profile.name), profile.comment)
        columns = [column.name for column in profile.columns]
        if not self.asked.kinds_of:
            if self._says(own, word):
                return has_names(profile)
            named = (each for each in columns if _NAMES.intersection(spelled(each).split()))
            return any(self._says((each,), word) for each in named)
        if not self._says(own, *self.asked.kinds_of):
            return False
        keys = {key for edge in self.things.references(table) for key, _ in edge.columns}
        texts = [column for column in profile.columns if column.name not in keys]
        in_words = [column.name for column in texts if _is_text(column)]
        return _says_kind(in_words) or (_says_kind(own) and has_names(profile))

    def _says(self, texts: Sequence[str], *asked: str) -> bool:
        """Whether one of some names says one of some words of the question, in any language."""
        meant = {expansion for word in asked for expansion, _ in self.terms[word].expansions}
        things = {thing_of(singular(plain(word))) for word in asked} - {None}
        told = [word for text in texts for word in _words(text)]
        return any(stem(word) in meant or thing_of(plain(word)) in things for word in told)


def has_names(table: Table, keys: Sequence[str] = ()) -> bool:
    """Whether a table has a column of words, none of its keys, that tell its rows apart, or first
    and last names."""
    return _first_and_last(table) or any(
        _is_text(column)
        and column.name not in keys
        and column.profile.distinct >= _APART * table.rows > 0
        for column in table.columns
    )


def names_persons(table: Table) -> bool:
    """Whether a table has names of persons."""
    return _first_and_last(table) or any(
        _is_text(column) and plain(column.name).endswith("fullname") for column in table.columns
    )


def names_employees(table: Table) -> bool:
    """Whether a table has names of persons who are not by their table's name something else that
    companies keep tables of, as customers are."""
    called = words(unqualified(table.name))
    things = {thing_of(word) for word in called} - {None, thing_of("employee")}
    return not things and (names_persons(table) or (is_people(called) and has_names(table)))


def _first_and_last(table: Table) -> bool:
    """Whether a table has first and last names: two columns of texts, none a key, that are called
    names."""
    named = (
        column
        for column in table.columns
        if _is_text(column)
        and any(
            plain(word).endswith(_NAME_ENDS)
            for text in (column.name, column.comment)
            for word in _words(text)[-1:]
        )
    )
    return sum(1 for _ in named) >= _FIRST_AND_LAST


def _is_text(column: Column) -> bool:
    """Whether a column is no key by its name, unless it labels one, and holds words: no times,
    numbers or codes, and nothing that is masked."""
    label = any(_english(word) in _LABELS for word in spelled(column.name).split()[-1:])
    if column.profile.kind is not Kind.TEXT or (identifies(column.name) and not label):
        return False
    shown = "".join(column.profile.examples).replace(" ", "")
    return sum(map(str.isalpha, shown)) >= _LETTERS * len(shown)


def _is_same(table: Table, edge: JoinEdge) -> bool:
    """Whether each row of a table refers to one of another of its own: they are the same things."""
    return len(edge.columns) == 1 and table.column(edge.columns[0][0]).profile.unique


def _told(left: Table, edge: JoinEdge, right: Table) -> list[str]:
    """What names and comments say of a reference."""
    columns = [
        column for own, key in edge.columns for column in (left.column(own), right.column(key))
    ]
    said = [text for column in columns for text in (column.name, column.comment)]
    return [unqualified(right.name), right.comment, *said]


def _keys(edge: JoinEdge) -> list[str]:
    return [key for _, key in edge.columns]


def _words(text: str) -> list[str]:
    """The words of a name, or of a comment as short as one."""
    told = spelled(text).split()
    return told if len(told) <= _SHORT else []


def _says_kind(texts: Sequence[str]) -> bool:
    """Whether one of some names says a word for kinds, in any language."""
    return any(_english(word) in _KINDS for text in texts for word in _words(text))


def _english(word: str) -> str:
    """A word in the singular, in English if the glossary has it."""
    return meaning_of(plain(word)) or singular(plain(word))


def _asked(text: str, terms: Mapping[str, QueryTerm]) -> Iterator[Asked]:
    """What a question asks the names or labels of, or one row each."""
    found = list(WORD.finditer(text))
    tokens = [match[0].lower() for match in found]
    for at, token in enumerate(tokens):
        before = text[: found[at].start()].rstrip()
        ahead = tokens[at + 1 : at + 1 + _NEAR]
        begins = not before or before[-1] in _BEGINS or tokens[at - 1] in _AND
        if token in _WHO and begins:
            yield Asked((), person=True)
        if token in _OF_WHICH:
            yield from _phrase(ahead[:_SUBJECT], terms)
        elif token in _BY:
            yield from _phrase(ahead, terms)
        elif _english(token) in _NAMES:
            behind = [word for word in tokens[max(0, at - _NEAR) : at] if word not in _WHICH_NAME]
            of_it = [word for word in ahead if word in terms]
            if of_it and ahead[0] not in terms:
                yield from _thing(of_it[:1], terms)
            else:
                yield from _thing([word for word in behind[-1:] if word in terms], terms)
        elif _english(token) in _KINDS and token in terms:
            behind = [word for word in tokens[max(0, at - 1) : at] if word in terms]
            after = list(takewhile(lambda word: word in _OF or word in terms, ahead))
            of_it = [word for word in after if word in terms] if _OF & {*after[:1]} else behind
            if of_it:
                yield Asked((token,), kinds_of=tuple(of_it))


def _phrase(ahead: Sequence[str], terms: Mapping[str, QueryTerm]) -> Iterator[Asked]:
    """The thing that a phrase behind `which` or `each` names: of the first terms in a row the first
    plural, else the last, or else another.

    Asked *which suppliers sent*, it is the suppliers, *which bike technician*, the technician.
    """
    start = next((at for at, word in enumerate(ahead) if word in terms), len(ahead))
    if row := list(takewhile(terms.__contains__, ahead[start:])):
        first = _plural_or_last(row)
        yield from _thing([first, *(word for word in reversed(row) if word != first)], terms)


def _thing(those: Sequence[str], terms: Mapping[str, QueryTerm]) -> Iterator[Asked]:
    """What is asked for by words of which the first most likely means it, if any does."""
    if those:
        likely = those[:1] if _english(those[0]) in _KINDS else those
        yield Asked(tuple(likely), person=_is_person(those[0], terms[those[0]]))


def _plural_or_last(those: Sequence[str]) -> str:
    return next((word for word in those if singular(word) != word), those[-1])


def _is_person(word: str, term: QueryTerm) -> bool:
    """Whether a word is one for persons, or ends as those do for what they do, and no table is
    called by it."""
    one = singular(plain(word))
    if is_people((one,)) or is_role((one,)):
        return True
    does = len(one) >= _LEAST_DOING and one.endswith(_DOING) and thing_of(one) is None
    return does and not term.name_share.max(initial=0)


def _terms(query: Query) -> Mapping[str, QueryTerm]:
    """The term of each word of a question that is none of a value."""
    quoted = {
        word
        for link in query.links
        if not link.span.plain_word
        for word in WORD.findall(link.span.text.lower())
    }
    by_word = {term.text: term for term in query.terms}
    by_word |= {query.words[term.text].lower(): term for term in query.terms}
    tokens = [word.lower() for word in WORD.findall(query.text)]
    meant = ((word, by_word.get(word) or by_word.get(stem(word))) for word in tokens)
    return {word: term for word, term in meant if term is not None and word not in quoted}
