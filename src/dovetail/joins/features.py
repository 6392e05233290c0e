"""The features of a foreign key: what names, values and positions say for and against a candidate.

Each is in [0, 1]; the weights say what it adds to the logit. How much values say is measured by
self-information: how unlikely chance is to put a column's values into another column. Ids 1..n are
in many columns; sparse numbers and text that few tables hold are not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, firsts, once
from dovetail.joins.candidates import Candidates
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.sketches import commonness
from dovetail.names.references import References, abbreviates
from dovetail.names.table_name import CopyMarks, entity
from dovetail.names.words import (
    Words,
    counts,
    has_id_word,
    identifies,
    is_position,
)


@dataclass(frozen=True, slots=True)
class JoinWeights:
    """Log-odds in nats, each with its reason; everything else is an equation."""

    prior: float = -4.5  # an inclusion with nothing else for it: one in ninety is a key
    name: float = 6.0  # a child named after the parent outweighs the prior, with something to spare
    value: float = 3.0  # values that no chance puts together; doubled where the names say nothing
    key: float = 2.0  # the parent stands where keys stand: first, id-word, named after its table
    own: float = 4.0  # the child is its own table's key: undoes most of a matching name
    measure: float = 3.0  # the child is a number without an id-word: rank, year, count
    orphan: float = 10.0  # per unit of rows without a parent: 5% of noise cost half a nat
    repeat: float = 5.0  # per unit of key rows entered twice: 10% cost half a nat
    few: float = 4.0  # the parent is no key of its table, only unique in a handful of rows
    title: float = 8.0  # the parent is what a row is called, which by its name the child does not
    cover: float = 0.5  # per e-fold of the parent's values unused: prefer the one in use
    convention: float = 2.0  # the same naming convention, one nat either way around neutral
    exact: float = 0.5  # the same column name to the letter: breaks ties between competitors only
    master: float = 8.0  # of two parents never the copy, however much nearer it is
    prefix: float = 3.0  # E00123 of employee 123; 0.7 of it for a single letter
    fit: float = 4.0  # two running numbers that end alike, at most: by chance they would not
    source: float = 1.0  # both tables are of one source: of look-alikes, the one next to it
    across: float = 1.5  # the tables are of two systems; twice this where values say nothing
    code: float = 3.0  # ten codes in common, such as policy numbers, are more than rare values
    complete: float = 10.0  # of two parents the one that has the rows, per unit of those lacking
    partial: float = 4.0  # per unit of rows without a parent in another system, by codes
    transform: float = 1.0  # values match only after a transform: below an equal match as they are
    sharp: float = 6.0  # a competitor weighs 1/e for every sixth of a nat it is weaker
    competitor: float = 0.693  # every equal competitor halves the odds
    clash: float = 6.0  # two tables of one name in one database: as good as excluded
    turned: float = 20.0  # of two keys that hold each other's values the weaker is no parent
    proof: float = 5.0  # nats at which a chance inclusion is out of the question
    later: float = (
        0.5  # of a table's days, at most, those that it is not named after or begins with
    )
    apart: float = 3.0  # the tables are of two databases, and values say nothing
    least: float = -1.0  # the logit below which a candidate neither becomes an edge nor competes


WEIGHTS = JoinWeights()


# A likeness of naming conventions that speaks neither for nor against.
NEUTRAL = 0.5
# Numbers from which on it means something where they end, the same of such as have a base, and
# nats that this says at most.
_RUN, _BASED, _MOST_FIT = 20, 8, 4.0
# How much higher than a column a key may end to end alike.
_NEAR = 0.02
# Values from which on they say something of a column that is called by nothing of the other.
_SOME = 4
# How much more than a number of any other name one that is called a count is a measure.
_COUNT = 2.0
# Values from which on a column is not unique for want of rows.
_FEW = 20
# Codes in common that are no chance, and the share of rows that a system's own key must find.
_CODES, _ALL_ROWS = 10, 0.95
# Values from which on a list is one, and how uncommon they must be, and how much its key like one.
_LIST, _UNCOMMON, _LIKE_A_KEY = 5, 0.5, 0.5
# The share of rows that must be in a key for them to miss its gaps, and nats that settle it.
_ALL_IN, _GAPS, _ENDS = 0.99, 20.0, 5.0
# How surely two keys hold the same numbers for that to tell by itself, and how far names or letters
# say that they do, for it to tell between systems.
_SURE, _SAID = 0.5, 0.5
# Distinct words from which on a column may hold codes of a master.
_SEVERAL = 8
# How much what a row is called looks like a key, at most.
_TITLE = 0.25
# Twice the sparsity above which values are distinctive.
_DISTINCTIVE = 0.05


@dataclass(frozen=True, slots=True)
class ValueInformation:
    """Per column, how informative it is that another column has its values."""

    sparsity: Floats  # self-information of a number's being in it, over `JoinWeights.proof`
    rarity: Floats  # how few tables hold its values, by those sampled from it
    common: Floats  # ln of how many tables hold one of them, on average


def value_information(arrays: ColumnArrays) -> ValueInformation:
    """The self-information of each column's values, from its range and from who else holds them."""
    common = commonness(arrays.values, arrays.table)
    live = int((arrays.rows > 0).sum())
    rarity = np.where(arrays.distinct > 0, np.log(max(live, 1)) - common, 0.0)
    rarity /= np.log(max(live / 2, 2))
    return ValueInformation(value_sparsity(arrays), rarity, common)


