"""Index the sample corpus and look for columns that could be keys.

Run it:  python examples/index_and_look.py
"""

import tempfile
from pathlib import Path

import dovetail
from dovetail.sample import write_corpus


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sources = write_corpus(folder / "corpus")
        catalog = dovetail.build(*map(str, sources), into=folder / "catalog")
        print(f"{len(catalog)} tables")
        for table in catalog:
            keys = [column.name for column in table.columns if column.profile.unique]
            if keys:
                print(f"  {table.name}: {', '.join(keys[:3])}")


if __name__ == "__main__":
    main()
