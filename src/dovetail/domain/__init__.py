"""The nouns: frozen data, no I/O."""

from __future__ import annotations

from dovetail.domain.joins import DomainColumn, JoinEdge, KeyDomain
from dovetail.domain.results import (
    CAUTIONS,
    EXPLANATION,
    NEAREST,
    NOTHING_FITS,
    UNCOVERED,
    Alternative,
    Candidate,
    Chosen,
    TableSet,
)
from dovetail.domain.tables import (
    DICTIONARY,
    NO_KEYS,
    PERSON,
    Column,
    ColumnProfile,
    DeclaredForeignKey,
    DeclaredKeys,
    Description,
    Estimate,
    HasId,
    Kind,
    Skipped,
    Table,
    TableId,
    warns_off,
)

__all__ = [
    "CAUTIONS",
    "DICTIONARY",
    "EXPLANATION",
    "NEAREST",
    "NOTHING_FITS",
    "NO_KEYS",
    "PERSON",
    "UNCOVERED",
    "Alternative",
    "Candidate",
    "Chosen",
    "Column",
    "ColumnProfile",
    "DeclaredForeignKey",
    "DeclaredKeys",
    "Description",
    "DomainColumn",
    "Estimate",
    "HasId",
    "JoinEdge",
    "KeyDomain",
    "Kind",
    "Skipped",
    "Table",
    "TableId",
    "TableSet",
    "warns_off",
]
