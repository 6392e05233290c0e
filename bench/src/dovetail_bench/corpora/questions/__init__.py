"""The questions of the sample corpus and the keys its data really has, both written by us.

120 questions in ten files, one for each domain and one for those that cross them. Their SQL is in
the dialect of DuckDB, every table under the label of its source. CC0, as the corpus.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

Entries = list[dict[str, Any]]
DOMAINS = (
    "schools", "railway", "hospital", "shop", "warehouse", "estate", "utilities", "library",
    "university", "crossing",
)  # fmt: skip


def questions() -> Entries:
    """The rows of a `questions.json`."""
    return [
        {
            "question_id": f"{domain}-{number:02}",
            "question": row["question"],
            "sql": row["sql"].strip(),
            "gold_tables": row["tables"],
            "difficulty": f"{len(row['tables'])} tables",
            "domain": domain,
            "exec_status": "empty" if row.get("empty") else "ok",
        }
        for domain in DOMAINS
        for number, row in enumerate(_read(domain)["questions"], start=1)
    ]


def foreign_keys() -> Entries:
    """The rows of a `foreign_keys.json`; a key may lead into another source."""
    found = []
    for line in _read("keys")["keys"]:
        child, parent = line.split(" -> ")
        source, table, column = child.split(" / ")
        ref_source, ref_table, ref_column = parent.split(" / ")
        found.append(
            {
                "db_id": source,
                "table": table,
                "column": column,
                "ref_db_id": ref_source,
                "ref_table": ref_table,
                "ref_column": ref_column,
            }
        )
    return found


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))


def brewery_questions() -> Entries:
    """Questions over the brewery's pile, each with its gold tables and other accepted sets.

    No table answers those whose gold tables are none.
    """
    return [
        {
            "question_id": f"brewery-{number:02}",
            "question": row["question"],
            "gold_tables": row["tables"],
            "accepted": row.get("accepted", []),
            "difficulty": row["kind"],
        }
        for number, row in enumerate(_read("brewery")["questions"], start=1)
    ]
