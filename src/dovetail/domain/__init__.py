"""The nouns: frozen data, no I/O."""

from __future__ import annotations

from dovetail.domain.descriptions import DICTIONARY, PERSON, Description, warns_off
from dovetail.domain.joins import JoinEdge
from dovetail.domain.key_domains import DomainColumn, KeyDomain
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
    NO_KEYS,
    Column,
    ColumnProfile,
    DeclaredForeignKey,
    DeclaredKeys,
    Estimate,
    HasId,
    Kind,
    Skipped,
    Table,
    TableId,
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