def value_sparsity(arrays: ColumnArrays) -> Floats:
    """The self-information of a number's being in each column, over `JoinWeights.proof`."""
    largest = np.maximum(np.abs(arrays.low), np.abs(arrays.high))
    finite = arrays.number & np.isfinite(largest)
    # Chance puts a number into a key of n values up to m with n/m; text is never dense.
    share = np.where(finite, arrays.distinct / (np.where(finite, largest, 0) + 1), 0.0)
    nats: Floats = -np.log(np.clip(share, np.exp(-WEIGHTS.proof), 1))
    return nats / WEIGHTS.proof


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """An entry for each column."""

    # As child or parent.
    rarity: Floats  # how few tables hold its values
    code: Flags  # its values mean the same thing wherever they stand
    word: Flags  # each value is one word, and there are several
    period: Flags  # it holds days or months, and is not called a key of them
    calendar: Flags  # it holds the days of a calendar
    names_key: Flags  # its name has an id-word
    counter: Flags  # it stands first and is unique: its table's own numbers
    # As a child.
    own: Floats  # how far it is its own table's key
    plain: Floats  # it is a number without an id-word
    first_day: Floats  # 1 for the day its table is named in or has first, a half for the next
    counts: Flags  # it is called a count of something
    position: Flags  # it is called the place of a row among others, such as a line's number
    # As a parent.
    sparsity: Floats  # how little chance puts a number into it
    key: Floats  # how much it looks like a key
    own_key: Floats  # how far a reference to what it is called is one to its table
    repeat: Floats  # share of its rows whose value is another's too
    few: Floats  # how far it is unique for want of rows: no key of its table, and few values
    title: Flags  # it is text that no code is, and looks like no key

    @classmethod
    def of(
        cls,
        arrays: ColumnArrays,
        names: Encoded[str],
        information: ValueInformation,
        references: References,
    ) -> ColumnFacts:
        """The facts about all columns."""
        every = np.arange(len(arrays))
        id_word, count_word, position, key_word = (
            np.array([says(name) for name in names.dictionary], dtype=np.bool_)[names.codes]
            for says in (identifies, counts, is_position, has_id_word)
        )
        first = arrays.first
        # How far a column is named after its own table, both ways round: the head word must agree.
        own_name = np.minimum(
            references.to_table(every, arrays.table), references.from_table(arrays.table, every)
        )
        own_name[references.bare] = 1.0  # a bare id is the table's own
        key = 0.5 * first + 0.5 * np.maximum(0.5 * id_word, own_name)
        return cls(
            rarity=information.rarity,
            code=arrays.codes,
            word=arrays.words & (arrays.distinct >= _SEVERAL),
            period=arrays.period & ~key_word,
            calendar=arrays.days,
            first_day=_first_days(arrays, own_name > 0),
            names_key=id_word,
            counter=first & arrays.unique,
            own=arrays.key * np.clip(3 * own_name - 1, 0, 1) * np.where(first, 1, 0.5),
            plain=(arrays.number & ~arrays.text & ~id_word).astype(np.float64),
            counts=count_word,
            position=position,
            sparsity=information.sparsity,
            key=key,
            # Two children of one parent share its name too: it counts in full for the own key.
            own_key=(0.5 + 0.5 * np.minimum(2 * key, 1)) * (0.8 + 0.2 * own_name),
            repeat=1 - arrays.distinct / np.maximum(arrays.filled, 1),
            few=np.clip(1 - 2 * key, 0, 1) * np.clip(1 - arrays.distinct / _FEW, 0, 1),
            title=~(arrays.number | arrays.codes) & (key < _TITLE),
        )


