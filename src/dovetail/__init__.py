"""dovetail: point it at a pile of tables and learn which of them fit together.

This module is the public API, and nothing else; importing it loads nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.catalog.reader import Catalog
    from dovetail.domain import Column, ColumnProfile, JoinEdge, Kind, Skipped, Table, TableId
    from dovetail.errors import DovetailError
    from dovetail.joins.graph import JoinGraph
    from dovetail.offline.build import Progress, Report, build, update
    from dovetail.settings import Settings, load_settings

    open = Catalog.open  # noqa: A001 - dovetail.open reads like open

__version__ = "0.1.0"
__all__ = [
    "Catalog",
    "Column",
    "ColumnProfile",
    "DovetailError",
    "JoinEdge",
    "JoinGraph",
    "Kind",
    "Progress",
    "Report",
    "Settings",
    "Skipped",
    "Table",
    "TableId",
    "build",
    "load_settings",
    "open",
    "update",
]

_HOMES = {
    "dovetail.catalog.reader": ("Catalog",),
    "dovetail.domain": (
        "Column",
        "ColumnProfile",
        "JoinEdge",
        "Kind",
        "Skipped",
        "Table",
        "TableId",
    ),
    "dovetail.joins.graph": ("JoinGraph",),
    "dovetail.errors": ("DovetailError",),
    "dovetail.offline.build": ("Progress", "Report", "build", "update"),
    "dovetail.settings": ("Settings", "load_settings"),
}


def __getattr__(name: str) -> Any:
    if name == "open":
        return importlib.import_module("dovetail.catalog.reader").Catalog.open
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
