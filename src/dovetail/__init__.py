"""dovetail: point it at a pile of tables and learn which of them fit together.

This module is the public API, and nothing else; importing it loads nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.answer.results import Answer
    from dovetail.api.building import build, update
    from dovetail.api.catalog import Catalog, open  # noqa: A004 - dovetail.open reads like open
    from dovetail.domain import (
        Alternative,
        Candidate,
        Chosen,
        Column,
        ColumnProfile,
        DomainColumn,
        JoinEdge,
        KeyDomain,
        Kind,
        Skipped,
        Table,
        TableId,
        TableSet,
    )
    from dovetail.errors import DovetailError
    from dovetail.families.family import Families, Family, FamilyMember, Role
    from dovetail.joins.graph import JoinGraph
    from dovetail.learn.learning import LearnSummary
    from dovetail.offline.repair import check, repair
    from dovetail.offline.summary import Progress, UpdateSummary
    from dovetail.settings import Settings, load_settings

__version__ = "0.1.0"
__all__ = [
    "Alternative",
    "Answer",
    "Candidate",
    "Catalog",
    "Chosen",
    "Column",
    "ColumnProfile",
    "DomainColumn",
    "DovetailError",
    "Families",
    "Family",
    "FamilyMember",
    "JoinEdge",
    "JoinGraph",
    "KeyDomain",
    "Kind",
    "LearnSummary",
    "Progress",
    "Role",
    "Settings",
    "Skipped",
    "Table",
    "TableId",
    "TableSet",
    "UpdateSummary",
    "build",
    "check",
    "load_settings",
    "open",
    "repair",
    "update",
]

_MODULES = {
    "dovetail.answer.results": ("Answer",),
    "dovetail.api.building": ("build", "update"),
    "dovetail.api.catalog": ("Catalog", "open"),
    "dovetail.domain": (
        "Alternative",
        "Candidate",
        "Chosen",
        "Column",
        "ColumnProfile",
        "DomainColumn",
        "JoinEdge",
        "KeyDomain",
        "Kind",
        "Skipped",
        "Table",
        "TableId",
        "TableSet",
    ),
    "dovetail.learn.learning": ("LearnSummary",),
    "dovetail.families.family": ("Families", "Family", "FamilyMember", "Role"),
    "dovetail.joins.graph": ("JoinGraph",),
    "dovetail.errors": ("DovetailError",),
    "dovetail.offline.repair": ("check", "repair"),
    "dovetail.offline.summary": ("Progress", "UpdateSummary"),
    "dovetail.settings": ("Settings", "load_settings"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
