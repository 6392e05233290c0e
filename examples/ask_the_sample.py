"""Index the sample corpus, ask it a question, and count rows over the tables that it finds.

Run it:  python examples/ask_the_sample.py
"""

import tempfile
from pathlib import Path

import dovetail
from dovetail.sample import write_company


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sources = write_company(folder / "corpus")
        with dovetail.build(*sources, into=folder / "catalog") as catalog:
            print(f"{len(catalog)} tables")
            found = catalog.ask("Which suppliers delivered late to schools in Riverside?")
            for table in found:
                print(f"  {table.name}: {table.reason}")
            for join in found.joins:
                answer = catalog.sql(
                    f'SELECT count(*) AS n FROM "{join.left}" a JOIN "{join.right}" b '
                    f"ON a.{join.columns[0][0]} = b.{join.columns[0][1]}"
                )
                print(f"  {join.left.name} - {join.right.name}: {answer.rows['n'][0]} rows")


if __name__ == "__main__":
    main()
