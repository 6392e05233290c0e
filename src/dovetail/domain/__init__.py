"""The nouns: frozen data, no I/O."""

from __future__ import annotations

from dovetail.domain.joins import JoinEdge
from dovetail.domain.table_set import (
    NEAREST,
    NOTHING_FITS,
    UNCOVERED,
    Alternative,
    Candidate,
    Chosen,
    TableSet,
)
from dovetail.domain.tables import (
    NO_KEYS,
    Column,
    ColumnProfile,
    DeclaredForeignKey,
    DeclaredKeys,
    Estimate,
    Kind,
    Skipped,
    Table,
    TableId,
)

__all__ = [
    "NEAREST",
    "NOTHING_FITS",
    "NO_KEYS",
    "UNCOVERED",
    "Alternative",
    "Candidate",
    "Chosen",
    "Column",
    "ColumnProfile",
    "DeclaredForeignKey",
    "DeclaredKeys",
    "Estimate",
    "JoinEdge",
    "Kind",
    "Skipped",
    "Table",
    "TableId",
    "TableSet",
]