@dataclass(frozen=True, slots=True)
class Features:
    """The features of each candidate, in [0, 1]."""

    name: Floats  # the child's words name the parent's table or its key column
    value: Floats  # self-information of the inclusion: how little chance explains it
    key: Floats  # how much the parent looks like a key
    own: Floats  # the child is its own table's key
    measure: Floats  # the child is a plain number
    cover: Floats  # share of the parent's values in use
    orphan: Floats  # share of the child's rows without a parent
    repeat: Floats  # share of the parent's rows whose key is another's too
    few: Floats  # the parent is unique for want of rows alone
    title: Floats  # the parent is what a row is called, and the child is not named after it
    convention: Floats  # likeness of the two tables' naming conventions
    exact: Floats  # the column names are equal to the letter
    copy: Floats  # the parent's table is a copy by its name, and the child's is not
    source: Floats  # both tables are of one source, where sources count
    across: Floats  # they are of two, where sources count
    day: Floats  # the child holds days or months, and is called no key of them
    calendar: Floats  # and the parent those of a calendar; 1 for the first day that its table has
    number: Floats  # the child holds numbers, and no letters before them
    prefix: Floats  # the child's letters in front of a number abbreviate what the parent is about
    fit: Floats  # two sequences of numbers end at the same number, and no other key does
    code: Floats  # how many of ten codes they have in common

    def take(self, chosen: Ints | Flags) -> Features:
        """Those of some candidates."""
        return Features(*(getattr(self, field.name)[chosen] for field in fields(self)))


def ranks(features: Features, logit: Floats) -> Floats:
    """The logit with what decides between competitors only."""
    rank: Floats = logit + WEIGHTS.exact * features.exact + WEIGHTS.source * features.source
    return rank - WEIGHTS.master * features.copy


def local_logits(features: Features) -> Floats:
    """The logit of each candidate by itself: the weighted sum of its features, in nats."""
    w = WEIGHTS
    # Small numbers of two systems, by name alone.
    unproved = features.number * np.clip(1 - features.value - features.fit - features.prefix, 0, 1)
    logit: Floats = (
        w.prior
        + w.name * features.name
        + w.value * features.value * (2 - features.name)
        + w.key * features.key
        - w.own * features.own
        - w.measure * features.measure
        - np.where(features.across * features.value > 0.5, w.partial, w.orphan) * features.orphan
        - w.across * features.across * (1 + unproved)
        + w.code * features.code
        - w.repeat * features.repeat
        - w.few * features.few
        - w.title * features.title
        + w.fit * features.fit * (1 - features.name)
        + w.prefix * features.prefix
        + w.cover * np.log(features.cover)
        + w.convention * (features.convention - 0.5)
    )
    # A day is in every calendar: that says nothing of whether the two belong together. Of the own
    # system's it is kept all the same, and days refer to nothing else.
    own = np.where(features.source > 0, -w.orphan * features.orphan, -np.inf)
    by_days = np.clip(logit, own, 0.0) - w.later * (1 - features.calendar)
    by_days = np.where(features.calendar > 0, by_days, -np.inf)
    return np.where(features.day > 0, by_days, logit)


