"""How many declared foreign keys are found where nobody tells of them?

    dovetail bench run hidden_keys CATALOG [--keys foreign_keys.json] [--json]

The catalog is one whose sources declare keys. Its joins are worked out as if none were declared
(`use_declared` off, no notes, dbt project or past queries), and a key counts as found where an edge
above 0.5 has its columns, whichever side comes first. Then once more with the keys shown.

With `--keys`, the keys are those of a benchmark corpus, whose sources declare none: `db_id`, which
is the source, `table`, `column`, `ref_table`, `ref_column`. Then precision counts too: the share of
the edges above 0.5 that are such keys.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Set
from pathlib import Path

import dovetail
from dovetail.domain import TableId

_End = tuple[TableId, str]
_PLAIN = dovetail.Settings(embedder="none", use_notes=False, use_dbt=False, use_queries=False)


def measure_against(folder: Path, keys: Path) -> dict[str, object]:
    """Precision and recall of the joins against the keys of a file."""
    wanted = {
        frozenset({frozenset(((own, row["column"]), (other, row["ref_column"])))})
        for row in json.loads(keys.read_text(encoding="utf-8"))
        for own in [TableId(row["db_id"], row["table"])]
        for other in [TableId(row["db_id"], row["ref_table"])]
        if own != other
    }
    found = _joined(folder, _PLAIN.but(use_declared=False))
    by_tables = ({_tables(key) for key in wanted}, {_tables(key) for key in found})
    return {
        "declared": len(wanted),
        "joins": len(found),
        "by columns": _agreement(wanted, found),
        "by tables": _agreement(*by_tables),
    }


def _tables(key: frozenset[frozenset[_End]]) -> frozenset[TableId]:
    return frozenset(table for pair in key for table, _ in pair)


def _agreement(wanted: Set[object], found: Set[object]) -> dict[str, float]:
    right = len(wanted & found)
    return {
        "precision": round(right / max(len(found), 1), 3),
        "recall": round(right / max(len(wanted), 1), 3),
    }


def measure(folder: Path) -> dict[str, object]:
    """The declared keys, and how many of them the joins have without and with their being shown."""
    plain = _PLAIN
    keys = {
        frozenset(
            frozenset(((table.id, own), (TableId(key.source or table.id.source, key.table), other)))
            for own, other in zip(key.columns, key.key_columns, strict=True)
        ): f"{table.id}: {key}"
        for table in dovetail.open(folder, plain)
        for key in table.keys.foreign
    }
    hidden, shown = _joined(folder, plain.but(use_declared=False)), _joined(folder, plain)
    return {
        "declared": len(keys),
        "found_hidden": sum(key in hidden for key in keys),
        "found_shown": sum(key in shown for key in keys),
        "missed": sorted(said for key, said in keys.items() if key not in hidden),
    }


def _joined(folder: Path, settings: dovetail.Settings) -> set[frozenset[frozenset[_End]]]:
    """The columns of every edge above 0.5."""
    return {
        frozenset(frozenset(((edge.left, own), (edge.right, other))) for own, other in edge.columns)
        for edge in dovetail.open(folder, settings).joins()
    }


def main() -> None:
    """Measure, and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("catalog", type=Path)
    parser.add_argument("--keys", type=Path, help="keys of a corpus, in place of declared ones")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.keys is not None:
        against = measure_against(given.catalog, given.keys)
        sys.stdout.write(json.dumps(against, indent=1) + "\n")
        return
    found = measure(given.catalog)
    if given.json:
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return
    hidden, declared = found["found_hidden"], found["declared"]
    sys.stdout.write(f"{hidden} of {declared} declared foreign keys found while hidden\n")
    sys.stdout.write(f"{found['found_shown']} of {declared} with them shown\n")
    for line in found["missed"] if isinstance(found["missed"], list) else ():
        sys.stdout.write(f"missed  {line}\n")


if __name__ == "__main__":
    main()
