"""Why a table is in a family: one sentence that a person can check against the tables."""

from __future__ import annotations

from dovetail.families.contents import Compared, Verdict
from dovetail.families.tables import FamilyTable


def sentence(table: FamilyTable, other: FamilyTable, compared: Compared) -> str:
    """What speaks for two tables being one logical table."""
    return f"{_columns(table, other)}; {_contents(table, other, compared)}"


def _columns(table: FamilyTable, other: FamilyTable) -> str:
    shared, union = len(table.names & other.names), len(table.names | other.names)
    if shared == union:
        return f"same {shared} columns as {other.id.name}"
    return f"{shared} of {union} columns in common with {other.id.name}"


def _contents(table: FamilyTable, other: FamilyTable, compared: Compared) -> str:
    if compared.times:
        return f"their values of {compared.times} are of different times"
    if compared.verdict is Verdict.UNKNOWN:
        few = "an empty table" if not (table.rows and other.rows) else "too few rows to compare"
        return f"{few}, so by names and columns alone"
    if not compared.shared:
        return f"no value of {compared.column} in common"
    small, large = (table, other) if table.rows <= other.rows else (other, table)
    if compared.shared == compared.total:
        return f"all {compared.total:,} values of {compared.column} are in {large.id.name}"
    return (
        f"{compared.shared:,} of the {compared.total:,} values of {compared.column} in "
        f"{small.id.name} are in {large.id.name}"
    )