@dataclass(frozen=True, slots=True)
class RunningNumbers:
    """Columns that hold many numbers, by where these end: of keys 1..n and 1..m only the end tells
    which one a column refers to.

    Per column: its `source`, its smallest and its largest number (`low`, `high`) and its `distinct`
    values, `many` of them or not. `values` are the largest numbers of all keys, and `ends` which
    source has which of them, source by source; keys of one name that end alike count once.
    """

    source: Ints
    low: Floats
    high: Floats
    distinct: Ints
    many: Flags
    values: Floats
    ends: Ints

    @classmethod
    def of(cls, arrays: ColumnArrays) -> RunningNumbers:
        """The columns of a catalog."""
        source = Encoded.of([table.source for table in arrays.ids]).codes[arrays.table]
        high = np.where(arrays.number, arrays.high, np.nan)
        based = arrays.low > arrays.distinct
        many = arrays.distinct >= np.where(based, _BASED, _RUN)
        many &= np.isfinite(high) & (high > 0)
        keys = np.flatnonzero(arrays.key & many)
        values, value = np.unique(high[keys], return_inverse=True)
        names = Encoded.of([arrays.called[key] for key in keys.tolist()]).codes
        both = np.unique(np.stack([source[keys] * (len(values) + 1) + value, names]), axis=1)
        return cls(source, arrays.low, high, arrays.distinct, many, values, both[0])

    def _between(self, source: Ints, low: Floats, high: Floats) -> Ints:
        """How many keys of a source end from one number to another."""
        start = source * (len(self.values) + 1)
        first = start + np.searchsorted(self.values, low, "left")
        last = start + np.searchsorted(self.values, high, "right")
        found: Ints = np.searchsorted(self.ends, last) - np.searchsorted(self.ends, first)
        return found

    def near(self, child: Ints, key: Ints) -> Flags:
        """Whether each column ends where a key does, or hardly before it."""
        own, end = self.high[child], self.high[key]
        both = self.many[child] & self.many[key]
        found: Flags = both & (own <= end) & (end <= (1 + _NEAR) * own)
        return found

    def based(self, key: Ints) -> Flags:
        """Whether the numbers of each key begin beyond how many there are: at 60,000, say."""
        found: Flags = self.many[key] & (self.low[key] > self.distinct[key])
        return found

    def begin(self, child: Ints, key: Ints) -> Floats:
        """What it says that each column begins where a key does whose numbers have a base."""
        nats = np.zeros(len(child))
        both = self.based(key) & self.many[child] & (self.low[child] >= self.low[key])
        both &= self.high[child] <= self.high[key]
        chosen = np.flatnonzero(both)
        own, end = child[chosen], key[chosen]
        span = self.high[end] - self.low[end] + 1
        nats[chosen] = -np.log((self.low[own] - self.low[end]) / span + 1 / self.distinct[own])
        return nats

    def nats(self, child: Ints, key: Ints) -> Floats:
        """What it says that each column ends where a key does: the less, the more keys do."""
        nats = np.zeros(len(child))
        both = self.many[child] & self.many[key] & (self.high[key] >= self.high[child])
        chosen = np.flatnonzero(both)
        own, end = self.high[child[chosen]], self.high[key[chosen]]
        told = -np.log((end - own) / end + 1 / self.distinct[child[chosen]])
        # Keys with ends between the child's and the parent's, and as far again beyond.
        near = self._between(self.source[key[chosen]], own, end + (end - own))
        told -= np.log(np.maximum(near, 1))
        nats[chosen] = told
        return nats


