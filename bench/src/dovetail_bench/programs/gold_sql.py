"""Do gold queries give the same through the executor as on their own database?

    dovetail bench run gold_sql DATA [--engine sqlite|duckdb] [--limit N] [--json] [--differences]

DATA is an unpacked corpus. All its databases are pooled; each gold query runs over the tables it
names, under the guard, in a process of its own, and its rows are held against those that plain
SQLite gives on the query's own database. With engine duckdb the query is translated first.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Table
from dovetail.errors import DovetailError
from dovetail_bench.compare import order_of, same_result
from dovetail_bench.datasets import open_dataset
from dovetail_bench.sqlite_compat import LIKE_SQLITE

LIMITS = Limits(rows=1_000_000, bytes=256 << 20)


def expected(database: Path, sql: str) -> list[tuple[Any, ...]]:
    """What SQLite gives on the query's own database."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection.execute(sql).fetchall()


def tables_of(catalog: CatalogReader, question: dict[str, Any]) -> list[Table]:
    """The gold tables in the pooled catalog."""
    known = {(table.source, table.name.casefold()): table for table in catalog.ids}
    wanted = [(question["db_id"], name.casefold()) for name in question["gold_tables"]]
    return [catalog[known[key]] for key in wanted if key in known]


def verdict(
    executor: Executor,
    catalog: CatalogReader,
    question: dict[str, Any],
    database: Path,
    engine: str,
) -> str:
    """`equal`, or how the results differ."""
    sql = question["sql"]
    try:
        gold = expected(database, sql)
    except sqlite3.Error:
        return "gold fails"
    tables = tables_of(catalog, question)
    try:
        adapt = LIKE_SQLITE if engine == "duckdb" else ""
        found = executor.run(
            sql, tables, engine=engine, dialect="sqlite", adapt=adapt, limits=LIMITS
        )
    except DovetailError as error:
        return f"{type(error).__name__}: {error}"
    rows = found.tuples()
    if engine == "sqlite" and rows == gold:
        return "equal"
    if same_result(gold, rows, order_of(sql)):
        return "equal"
    return "same rows, other order" if same_result(gold, rows) else "other rows"


def main() -> None:
    """Run every gold query and print how many agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--engine", default="sqlite", choices=["sqlite", "duckdb"])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--differences", action="store_true", help="print every query that differs")
    given = parser.parse_args()
    dataset = open_dataset(given.data)
    catalog = dataset.catalog()
    questions = dataset.rows()[: given.limit]
    began = time.perf_counter()
    verdicts: Counter[str] = Counter()
    with Executor(catalog, workers=2) as executor:
        for question in questions:
            database = dataset.sources[question["db_id"]]
            found = verdict(executor, catalog, question, database, given.engine)
            verdicts[found.partition(":")[0]] += 1
            if given.differences and found != "equal":
                print(f"{question['question_id']}\t{found}\t{question['sql']}")
    seconds = time.perf_counter() - began
    equal = verdicts["equal"] / max(len(questions), 1)
    if given.json:
        figures = {"dataset": dataset.name, "engine": given.engine, "queries": len(questions)}
        print(json.dumps({**figures, "equal": equal, "verdicts": verdicts, "seconds": seconds}))
        return
    print(f"{dataset.name}, {given.engine}: {equal:.1%} of {len(questions)} equal, {seconds:.0f} s")
    for name, count in verdicts.most_common():
        print(f"{count:6d}  {name}")


if __name__ == "__main__":
    main()
