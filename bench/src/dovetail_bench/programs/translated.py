"""A corpus in another language: its questions and the names of tables and columns, by a model.

    dovetail bench run translated DATA INTO --llm NAME [--language German]

Values stay as they are, as in a company whose systems were set up in English. A name is translated
by itself, once for the corpus, and a question without a look at the names: that the words of a
question are those of a header is left to chance, as with people. NAME is any model, or
`replay:FOLDER?model=NAME`, which first writes down what is to be asked. INTO is then a corpus as
`dovetail bench retrieval` takes it; its questions have no SQL, as that speaks of the old names, and
those that a model answered rather than translated are left out, by the number of words.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from dovetail.domain.sql import identifier as quoted
from dovetail.errors import PendingError
from dovetail.names.words import spelled
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Json, Message
from dovetail_bench.corpus_folder import FOREIGN_KEYS, QUESTIONS
from dovetail_bench.datasets import open_dataset

_MOST_TOKENS = 120
_MOST_WORDS_MORE = 3
# A model that answers a question instead of translating it writes far fewer words, or far more.
_FEWEST, _MOST = 0.5, 2.0


def ask(llm: LLM, what: str, text: str, language: str) -> str:
    """The first line of the model's translation of a text."""
    system = (
        f"You translate into {language}. The user sends {what}. Reply with its translation into "
        f"{language} on one line and with nothing else."
    )
    messages = [Message("system", system), Message("user", text)]
    reply = llm.complete(messages, max_tokens=_MOST_TOKENS).text.strip()
    return reply.splitlines()[0].strip().strip('"') if reply else ""


def translate(llm: LLM, what: str, texts: Iterable[str], language: str) -> dict[str, str]:
    """Each text once; raises PendingError when all that has no reply yet is written down."""
    found: dict[str, str] = {}
    pending: PendingError | None = None
    for text in dict.fromkeys(texts):
        try:
            found[text] = ask(llm, what, text, language)
        except PendingError as error:
            pending = error
    if pending:
        raise pending
    return found


def as_name(name: str, translated: str) -> str:
    """A translated name as one writes it in a database; the old one where it is no name."""
    words = re.findall(r"\w+", translated.lower())
    limit = len(spelled(name).split()) + _MOST_WORDS_MORE
    return "_".join(words) if words and len(words) <= limit else name


def renamed(names: Sequence[str], words: Mapping[str, str]) -> dict[str, str]:
    """New names of tables, or of the columns of one; two that would be one keep their old ones."""
    found: dict[str, str] = {}
    for name in names:
        new = as_name(name, words[spelled(name)])
        taken = {each.casefold() for each in (*found.values(), *names)}
        found[name] = name if new.casefold() in taken else new
    return found


def read_names(file: Path) -> dict[str, list[str]]:
    """The columns of each table of a database."""
    with closing(sqlite3.connect(file)) as database:
        select = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        tables = [name for (name,) in database.execute(select)]
        select = "SELECT name FROM pragma_table_info(?)"
        return {table: [name for (name,) in database.execute(select, [table])] for table in tables}


def rename(file: Path, words: Mapping[str, str]) -> dict[str, tuple[str, dict[str, str]]]:
    """Rename all of a database; the new name of each table and of its columns."""
    names = read_names(file)
    tables = renamed(list(names), words)
    found = {}
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        for table, columns in names.items():
            found[table] = tables[table], renamed(columns, words)
            for old, new in found[table][1].items():
                if old != new:
                    database.execute(
                        f"ALTER TABLE {quoted(table)} RENAME COLUMN {quoted(old)} TO {quoted(new)}"
                    )
            if table != tables[table]:
                database.execute(f"ALTER TABLE {quoted(table)} RENAME TO {quoted(tables[table])}")
    return found


def is_translation(text: str, translated: str) -> bool:
    """Whether a reply has about as many words as what was to be translated."""
    share = len(translated.split()) / max(1, len(text.split()))
    return _FEWEST <= share <= _MOST


def write(data: str, into: Path, llm: LLM, language: str) -> int:
    """The whole corpus in another language, below a folder that is not there yet.

    Returns how many questions are left out.
    """
    dataset = open_dataset(data)
    listed = [read_names(file) for file in dataset.sources.values()]
    names = [name for tables in listed for t in tables for name in (t, *tables[t])]
    rows = [dict(row) for row in dataset.rows()]
    waits = []
    made: list[dict[str, str]] = []
    for what, texts in (
        ("the name of a table or of a column of a database", map(spelled, names)),
        ("a question", (str(row["question"]) for row in rows)),
    ):
        try:
            made.append(translate(llm, what, texts, language))
        except PendingError as error:
            waits.append(error)
    if waits:
        raise waits[0]
    words, questions = made
    new = {}
    for name, file in dataset.sources.items():
        copied = into / file.relative_to(dataset.home)
        copied.parent.mkdir(parents=True)
        shutil.copyfile(file, copied)
        new[name] = {t.casefold(): both for t, both in rename(copied, words).items()}
    keys = json.loads((dataset.home / FOREIGN_KEYS).read_text("utf-8"))
    kept = [row for row in rows if is_translation(row["question"], questions[row["question"]])]
    _write_json(into / QUESTIONS, [_question(row, questions, new) for row in kept])
    _write_json(into / FOREIGN_KEYS, [_key(row, new) for row in keys])
    return len(rows) - len(kept)


Renamed = Mapping[str, Mapping[str, tuple[str, dict[str, str]]]]


def _question(row: Json, questions: Mapping[str, str], new: Renamed) -> Json:
    tables = new[row["db_id"]]
    return {
        "question_id": row["question_id"],
        "db_id": row["db_id"],
        "question": questions[row["question"]],
        "gold_tables": [tables[name.casefold()][0] for name in row["gold_tables"]],
    }


def _key(row: Json, new: Renamed) -> Json:
    tables = new[row["db_id"]]
    found = {"db_id": row["db_id"]}
    for table, column in (("table", "column"), ("ref_table", "ref_column")):
        name, columns = tables[row[table].casefold()]
        known = {old.casefold(): each for old, each in columns.items()}
        found |= {table: name, column: known[row[column].casefold()]}
    return found


def _write_json(file: Path, rows: Sequence[Json]) -> None:
    file.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("into", type=Path, help="a folder that is not there yet")
    parser.add_argument("--llm", required=True, help="openai:NAME, local:FILE or replay:FOLDER")
    parser.add_argument("--language", default="German")
    given = parser.parse_args(arguments)
    left_out = write(given.data, given.into, open_llm(given.llm, workers=1), given.language)
    print(f"{given.into} is written; {left_out} questions are left out")


if __name__ == "__main__":
    main()
