"""Words of names against a count in plain Python."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.domain import Column, ColumnProfile, Kind, Table, TableId
from dovetail.search.lexical import Lexical
from dovetail.search.query import query_words, stems
from tests.support.searchers import part_of

PROFILE = ColumnProfile(
    kind=Kind.TEXT, nulls=0, distinct=0, unique=False, minimum=None, maximum=None,
    min_length=None, max_length=None, examples=(),
)  # fmt: skip
WORDS = ("dept", "department", "depart", "name", "id", "town", "townsfolk", "a", "größe", "街")


def table(number: int, name: str, *columns: str) -> Table:
    return Table(
        TableId(f"s{number:03}", name),
        tuple(Column(column, "TEXT", PROFILE) for column in columns),
        rows=1,
        sample=(),
        digest="",
    )


def slow(tables: list[Table], word: str) -> tuple[float, dict[int, tuple[float, float]]]:
    """The weight of a word, and by table how well it fits and which part of the name it is."""
    names = [stems(one.name) for one in tables]
    rest = [[stem for column in one.columns for stem in stems(column.name)] for one in tables]
    count = len(tables)
    mean = sum(len(a) + len(b) for a, b in zip(names, rest, strict=True)) / count

    def rarity(stem: str) -> float:
        have = sum(stem in a or stem in b for a, b in zip(names, rest, strict=True))
        rare = math.log(1 + (count - have + 0.5) / (have + 0.5)) / math.log(count + 1)
        return min(1.0, rare)

    def alike(stem: str) -> float:
        if stem == word:
            return 1.0
        short, long = sorted((stem, word), key=len)
        return 0.6 if len(word) >= 4 and len(short) >= 3 and long.startswith(short) else 0.0

    known = {stem for part in (*names, *rest) for stem in part}
    close = [word] if word in known else [stem for stem in known if alike(stem)]
    found: dict[int, tuple[float, float]] = {}
    for place, (name, others) in enumerate(zip(names, rest, strict=True)):
        soft = math.sqrt(0.6 + 0.4 * (len(name) + len(others)) / mean)
        whole = sum(rarity(stem) for stem in set(name))
        match = [alike(stem) * (1.0 if stem in name else 2 / 3) / soft for stem in {*name, *others}]
        share = [alike(stem) * rarity(stem) / whole for stem in set(name)]
        if max(match, default=0.0) > 0:
            found[place] = (max(match), max(share, default=0.0))
    return max((rarity(stem) for stem in close), default=1.0), found


names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("_".join)


@given(
    st.lists(st.tuples(names, st.lists(names, max_size=4)), min_size=1, max_size=8),
    st.sampled_from([*WORDS, "departing", "unknown", "to"]),
)
def test_a_term_is_what_a_plain_count_says(
    given_tables: list[tuple[str, list[str]]], said: str
) -> None:
    tables = [table(n, name, *columns) for n, (name, columns) in enumerate(given_tables)]
    (word,) = stems(said)
    term = Lexical.build(tables).term(word)
    weight, found = slow(tables, word)
    assert term.weight == pytest.approx(weight, abs=1e-5)
    assert term.tables.tolist() == sorted(found)
    assert term.match.tolist() == pytest.approx([found[n][0] for n in sorted(found)], abs=1e-5)
    shares = [found[n][1] for n in sorted(found)]
    assert term.name_share.tolist() == pytest.approx(shares, abs=1e-5)
    every = [found.get(place, (0.0, 0.0))[0] for place in range(len(tables))]
    assert term.match_of(np.arange(len(tables))).tolist() == pytest.approx(every, abs=1e-5)


def test_rare_words_weigh_more_and_a_name_counts_more_than_a_column() -> None:
    tables = [table(0, "orders", "town"), table(1, "town", "id"), table(2, "shelf", "id")]
    lexical = Lexical.build(tables)
    town, shelf, unknown = (lexical.term(word) for word in ("town", "shelf", "xylophone"))
    assert shelf.weight > town.weight
    assert (unknown.weight, unknown.tables.tolist()) == (1.0, [])
    assert town.tables.tolist() == [0, 1]
    assert town.match[1] > town.match[0]
    assert town.name_share.tolist() == [0.0, 1.0]


def test_what_is_kept_says_the_same(tmp_path: Path) -> None:
    lexical = Lexical.build([table(0, "größe_街", "a b"), table(1, "depts")])
    lexical.save(tmp_path)
    again = Lexical.load(part_of(tmp_path))
    for word in ("größ", "街", "dept", "department", "nothing"):
        one, two = lexical.term(word), again.term(word)
        assert (one.weight, one.match.tolist()) == (two.weight, two.match.tolist())
        assert one.tables.tolist() == two.tables.tolist()


def test_no_tables() -> None:
    term = Lexical.build([]).term("town")
    assert (term.weight, term.tables.tolist()) == (1.0, [])


def test_a_question_is_read_for_its_distinct_words() -> None:
    assert query_words("Show the singers, and every singer's NAME in 2014!") == {
        "sing": "singers",
        "name": "name",
        "2014": "2014",
    }
    assert len(query_words(" ".join(f"word{n}x" for n in range(9_000)))) == 400
    assert query_words("") == query_words("what of the") == {}


def test_a_slip_of_the_pen_finds_the_word() -> None:
    index = Lexical.build([table(0, "received_orders", "order_no"), table(1, "receipts", "total")])
    assert index.term("reciev").tables.tolist() == [0]
    assert index.term("receipt").tables.tolist() == [1]
    assert index.corrected("reciev", "recieved") == "received"
    assert index.corrected("receiv", "received") == "received"


def test_a_common_word_is_no_slip_of_another() -> None:
    index = Lexical.build([table(0, "patients", "ward"), table(1, "trials", "drug")])
    assert index.term("patent").tables.tolist() == []
    assert index.term("patiet").tables.tolist() == [0]


def test_a_word_is_held_against_the_words_of_a_catalog_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expanded, looked_up = Lexical._expanded, list[str]()

    def counted(self: Lexical, word: str) -> object:
        looked_up.append(word)
        return expanded(self, word)

    monkeypatch.setattr(Lexical, "_expanded", counted)
    index = Lexical.build([table(0, "department", "town"), table(1, "townsfolk")])
    for _ in range(3):
        assert index.corrected("townsflok", "townsflok") == "townsfolk"
        assert index.term("townsflok").expansions[0][0] == "townsfolk"
    assert looked_up == ["townsflok"]
