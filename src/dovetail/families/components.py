"""Connected components of tables, grown link by link; some tables must not meet in one."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.domain import TableId

Ids = tuple[TableId, TableId]


class Components:
    """Which tables are connected; two that are kept `apart` are never in one component.

    >>> a, b, c = (TableId("erp", name) for name in "abc")
    >>> components = Components(apart=[(a, b)])
    >>> components.unite(a, c), components.unite(c, b), components.unite(a, c)
    (True, False, True)
    >>> [[table.name for table in group] for group in components.groups([a, b, c])]
    [['a', 'c'], ['b']]
    """

    def __init__(self, apart: Iterable[Ids] = ()) -> None:
        self._parent: dict[TableId, TableId] = {}
        # Of each component, by its root: which of its tables are kept from others, and from which.
        self._kept: dict[TableId, set[TableId]] = {}
        self._from: dict[TableId, set[TableId]] = {}
        for one, other in apart:
            for table, away in ((one, other), (other, one)):
                self._kept.setdefault(table, set()).add(table)
                self._from.setdefault(table, set()).add(away)

    def unite(self, one: TableId, other: TableId) -> bool:
        """Connect two tables; False where tables that are kept apart would meet."""
        low, high = sorted((self._root(one), self._root(other)))
        if low == high:
            return True
        if self._kept.get(low, set()) & self._from.get(high, set()):
            return False
        self._parent[high] = low
        for kept in (self._kept, self._from):
            if high in kept:
                kept.setdefault(low, set()).update(kept.pop(high))
        return True

    def groups(self, tables: Iterable[TableId]) -> list[list[TableId]]:
        """Some tables by component, each in the order of names."""
        found: dict[TableId, list[TableId]] = {}
        for table in sorted(tables):
            found.setdefault(self._root(table), []).append(table)
        return list(found.values())

    def _root(self, table: TableId) -> TableId:
        parent = self._parent
        while parent.setdefault(table, table) != table:
            parent[table] = table = parent[parent[table]]
        return table
