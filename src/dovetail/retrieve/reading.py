"""What a question asks for: columns, conditions, groups and an order, without a language model.

The question is written down with marks for what it names (`marked_text.py`): *how many T0 of each
C1 have C2 over N3*. Rules read that text from the surest to the vaguest, and each blanks what it
has read; those of times stand apart (`reading_times.py`). The rules are those of English, and of
German where that differs in words alone (`grammar.py`); none knows a schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from dovetail.domain import Column, JoinEdge, Kind, Table, TableId
from dovetail.domain.tables import NUMBERS
from dovetail.names.words import identifies
from dovetail.retrieve import grammar
from dovetail.retrieve.marked_text import akin
from dovetail.retrieve.parts import AVERAGE, WORDS, Item, Reading, Ref
from dovetail.retrieve.reading_times import TimesReader, is_year
from dovetail.retrieve.schema_links import SHAPING, SchemaLinks, Value
from dovetail.search.query import stem, stems
from dovetail.search.value_linking import other_forms

_NAMED = ("name", "title", "titel", "bezeichnung", "label")
# Letters of a word that is looked for in cells without its plural's ending.
_PART = 4
_PARTS = frozenset(("first", "last", "sur", "fore", "given", "family"))


def read(links: SchemaLinks, tables: Sequence[Table], joins: Sequence[JoinEdge]) -> Reading:
    """What a question asks for, over tables that joins connect."""
    return _Reader(links, tables, joins).read()


class _Reader(TimesReader):
    """Reads the marked text of a question rule by rule."""

    def read(self) -> Reading:
        self._order()
        self._groups()
        self._likes()
        self._comparisons()
        self._counts()
        self._functions()
        self._superlatives()
        self._equals()
        self._times()
        self._each_time()
        self._select()
        self._absent()
        self._settle()
        self.reading.open += [f"what is {word!r}?" for word in self._unread()]
        self.reading.open += [f"what of {words!r}?" for words in self._dropped()]
        self.reading.keep_bounds()
        return self.reading

    def _order(self) -> None:
        match = grammar.ORDER.search(self.text)
        start, end, item = (match.start(), match.end(), None) if match else (0, 0, None)
        if match:
            item = self._counted(end) or self._folded(end)
            if item is None and (thing := self.thing(end, kinds="C")):
                item, end = Item(thing[1], thing[0]), thing[2]
        bare = grammar.BARE_ORDER.search(self.text)
        if item is None and bare is None:
            return
        if bare and not match:
            start, end = bare.span()
        down = bool(grammar.DOWN.search(self.text, max(start - 20, 0), end + 60))
        self.blank(start, end)
        self.reading.order.append((item or Item(-1, Ref(self.main)), down))

    def _groups(self) -> None:
        reading = self.reading
        each = r"\b(?:each|(?P<per>per|je|pro)|every|jede[rsm]?) "
        for match in re.finditer(each, self.text):
            at = match.end()
            while thing := self.thing(at, 2, kinds="CT" if at == match.end() else "C"):
                reading.group.append(Item(thing[1], thing[0]))
                reading.per |= match["per"] is not None
                self.blank(thing[1], thing[2])
                if not self.text.startswith(" and ", thing[2]):
                    break
                at = thing[2] + 4
        by = re.search(r"\bby (C\d+)", self.text)
        if (
            by
            and not reading.group
            and re.search(rf"\b(?:{grammar.FUNCTION}|{grammar.COUNT})\b", self.text)
        ):
            reading.group.append(Item(by.start(1), self.things[by[1]]))
            self.blank(*by.span())

    def _likes(self) -> None:
        """Texts that cells hold a part of: "containing the word 'sun'", "starts with 'A'"."""
        for match in grammar.PATTERN.finditer(self.links.text):
            word = next((i for i, (a, _) in enumerate(self.links.at) if a >= match.start(2)), 0)
            place = re.search(rf"[VCT]{word}\b", self.text)
            at = place.start() if place else self.text.find(self.links.words[word])
            columns = list(re.finditer(r"C\d+", self.text))
            before = [one for one in columns if one.start() < at]
            if not columns:
                continue
            mark = before[-1] if before else columns[0]
            verb = match[1].lower()
            form = {"start": "{}%", "begin": "{}%", "end": "%{}"}.get(verb, "%{}%")
            self._where(
                at,
                self.things[mark[0]],
                "like",
                form.format(match[2]),
            )
            if place:
                self.blank(*place.span())
            if not self.in_head(mark.start()):
                self.blank(*mark.span())

    def _comparisons(self) -> None:
        for operator, words in grammar.COMPARISONS:  # of whole days: `_times`
            pattern = (
                rf"\b(?:{words}) (?:year )?(?:(?P<mean>average|mean|avg)\b"
                r"|(?P<n>N\d+)(?: (?:and|to|und) (?P<m>N\d+))?)"
            )
            for match in re.finditer(pattern, self.text):
                same = self.text[match.start() : match.end()] == match[0]
                if same and not self._is_of_day(match["n"]):
                    self._compare(match, operator)
        later = rf"(?P<n>N\d+) or (?:(?P<more>{grammar.MORE}|above)|{grammar.LESS}|below)\b"
        for match in re.finditer(later, self.text):
            self._compare(match, ">=" if match["more"] else "<=")
        for match in re.finditer(r"(N\d+) years? old", self.text):
            if of := self._about("old"):
                operator = "<>" if self._negated(match.start()) else "="
                self._where(match.start(), of, operator, self._number(match[1]))
                self.blank(*match.span())

    def _having(self, operator: str, numbers: Sequence[str]) -> None:
        """How many rows there are of each: a number, or from one to another."""
        bounds = (">=", "<=") if operator == "between" else (operator,)
        self.reading.having += zip(bounds, numbers, strict=False)

    def _compare(self, match: re.Match[str], operator: str) -> None:
        start, end, said = match.start(), match.end(), match.groupdict()
        word = match[0].split()[0]
        of = self._column_before(start)
        if said.get("mean"):
            thing = None if of else self.thing(end, kinds="C")
            if of or thing:
                self._where(start, of or thing[0], operator, AVERAGE)  # type: ignore[index]
                self.blank(start, thing[2] if thing else end)
            return
        numbers = [self._number(said[name]) for name in ("n", "m") if said.get(name)]
        if operator != "between":
            numbers, end = numbers[:1], match.end("n") if "more" not in said else end
        vague = ("after", "before", "since", "larger", "smaller", "bigger")
        of = of or self._verb_before(start) or (None if word in vague else self._about(word))
        thing = None if of else self.thing(end, 2)
        if thing and not grammar.ASIDE.search(self.text, end, thing[1]):
            of = thing[0]
            if of.column is None or not measured(of.column) or identifies(of.column.name):
                self.reading.counted.append(of.table)
                self._having(operator, numbers)
                self.blank(start, thing[2])
                return
            end = thing[2]
        if of is None and re.match(r" times?\b", self.text[end:]):
            self._having(operator, numbers)
            self.blank(start, end)
            return
        if (
            of is None
            and self.reading.where
            and re.search(r"\u00b7 (?:or|and) $", self.text[:start])
        ):
            of = self.reading.where[-1].of
        year, place = len(numbers[0]) == 4 and operator != "=", match.start("n")
        of = of or self._about(word, place) or (self._time_column(at=place) if year else None)
        if of is None:
            self.reading.open.append(
                f"which column is {WORDS.get(operator, operator)} {' and '.join(numbers)}?"
            )
            self.blank(start, end)
        elif len(numbers) == 1 + (operator == "between"):
            self._where(start, of, operator, *numbers)
            self.blank(start, end)

    def _column_before(self, at: int) -> Ref | None:
        """The column that is named before a comparison, with words between that name nothing."""
        match = re.search(rf"(C\d+) (?:greater |or )*{grammar.FILLER}$", self.text[:at])
        of = self.things[match[1]] if match else None
        if (
            match is None
            or of is None
            or of.column is None
            or (not measured(of.column) and of.column.profile.time is None)
        ):
            return None
        self.blank(*match.span(1))
        return of

    def _verb_before(self, at: int) -> Ref | None:
        """The column of numbers that a verb just before a comparison is about: *rated above 4*."""
        match = re.search(r"([^\W\d_]{4,}) (?:at |with )?$", self.text[:at])
        for table in self._by_link() if match else ():
            for column in table.columns:
                numbers = column.profile.kind in NUMBERS and not identifies(column.name)
                if match and numbers and any(akin(match[1], one) for one in stems(column.name)):
                    return Ref(table, column)
        return None

    def _about(self, adjective: str, at: int | None = None) -> Ref | None:
        """The column that an adjective is about."""
        about = [nouns for words, nouns in grammar.ABOUT if re.fullmatch(words, adjective)]
        nouns = about[0] if about else ("",)
        for table in self._by_link() if about else ():
            for noun in map(stem, nouns):
                for column in table.columns:
                    profile = column.profile
                    texts = profile.kind in (Kind.TEXT, Kind.EMPTY) and profile.time is None
                    if noun in stems(column.name) and not texts:
                        return Ref(table, column)
            timely = nouns[0] == "age" or (nouns[0] == "date" and at is None)
            if timely and (of := self._time_column(table)):
                return of
        return self._time_column(at=at) if nouns[0] == "date" else None

    def _counted(self, at: int) -> Item | None:
        """A count that the words from `at` on ask for."""
        match = re.compile(rf"{grammar.COUNT.replace('^', '')} ").match(self.text, at)
        if match is None:
            return None
        thing = self.thing(match.end() - 1, 1)
        if thing is None:
            self.blank(*match.span())
            return Item(at, Ref(self.main), "count")
        of, start, end = thing
        self.blank(*match.span())  # a value may stand between: "how many open orders"
        self.blank(start, end)
        once = bool(match["once"])
        if of.column is None:
            column = key(of.table) if once else None
            return Item(at, Ref(of.table, column), "count", distinct=bool(column))
        if once or not (of.column.profile.unique or of.column.profile.kind in NUMBERS):
            return Item(at, of, "count", distinct=True)
        unique = of.column.profile.unique or identifies(of.column.name)
        return Item(at, Ref(of.table), "count") if unique else Item(at, of, "sum")

    def _counts(self) -> None:
        for match in list(re.finditer(rf"(?<!\w)(?:{grammar.COUNT}) ", self.text)):
            superlative = re.search(
                rf"(?:{grammar.HIGH}|{grammar.LOW}) $", self.text[: match.start()]
            )
            if superlative or not self.in_head(match.start()):
                continue
            if item := self._counted(match.start()):
                self.reading.select.append(item)

    def _folded(self, at: int) -> Item | None:
        """A function of a column that the words from `at` on ask for."""
        match = re.compile(rf"({grammar.FUNCTION}) ").match(self.text, at)
        thing = self.thing(match.end() - 1, kinds="C") if match else None
        if match is None or thing is None:
            return None
        self.blank(at, thing[2])
        return Item(at, thing[0], _function(match[1]))

    def _functions(self) -> None:
        pattern = rf"\b(?:{grammar.FUNCTION})(?:(?: and| or| und)? (?:{grammar.FUNCTION}))* "
        for match in list(re.finditer(pattern, self.text)):
            thing = self.thing(match.end() - 1, 2, kinds="C")
            if thing is None or not self.in_head(match.start()) or not measured(thing[0].column):
                continue
            said = re.findall(grammar.FUNCTION, match[0])
            self.reading.select += [Item(match.start(), thing[0], _function(one)) for one in said]
            self.blank(match.start(), thing[2])
            while self.text.startswith(" and ", thing[2]):
                more = self.thing(thing[2] + 4, kinds="C")
                if more is None or more[1] != thing[2] + 5 or not measured(more[0].column):
                    break
                self.reading.select.append(Item(more[1], more[0], _function(said[-1])))
                self.blank(more[1], more[2])
                thing = more

    def _superlatives(self) -> None:
        for match in list(grammar.SUPERLATIVE.finditer(self.text)):
            if self.reading.limit or self.text[match.start() : match.end()] != match[0]:
                continue
            word, at, end = match["more"] or match["word"], match.start("word"), match.end()
            high = re.fullmatch(grammar.HIGH, word) is not None
            limit = self._limit(match)
            often = grammar.OFTEN.match(self.text, end)
            if often and word in ("most", "least", "meisten"):
                thing = self.thing(often.end())
                if thing and thing[0].column and self.in_head(thing[1]):
                    self.reading.select.append(Item(thing[1], thing[0]))
                    self.blank(thing[1], thing[2])
                counted = Item(at, Ref(thing[0].table if thing else self.main), "count")
                self._by_count(counted, high, limit)
                continue
            if item := self._counted(end) or self._folded(end):
                self._by_count(item, high, limit)
                continue
            adjective = re.match(r"\w+", self.text[end:])
            said = (
                adjective[0].removesuffix("ly") if adjective and word in ("most", "least") else word
            )
            about = self._about(said)
            thing = None if about and said != word else self.thing(end - 1, 1)
            rows = word in ("most", "least", "fewest", "meisten", "wenigsten")
            if thing and thing[0].column and (measured(thing[0].column) or not rows):
                self._extreme(match, thing, high, limit)
            elif thing and rows:
                self.blank(thing[1], thing[2])
                self._by_count(Item(at, Ref(thing[0].table), "count"), high, limit)
            elif about:
                old = re.fullmatch(grammar.ABOUT[0][0], said) is not None
                turned = old and stem("age") not in stems(about.words)
                self.reading.order.append((Item(at, about), high != turned))
                self.reading.limit = limit
                self.blank(match.start(), match.end("more" if match["more"] else "word"))
            elif match["n"] or match["m"]:
                self.reading.limit = limit

    def _limit(self, match: re.Match[str]) -> int:
        """How many rows a superlative is after: "the 3 oldest", "which 3 players won the most"."""
        if mark := match["n"] or match["m"]:
            return int(float(self._number(mark)))
        number = re.search(r"(N\d+) T\d+", self.text)
        if number and self.in_head(number.start()):
            self.blank(*number.span(1))
            return int(float(self._number(number[1])))
        return 1

    def _by_count(self, counted: Item, high: bool, limit: int) -> None:
        self.reading.order.append((counted, high))
        self.reading.counted.append(counted.of.table)
        self.reading.limit = limit

    def _extreme(
        self, match: re.Match[str], thing: tuple[Ref, int, int], high: bool, limit: int
    ) -> None:
        """The highest value of a column, or the rows that have it."""
        self.blank(match.start(), thing[2])
        others = [
            one
            for one in re.finditer(r"C\d+|T\d+", self.text)
            if self.in_head(one.start()) and (one[0][0] == "C" or one.start() < match.start())
        ]
        if self.in_head(match.start()) and not others and limit == 1:
            self.reading.select.append(Item(match.start(), thing[0], "max" if high else "min"))
        else:
            self.reading.order.append((Item(match.start(), thing[0]), high))
            self.reading.limit = limit

    def _equals(self) -> None:
        """Values of columns, those of one column together."""
        held: dict[tuple[TableId, str], list[tuple[int, Value]]] = {}
        of: dict[tuple[TableId, str], Ref] = {}
        for match in re.finditer(r"[VN]\d+", self.text):
            dated = match[0][0] == "N" and self._is_of_day(match[0])  # it is left to `_times`
            value = None if dated else self.values.get(match[0])
            column = self._column_of(match, value) if value else None
            if value and column and column.column:
                self.blank(*match.span())
                of[column.table.id, column.column.name] = column
                held.setdefault((column.table.id, column.column.name), []).append(
                    (match.start(), value)
                )
        for place, values in held.items():
            negated = self._negated(values[0][0])
            for at, _ in values[1:] if negated else ():  # "neither open nor paid"
                self._negated(at)
            texts = [one.text for _, one in values]
            exact = all(one.exact for _, one in values)
            operator = "in" if len(values) > 1 else "=" if exact else "ilike"
            if operator == "ilike":  # a word of cells
                texts = [f"%{_without_plural(texts[0])}%"]
            self._where(values[0][0], of[place], f"not {operator}" if negated else operator, *texts)

    def _negated(self, at: int) -> bool:
        """Whether a word just before says that something does not hold; it is used up."""
        said = re.search(
            r"(?:^|\b(?:and|but|or|who|that|whose|which|where) )((?:\S+ ){0,7})$", self.text[:at]
        )
        start = said.start(1) if said else max(at - 30, 0)
        match = grammar.NOT.search(self.text, start, at)
        if match:
            self.blank(*match.span())
        return match is not None

    def _column_of(self, match: re.Match[str], value: Value) -> Ref | None:
        """The column that a value is meant of: one that is named beside it, else the likeliest."""
        before = re.search(r"(C\d+) ((?:[^CTVN\u00b7]\S* ){0,6})$", self.text[: match.start()])
        behind = re.match(r" (C\d+)()", self.text[match.end() :])
        for beside in (before, behind):
            named = self.things[beside[1]] if beside else None
            same = [
                Ref(table, column)
                for table, column in value.columns
                if named and column.name == named.words
            ]
            if beside and named and same:
                offset = 0 if beside is before else match.end()
                if not self.in_head(offset + beside.start(1)) or not grammar.LINKS.sub(
                    "", beside[2]
                ):
                    self.blank(offset + beside.start(1), offset + beside.end(1))
                return min(same, key=lambda one: one.table.id != named.table.id)
        number = match[0][0] == "N"
        listed = [one for one in value.columns if not number or is_year(one[1], value)]
        named_tables = {link.table.id for link in self.links.tables}
        ranked = sorted(
            listed,
            key=lambda one: (
                one[0].id not in self.near,
                one[1].profile.kind is not Kind.TEXT,
                -self._named_before(one[0], value.start),
                one[0].id not in named_tables,
                identifies(one[1].name),
                one[1].profile.distinct > 50,
            ),
        )
        return Ref(*ranked[0]) if ranked else None

    def _named_before(self, table: Table, word: int) -> int:
        """How far on the question names a table before a word: "suppliers of schools in Oslo"."""
        ends = (link.end for link in self.links.tables if link.table.id == table.id)
        return max((end for end in ends if end <= word), default=-1)

    def _select(self) -> None:
        reading, along = self.reading, set(self._along())
        for match in grammar.NAMED_WITH.finditer(self.text):  # "names and districts of schools"
            of, listed, owner = (self.things[mark] for mark in match.groups())
            if of.table == listed.table and of.column in names(of.table):
                self.things[match[1]] = Ref(owner.table, next(iter(names(owner.table)), None))
        for match in re.finditer(r"C\d+", self.text):
            before = self.text[: match.start()]
            counted = any(one.function and one.at < match.start() for one in reading.select)
            aside = grammar.PLACE.search(before) or (counted and not grammar.LISTED.search(before))
            asked = self.in_head(match.start()) and not (reading.select and aside)
            if asked or match.start() in along:
                reading.select.append(Item(match.start(), self.things[match[0]]))
                reading.distinct |= bool(re.search(rf"{grammar.DISTINCT} (?:\S+ )?$", before))
        if along.issuperset(one.at for one in reading.select):
            self._select_table()
        self._select_named()
        once = {
            (one.of.table.id, one.of.words, one.function): one for one in reversed(reading.select)
        }
        reading.select = sorted(once.values(), key=lambda one: one.at)

    def _along(self) -> Iterator[int]:
        """Where columns are that rows come with: "orders with the customer's name"."""
        for match in grammar.ALONG.finditer(self.text):
            yield from (match.start() + one.start() for one in re.finditer(r"C\d+", match[0]))

    def _select_table(self) -> None:
        """Rows of a table by their names, or all of it."""
        whole = re.search(r"\b(?:information|everything|records|rows|details)\b", self.text)
        # The last of names that stand together is what is meant: "school orders".
        heads = [
            one for one in re.finditer(r"(?:T\d+ )*(T\d+)", self.text) if self.in_head(one.start())
        ]
        if whole and self.in_head(whole.start()):
            self.reading.everything = True
            self.reading.counted += [self.things[one[1]].table for one in heads[:1]]
            return
        table = self.things[heads[0][1]].table if heads else self.main
        moment = self._time_column() if self.text.startswith(("when ", "wann ")) else None
        if heads:
            before = self.text[: heads[0].start()]
            self.reading.distinct = bool(re.search(rf"{grammar.DISTINCT} (?:\S+ )?$", before))
        columns = [moment] if moment else [Ref(table, one) for one in names(table)]
        self.reading.select += [Item(0, one) for one in columns]
        self.reading.select += [item for item in self._asked_too() if item.of.table != table]

    def _select_named(self) -> None:
        """Names that are asked for beside columns, and those of a table that stands in a list with
        another which it joins: "names of conductors and the orchestras they have conducted"."""
        reading = self.reading
        if reading.everything or any(item.function for item in reading.select):
            return
        marks = {one[0]: one.start() for one in re.finditer(r"T\d+", self.text)}
        named = [one["of"] or one["before"] for one in grammar.NAMES_OF.finditer(self.text)]
        read = {table.id for table in reading.tables}
        for mark, at in marks.items():
            of = self.things[mark].table
            listed = of.id not in read and grammar.LISTED.search(self.text[:at])
            joins = any(frozenset((of.id, table)) in self.joined for table in read)
            if self.in_head(at) and (mark in named or (listed and joins)):
                reading.select += [Item(at, Ref(of, one)) for one in names(of)]

    def _asked_too(self) -> Iterator[Item]:
        """The names of all that is asked for: "which customers ordered which products"."""
        for match in grammar.WHICH.finditer(self.text) if grammar.WHICH.match(self.text) else ():
            table = self.things[match[1]].table
            yield from (Item(match.start(1), Ref(table, one)) for one in names(table))

    def _absent(self) -> None:
        """Tables that rows must have nothing in: "without any concerts"; "never delivered" where
        each row tells when. Where rows of one must meet conditions, the denial stays open.
        """
        shown = {item.of.table.id for item in self.reading.select}
        shown |= {one.of.table.id for one in self.reading.where} if shown else set()
        for match in re.finditer(r"[CT]\d+", self.text):
            table, column = self.things[match[0]].table, self.things[match[0]].column
            said = " ".join(self.links.words[int(match[0][1:]) : self.ends[match[0]]])
            rows = column is None or (grammar.DEED.fullmatch(said) and not column.profile.nulls)
            if rows and shown and table.id not in shown and self._negated(match.start()):
                self.reading.absent.append(table)
                self.blank(*match.span())

    def _settle(self) -> None:
        """Groups that follow from what is selected, and an order that names no column."""
        reading = self.reading
        counted = bool(reading.having) or any(item.function for item, _ in reading.order)
        if reading.group and not counted:
            self._fold()
        plain = [item for item in reading.select if not item.function]
        folded = len(plain) < len(reading.select)
        reading.where.sort(key=lambda one: one.at)
        reading.both = "both " in self.text and not reading.order and not folded
        for number, (one, other) in enumerate(pairwise(reading.where), start=1):
            between = self.text[one.at : other.at].split()
            if "or" in between and "and" not in between:
                reading.where[number] = replace(other, either=True)
        if not reading.group and (folded or counted) and (plain or not folded):
            reading.group = list(plain)
        if reading.group and folded and not plain:
            reading.select = sorted([*self._shown(), *reading.select], key=lambda item: item.at)
        elif reading.group:
            shown = [item for item in reading.group if item.unit and item not in reading.select]
            reading.select = [*shown, *reading.select]
        first = reading.select[0] if reading.select else None
        reading.order = [
            (first if item.at == -1 and first else item, down) for item, down in reading.order
        ]
        if reading.group:
            reading.distinct = False
        else:
            reading.order = [one for one in reading.order if not folded and not one[0].function]

    def _unread(self) -> Iterator[str]:
        """Words that could mean something, and have no part in what was read."""
        reading = self.reading
        used = {word for of in reading.refs for word in stems(f"{of.table.name} {of.words}")}
        used |= {word for one in reading.where for word in stems(one.words)}
        folded = any(item.function in ("max", "min") for item in reading.select)
        ranked = bool(reading.limit or reading.order) or folded
        for match in grammar.NOT.finditer(self.text):
            yield f"{match[0]}'t" if self.text.startswith(" t ", match.end()) else match[0]
        yield from ("may" for _ in grammar.MAY.finditer(self.links.text) if "may" in self.text)
        for word in dict.fromkeys(re.findall(r"(?<!\S)[^\W\d_]{3,}(?!\S)", self.text)):
            unranked = grammar.SUPERLATIVES.fullmatch(word) and not ranked
            if grammar.AVERAGES.fullmatch(word) or unranked:
                yield word
                continue
            shapes = word in SHAPING or grammar.SHAPES.fullmatch(word) is not None
            if (
                word in self.links.content
                and not shapes
                and not grammar.NOT.fullmatch(word)
                and not any(akin(word, one) for one in used)
            ):
                yield word

    def _dropped(self) -> Iterator[str]:
        """What the question names, by its words there, and no part is of."""
        tables = {table.id for table in self.reading.tables}
        columns = {(of.table.id, of.words) for of in self.reading.refs if of.column}
        absent = {table.id for table in self.reading.absent}
        for match in re.finditer(r"[CT]\d+", self.text):
            of = self.things[match[0]]
            read = (of.table.id, of.words) in columns if of.column else of.table.id in tables
            read |= of.table.id in absent
            start, end = int(match[0][1:]), self.ends[match[0]]
            words = self.links.text[self.links.at[start][0] : self.links.at[end - 1][1]]
            if not read and not (of.column and grammar.DEED.fullmatch(words)):
                yield words

    def _fold(self) -> None:
        """What is asked for per group is counted or summed; of each thing, it is only listed."""
        reading = self.reading
        if any(item.function for item in reading.select):
            return
        if not reading.per:
            reading.group = []
            return
        sums = [
            item
            for item in reading.select
            if self.text.startswith("C", item.at)
            and measured(item.of.column)
            and not identifies(item.of.words)
        ]
        reading.select = [replace(item, function="sum") for item in sums] or [
            Item(0, Ref(self.main), "count")
        ]

    def _shown(self) -> Iterator[Item]:
        """What tells the groups of a query apart."""
        for item in self.reading.group:
            if item.of.column is not None:
                yield item
            else:
                yield from (Item(item.at, Ref(item.of.table, one)) for one in names(item.of.table))


def _without_plural(text: str) -> str:
    """A text that both of its forms have: of *desks* it is *desk*, of what is shorter itself."""
    forms = [form for form in other_forms(text) if len(form) >= _PART and text.startswith(form)]
    return min(forms, key=len, default=text)


def _function(word: str) -> str:
    return next(name for name, words in grammar.FUNCTIONS.items() if re.fullmatch(words, word))


def measured(column: Column | None) -> bool:
    """Whether a column holds numbers, be they stored as text."""
    if column is None or column.profile.kind in NUMBERS:
        return column is not None
    examples = column.profile.examples
    return bool(examples) and all(re.fullmatch(r"-?[\d.,]*\d", one) for one in examples)


def key(table: Table) -> Column | None:
    """The column that tells a table's rows apart."""
    if len(table.keys.primary) == 1:
        return table.column(table.keys.primary[0])
    unique = [column for column in table.columns if column.profile.unique]
    return next((one for one in unique if identifies(one.name)), unique[0] if unique else None)


def names(table: Table) -> list[Column]:
    """The columns by which people call a table's rows: a name, or a first and a last one."""
    own, ends = set(stems(table.name)), set(map(stem, _NAMED))
    texts = [one for one in table.columns if one.profile.kind is Kind.TEXT]
    said = {one.name: stems(one.name) for one in texts}
    named = [one for one in texts if said[one.name] and said[one.name][-1] in ends]
    bare = [one for one in named if not set(said[one.name]) - own - ends]
    bare += [one for one in texts if set(said[one.name]) == own]
    parts = [one for one in named if _PARTS & set(said[one.name])]
    unique = key(table)
    return bare[:1] or parts[:2] or named[:1] or ([unique] if unique else [])