@dataclass(frozen=True, slots=True)
class PairFeatures:
    """Works out the features of pairs of columns, from what each column says by itself.

    Per column: its `table`, the `distinct` values, the `filled` rows, the number of its name
    (`names`), and its `facts`. Per table: the number of its source (`sources`), where
    `sources_count`, and its row of `conventions`.
    """

    table: Ints
    distinct: Ints
    filled: Ints
    names: Ints
    references: References
    facts: ColumnFacts
    conventions: Floats
    copies: CopyMarks
    sources: Ints
    high: Floats
    running: RunningNumbers
    behind_letters: Flags
    prefixes: Encoded[str]
    abouts: Encoded[Words]
    sources_count: bool
    masters: Flags

    @classmethod
    def of_columns(
        cls,
        arrays: ColumnArrays,
        information: ValueInformation,
        conventions: Floats | None = None,
        running: RunningNumbers | None = None,
        masters: Flags | None = None,
    ) -> PairFeatures:
        """`conventions` are the tables', where the columns are not all that these have; `masters`
        are keys whose words are codes (`transforms.masters`)."""
        names = Encoded.of(arrays.spoken_columns)
        references = References.of(names, arrays.spoken_tables)
        return cls(
            table=arrays.table,
            distinct=arrays.distinct,
            filled=arrays.filled,
            names=names.codes,
            references=references,
            facts=ColumnFacts.of(arrays, names, information, references),
            conventions=arrays.conventions() if conventions is None else conventions,
            copies=CopyMarks.of(arrays.table_names),
            sources=Encoded.of([table.source for table in arrays.ids]).codes,
            high=np.where(arrays.number, arrays.high, np.nan),
            running=running or RunningNumbers.of(arrays),
            behind_letters=arrays.number
            & np.array([bool(p) for p in arrays.prefix], dtype=np.bool_),
            prefixes=Encoded.of(arrays.prefix),
            abouts=Encoded.of([entity(name) for name in arrays.spoken_tables]),
            sources_count=bool(arrays.thresholds.sources),
            masters=np.zeros(len(arrays), dtype=np.bool_) if masters is None else masters,
        )

    def upper_bounds(self, child: Ints, parent: Ints) -> Features:
        """The features of pairs as they may be at best, whatever their counts are: every row is
        found, the conventions are the same."""
        shared = np.minimum(self.distinct[child], self.distinct[parent])
        candidates = Candidates(child, parent, shared, self.filled[child])
        return self.of(candidates, np.ones(len(child)))

    def of(self, candidates: Candidates, convention: Floats | None = None) -> Features:
        """The features of each candidate; `convention` is how alike the tables' names are."""
        child, parent = candidates.child, candidates.parent
        facts, tables = self.facts, (self.table[child], self.table[parent])
        if convention is None:
            convention = self._convention(*tables)
        to_table = self.references.to_table_or_people(child, tables[1])
        to_column = self.references.to_column(child, parent)
        name = np.maximum(to_table, to_column * facts.own_key[parent])
        value = self._value(facts, child, parent)
        # Yes, no and perhaps are in many columns, and mean something else in each.
        number = np.isfinite(self.high[child])
        value[(self.distinct[child] < _SOME) & ~number & (name == 0)] = 0.0
        across, gaps = self._across(*tables), self._gaps(candidates)
        value = np.maximum(value, gaps)
        exact = (self.names[child] == self.names[parent]).astype(np.float64)
        code, none = self._code(candidates, across, value), np.zeros(len(child))
        features = Features(
            name=name,
            value=value,
            key=facts.key[parent],
            own=self._own(candidates, across, code, gaps),
            measure=self._measure(candidates, across, (to_table, to_column, exact), gaps),
            cover=candidates.shared / self.distinct[parent],
            orphan=1 - candidates.rows / self.filled[child],
            repeat=facts.repeat[parent],
            few=facts.few[parent],
            title=facts.title[parent] * np.clip(2 - 3 * name, 0, 1),
            convention=np.where(across > 0, np.maximum(convention, NEUTRAL), convention),
            exact=exact,
            copy=self.copies.copied(*tables),
            source=self.sources_count - across,
            across=across,
            day=facts.period[child].astype(np.float64),
            calendar=facts.period[child] * facts.calendar[parent] * facts.first_day[child],
            number=(number & ~self.behind_letters[child]).astype(np.float64),
            prefix=self._prefix(child, parent),
            fit=none,
            code=code,
        )
        if not self.sources_count:
            return features
        return replace(features, fit=self._fit(child, parent, features))

    def _own(self, candidates: Candidates, across: Floats, code: Floats, gaps: Floats) -> Floats:
        """How far each child is its own table's key, and no other."""
        child, parent = candidates.child, candidates.parent
        # Codes of one system's key in another's, or the same numbers: two masters of one domain.
        codes = np.where(np.isfinite(self.high[child]), 0, code)
        twins = np.maximum(gaps, self._twins(child, parent))
        masters = across * np.maximum(codes, twins)
        own: Floats = self.facts.own[child] * (1 - masters)
        return own

    def _measure(
        self,
        candidates: Candidates,
        across: Floats,
        names: tuple[Floats, Floats, Floats],
        gaps: Floats,
    ) -> Floats:
        """How far each child is a number that refers to nothing: by `names`, how far it is called
        after the table, and as the key, and whether to the letter."""
        child, parent, facts = candidates.child, candidates.parent, self.facts
        to_table, to_column, exact = names
        role = self.references.by_role(child, self.table[parent])
        # Called as the key is that it is found in, a number is no measure: by an id-word, or to the
        # letter as the first column of a table of its own system.
        first = self.sources_count * (1 - across) * facts.counter[parent] * exact
        same = np.where(facts.names_key[parent] | (first > 0), to_column, 0)
        measure = facts.plain[child] * np.minimum(np.where(role, 0, 1 - to_table), 1 - same)
        measure = measure * (1 - self._from_end_to_end(candidates, across, gaps))
        measure = np.where(facts.counts[child], facts.plain[child] * _COUNT, measure)
        told: Floats = np.maximum(measure, facts.position[child] * (_COUNT - exact) * (1 - gaps))
        return told

    def _codes(self, child: Ints, parent: Ints) -> Flags:
        """Which pairs hold codes: text that is one by itself, or words that are those of a master,
        as the logins of users are."""
        word = self.facts.word[child] & self.masters[parent]
        codes: Flags = (self.facts.code[child] & self.facts.code[parent]) | word
        return codes

    def _code(self, candidates: Candidates, across: Floats, value: Floats) -> Floats:
        """How many of ten codes two columns have in common. A system's own key refers to another of
        its keys with all its rows or none. A list that two systems have, all of it and no more, is
        one however short it is, if few tables have its values."""
        child, parent, facts = candidates.child, candidates.parent, self.facts
        codes = self._codes(child, parent)
        wholly = candidates.rows >= _ALL_ROWS * self.filled[child]
        codes &= ~((across == 0) & facts.counter[child] & facts.names_key[child] & ~wholly)
        code: Floats = np.where(codes, np.minimum(candidates.shared / _CODES, 1), 0.0)
        size = np.maximum(self.distinct[child], self.distinct[parent])
        whole = (across > 0) & ~np.isfinite(self.high[child]) & (candidates.shared == size)
        whole &= (size >= _LIST) & (value >= _UNCOMMON) & (facts.key[parent] >= _LIKE_A_KEY)
        return np.where(whole, 1.0, code)

    def _within(self, candidates: Candidates) -> Flags:
        """Whether all of a column's rows are in a table's own numbers, where sources count."""
        parent = candidates.parent
        within = self.running.many[parent] & self.facts.counter[parent] & self.sources_count
        within &= candidates.rows >= _ALL_IN * self.filled[candidates.child]
        flags: Flags = within
        return flags

    def _gaps(self, candidates: Candidates) -> Floats:
        """How surely numbers are those of a key, as all of them miss its gaps: 1001, 1005 and 1013
        are persons, if these are their numbers."""
        child, parent, running = candidates.child, candidates.parent, self.running
        # Between the child's ends the key has no more values than it has at all.
        span = np.maximum(running.high[child] - running.low[child] + 1, self.distinct[parent])
        nats = self.distinct[child] * np.log(span / np.maximum(self.distinct[parent], 1))
        told = np.clip(np.nan_to_num(nats) / _GAPS, 0, 1)
        gaps: Floats = np.where(self._within(candidates) & running.many[child], told, 0.0)
        return gaps

    def _from_end_to_end(self, candidates: Candidates, across: Floats, gaps: Floats) -> Floats:
        """How surely numbers are no measure, as they miss the gaps of a key of their own system, or
        begin and end where it does and have a base: 201 to 248."""
        child, parent, running = candidates.child, candidates.parent, self.running
        ends = running.begin(child, parent) + running.nats(child, parent)
        based = running.based(parent) & self._within(candidates)
        ends = np.where(based, np.clip(ends / _ENDS, 0, 1), 0.0)
        told: Floats = np.where(across == 0, np.maximum(gaps, ends), 0.0)
        return told

    def _twins(self, child: Ints, parent: Ints) -> Floats:
        """How surely two columns hold the same numbers: with a base, from end to end."""
        running = self.running
        span = np.maximum(running.high[parent] - running.low[parent], 1)
        end = (running.high[parent] - running.high[child]) / span + 1 / self.distinct[child]
        begin, nats = running.begin(child, parent), running.nats(child, parent)
        nats = np.minimum(np.minimum(begin, nats), -np.log(np.maximum(end, 1e-9)))
        told: Floats = np.where(begin > 0, np.clip(np.nan_to_num(nats) / _MOST_FIT, 0, 1), 0.0)
        return told

    def _prefix(self, child: Ints, parent: Ints) -> Floats:
        """How far the letters before the child's numbers abbreviate what the parent is about."""

        def compare(prefix: Ints, about: Ints) -> Floats:
            letters, abouts = self.prefixes.dictionary, self.abouts.dictionary
            pairs = zip(prefix.tolist(), about.tolist(), strict=True)
            return np.array([abbreviates(letters[p], abouts[a]) for p, a in pairs])

        far = np.zeros(len(child))
        some = np.flatnonzero(self.behind_letters[child])
        prefixes = self.prefixes.codes[child[some]], len(self.prefixes.dictionary)
        abouts = self.abouts.codes[self.table[parent[some]]], len(self.abouts.dictionary)
        far[some] = once(compare, prefixes, abouts)
        return far

    def own_letters(self, child: Ints, parent: Ints) -> Flags:
        """Whether the letters before the numbers of a table's own key abbreviate what that table is
        about, and the parent has none: PO-1001 is an order, whatever else is numbered so."""
        own = self.facts.counter[child] & ~self.behind_letters[parent]
        letters: Flags = own & (self._prefix(child, child) > 0) & (self._prefix(child, parent) == 0)
        return letters

    def _fit(self, child: Ints, parent: Ints, features: Features) -> Floats:
        """How exactly a sequence of numbers ends where a key does, in shares of `WEIGHTS.fit`. What
        counts ends nowhere; between two systems, and of a table's own numbers, it means nothing by
        itself."""
        begin = np.clip(self.running.begin(child, parent), 0, None)
        told = np.clip((self.running.nats(child, parent) + begin) / _MOST_FIT, 0, 1)
        told *= np.clip(1 - features.measure, 0, 1)
        # One of two with letters before its numbers is of something else, unless they say of what.
        alike = self.behind_letters[child] == self.behind_letters[parent]
        alone_tells = ((features.across == 0) & alike) | (begin > 0)
        alone_tells &= ~self.facts.counter[child]
        alone_tells |= self._twins(child, parent) > _SURE
        # A word of another language begins with any letter, by chance.
        said = np.maximum(features.name, features.prefix) > _SAID
        fit: Floats = np.where(alone_tells | said, told, 0.0)
        return fit

    def _across(self, left: Ints, right: Ints) -> Floats:
        """1 for two tables of different sources, unless sources are not to count."""
        if not self.sources_count:
            return np.zeros(len(left))
        apart: Floats = (self.sources[left] != self.sources[right]).astype(np.float64)
        return apart

    def _value(self, facts: ColumnFacts, child: Ints, parent: Ints) -> Floats:
        # A second value settles it.
        sparsity = facts.sparsity[parent] * np.minimum(self.distinct[child], 2)
        # However many tables hold an e-mail address, it is the same one.
        both = self._codes(child, parent)
        rarity = np.minimum(facts.rarity[child], facts.rarity[parent])
        value: Floats = np.clip(np.where(both, sparsity, np.minimum(sparsity, rarity)), 0, 1)
        return value

    def _convention(self, left: Ints, right: Ints) -> Floats:
        """Likeness of two tables' naming conventions, for many pairs of tables."""
        return once(
            lambda i, j: np.einsum("ij,ij->i", self.conventions[i], self.conventions[j]),
            (left, len(self.conventions)),
            (right, len(self.conventions)),
        )


