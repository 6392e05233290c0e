"""Pools and questions that the set scorer is trained on besides those of its corpora.

A pool of real databases is tidy and its questions are whole sentences. Companies' names are
abbreviated, tables have copies and staging tables beside them, a pool is a handful of systems or
hundreds, and people type keywords. `messy` writes a corpus of the first kind out of another one,
`pools` divides databases into pools of many sizes, `keywords` and `named_tables` make short
questions. All is drawn by a seed and by names, so the same corpus gives the same examples.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from dovetail.domain import TableId
from dovetail.names.words import spelled
from dovetail.search.query import is_stop_word
from dovetail_bench.corpus_folder import QUESTIONS
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.questions import Question

SEED = 7
# How many databases a pool has: one application alone, up to a small company.
SIZES = (2, 4, 8, 16, 24, 40)
# Tables of a messy corpus need not be as long as those they are made from.
MOST_ROWS = 2000
COPIED, IN_STAGING, OFTEN_KEPT = 0.25, 0.5, 0.85
COPY_NAMES = (
    "{}_bak", "{}_old", "{}_copy", "tmp_{}", "{}_archive", "stg_{}", "raw_{}", "{}_v2", "{}_export",
    "dim_{}", "{}_snapshot", "{}_import",
)  # fmt: skip
WHOLE = ("{}", "all {}", "list the {}", "show {}", "the {}", "how many {}", "{} list", "every {}")
OF_TWO = ("{} and {}", "{} per {}", "{} with their {}", "{} by {}", "{} of each {}", "{} {}")
_VOWEL = re.compile(r"(?<=\w)[aeiou]", re.IGNORECASE)
_LONG = 5


def pools(databases: Iterable[str], seed: object) -> list[list[str]]:
    """Databases divided into pools whose sizes are drawn from SIZES."""
    rng = Random(f"{SEED}/{seed}")
    left = sorted(databases)
    rng.shuffle(left)
    found = []
    while left:
        size = rng.choice(SIZES)
        found.append(sorted(left[:size]))
        left = left[size:]
    return found


def keywords(text: str) -> str:
    """A question as somebody types it into a search box: the words that name something.

    >>> keywords("How many heads of the departments are older than 56 ?")
    'heads departments older 56'
    """
    words = (word.strip("?.,;:!\"'()") for word in text.split())
    return " ".join(word for word in words if word and not is_stop_word(word.casefold()))


def named_tables(
    tables: Sequence[TableId], joined: Mapping[TableId, Sequence[TableId]], seed: object
) -> Iterator[Question]:
    """Questions of a few words that name a table of a pool, or two that join.

    A name that several tables of the pool have is left out: no word says which of them is meant.
    """
    said = {table: spelled(table.name).casefold() for table in tables}
    count = Counter(said.values())
    plain = [
        table
        for table in tables
        if count[said[table]] == 1 and all(len(word) > 2 for word in said[table].split())
    ]
    for table in plain:
        rng = Random(f"{SEED}/{seed}/{table}")
        text = rng.choice(WHOLE).format(_many(said[table], rng))
        yield Question(f"whole {table}", text, (table,))
        others = [one for one in joined.get(table, ()) if one in plain and one != table]
        if others:
            other = rng.choice(sorted(others))
            text = rng.choice(OF_TWO).format(_many(said[table], rng), said[other])
            yield Question(f"two {table}", text, tuple(sorted((table, other))))


def _many(name: str, rng: Random) -> str:
    return name if name.endswith("s") or rng.random() < 1 / 3 else f"{name}s"


@dataclass(frozen=True, slots=True)
class Naming:
    """How the names of one database are abbreviated: a share of words, cut short or squeezed."""

    share: float
    squeezed: bool
    letters: int
    seed: str

    @classmethod
    def of(cls, database: str) -> Naming:
        """The naming convention of a database; of a third of them, names as they are."""
        rng = Random(f"{SEED}/{database}")
        share = rng.choice((0.0, 0.5, 1.0))
        return cls(share, rng.random() < 1 / 2, rng.choice((3, 4)), database)

    def __call__(self, name: str) -> str:
        """A name with some of its words abbreviated, the same word always alike.

        >>> Naming(1.0, False, 4, "shop")("customer_orders"), Naming(1.0, True, 4, "")("address")
        ('cust_orde', 'addrs')
        """
        if not self.share:
            return name
        made = "_".join(map(self._word, spelled(name).split()))
        return made or name

    def _word(self, word: str) -> str:
        keep = Random(f"{self.seed}/{word.casefold()}").random() >= self.share
        if len(word) < _LONG or keep:
            return word
        if not self.squeezed:
            return word[: self.letters]
        squeezed = _VOWEL.sub("", word)
        return re.sub(r"(.)\1", r"\1", squeezed)


def messy(dataset: Dataset, folder: Path) -> Dataset:
    """The corpus with abbreviated names, and copies and staging tables beside its own.

    What was written whole is not made again.
    """
    if not (folder / QUESTIONS).is_file():
        renamed: dict[tuple[str, str], str] = {}
        for group, databases in enumerate(pools(dataset.sources, "systems")):
            staging = folder / "databases" / f"staging_{group}" / f"staging_{group}.sqlite"
            for name in databases:
                into = folder / "databases" / name / f"{name}.sqlite"
                renamed |= _messy_database(name, dataset.sources[name], into, staging)
        rows = [
            {
                **{key: row[key] for key in ("question_id", "db_id", "question")},
                "gold_tables": [
                    renamed[row["db_id"], str(table).casefold()] for table in row["gold_tables"]
                ],
            }
            for row in dataset.rows()
            if all((row["db_id"], str(t).casefold()) in renamed for t in row["gold_tables"])
        ]
        (folder / "foreign_keys.json").write_text("[]", encoding="utf-8")
        (folder / QUESTIONS).write_text(json.dumps(rows), encoding="utf-8")
    return open_dataset(folder)


def _messy_database(
    name: str, source: Path, into: Path, staging: Path
) -> dict[tuple[str, str], str]:
    """Write a database with other names, and copies of some tables; returns the new names."""
    naming, rng = Naming.of(name), Random(f"{SEED}/{name}/copies")
    found: dict[tuple[str, str], str] = {}
    for file in (into, staging):
        file.parent.mkdir(parents=True, exist_ok=True)
    file = next(source.glob("*.sqlite")) if source.is_dir() else source
    into.unlink(missing_ok=True)
    with closing(sqlite3.connect(into)) as store:
        store.execute("ATTACH ? AS old", (str(file),))
        store.execute("ATTACH ? AS staging", (str(staging),))
        listed = store.execute(
            "SELECT name FROM old.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        taken: set[str] = set()
        for (table,) in sorted(listed):
            made = _free(naming(table), taken)
            found[name, table.casefold()] = made
            columns = _columns(store, table, naming)
            _copy(store, table, f"main.{_quoted(made)}", columns)
            if rng.random() < COPIED:
                where = "staging" if rng.random() < IN_STAGING else "main"
                copied = rng.choice(COPY_NAMES).format(made)
                some = [one for one in columns if rng.random() < OFTEN_KEPT] or columns
                if copied.casefold() not in taken:
                    taken.add(copied.casefold())
                    target = f"{where}.{_quoted(copied)}"
                    _copy(store, table, target, some, every=rng.choice((1, 1, 2, 3)))
        store.commit()
    return found


def _columns(store: sqlite3.Connection, table: str, naming: Naming) -> list[tuple[str, str]]:
    """The columns of a table, each with its new name."""
    taken: set[str] = set()
    named = store.execute("SELECT name FROM old.pragma_table_info(?)", (table,)).fetchall()
    return [(name, _free(naming(name), taken)) for (name,) in named]


def _copy(
    store: sqlite3.Connection,
    table: str,
    target: str,
    columns: Sequence[tuple[str, str]],
    every: int = 1,
) -> None:
    """Write some columns of a table under another name, with every so manieth of its rows."""
    chosen = ", ".join(f"{_quoted(old)} AS {_quoted(new)}" for old, new in columns)
    store.execute(
        f"CREATE TABLE IF NOT EXISTS {target} AS SELECT {chosen} FROM old.{_quoted(table)} "
        f"WHERE rowid % {every} = 0 LIMIT {MOST_ROWS}"
    )


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken yet, whatever the case; from now on it is."""
    made, number = name, 2
    while made.casefold() in taken:
        made, number = f"{name}{number}", number + 1
    taken.add(made.casefold())
    return made


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