def _first_days(arrays: ColumnArrays, named: Flags) -> Floats:
    """How early each column of days is in its table, those `named` after it before others."""
    days = np.flatnonzero(arrays.period)
    days = days[np.lexsort((arrays.position[days], ~named[days], arrays.table[days]))]
    starts = firsts(arrays.table[days])
    place = np.arange(len(days)) - np.repeat(starts, np.diff(np.append(starts, len(days))))
    early = np.zeros(len(arrays))
    early[days] = 1 / (1 + place)
    return early


@dataclass(frozen=True, slots=True)
class UpperBounds:
    """Pairs that are worth counting: something speaks for them, and their logit may reach the least
    that counts. Where `running` numbers of two columns end alike, that is enough to be looked at.
    """

    features: PairFeatures
    running: bool

    @property
    def _distinctive(self) -> Flags:
        """Columns whose values may prove something, if few tables hold them."""
        return 2 * self.features.facts.sparsity > _DISTINCTIVE

    @property
    def child_kind(self) -> Ints:
        """A number for all that decides which keys each column may refer to, but for its values."""
        return 2 * self.features.references.called + self._distinctive

    @property
    def key_kind(self) -> Ints:
        """The same for keys, whose tables count too."""
        references = self.features.references
        return self.child_kind + 2 * references.columns * references.about[self.features.table]

    def eligible(self, child: Ints, key: Ints) -> Flags:
        """Whether each pair is distinctive, or named alike, or ends alike."""
        distinctive, references = self._distinctive, self.features.references
        eligible: Flags = distinctive[child] & distinctive[key]
        rest = np.flatnonzero(~eligible)
        own, other = child[rest], key[rest]
        eligible[rest] = references.to_table_or_people(own, self.features.table[other]) > 0
        eligible[rest] |= references.to_column(own, other) > 0
        if self.running:
            eligible |= self.features.running.near(child, key)
        return eligible

    def within(self, child: Ints, parent: Ints) -> Flags:
        """Whether each pair is within bound."""
        best = self.features.upper_bounds(child, parent)
        return local_logits(best) > WEIGHTS.least
