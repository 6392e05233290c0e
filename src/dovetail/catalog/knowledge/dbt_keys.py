"""Keys that a dbt project tests or declares: `unique`, `not_null`, `relationships`, constraints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dovetail.catalog.knowledge.json_file import inner, objects, text, texts
from dovetail.domain import DeclaredForeignKey, TableId
from dovetail.ports import Json

# Who declared a key, where that is not its source.
DBT = "dbt"
_REF = re.compile(r"(?:ref|source)\(\s*(.*?)\s*\)")
_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")


@dataclass(slots=True)
class Keys:
    """The keys of one table, as they are found."""

    primary: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    not_null: tuple[str, ...] = ()
    foreign: tuple[DeclaredForeignKey, ...] = field(default=())

    def add_unique(self, columns: list[str]) -> None:
        if columns and all(columns) and tuple(columns) not in self.unique:
            self.unique = (*self.unique, tuple(columns))

    def add_not_null(self, column: str) -> None:
        if column and column not in self.not_null:
            self.not_null = (*self.not_null, column)

    def add_foreign(self, columns: list[str], table: TableId, key_columns: list[str]) -> None:
        key = DeclaredForeignKey(
            tuple(columns), table.name, tuple(key_columns), source=table.source, by=DBT
        )
        right = columns and len(columns) == len(key_columns) and all([*columns, *key_columns])
        if right and key not in self.foreign:
            self.foreign = (*self.foreign, key)


class Tests:
    """The tests and constraints of a manifest, by the table that they are about."""

    __test__ = False  # for pytest: this is no test of ours

    def __init__(self, nodes: Mapping[str, Json], found: Mapping[str, TableId]) -> None:
        self._nodes, self._found = nodes, found
        self._keys: dict[str, Keys] = {}
        for key in found:
            self._constraints(key, nodes[key])
        for node in nodes.values():
            # A test of some rows says nothing of a key.
            if node.get("resource_type") == "test" and not inner(node, "config").get("where"):
                self._test(node)

    def of(self, key: str) -> Keys:
        """The keys of the table that a node is."""
        return self._keys.get(key) or Keys()

    def _test(self, node: Json) -> None:
        about = inner(node, "test_metadata")
        given = inner(about, "kwargs")
        given = given | inner(given, "arguments")
        own = self._about(node, given)
        if own is None:
            return
        keys = self._keys.setdefault(own, Keys())
        column = text(node.get("column_name")) or text(given.get("column_name"))
        name = text(about.get("name"))
        if name == "unique":
            keys.add_unique([_plain(column)])
        elif name == "unique_combination_of_columns":
            keys.add_unique([_plain(one) for one in texts(given.get("combination_of_columns"))])
        elif name == "not_null":
            keys.add_not_null(_plain(column))
        elif name == "relationships":
            other = self._named(text(given.get("to")), self._used(node))
            if other is not None:
                field_ = _plain(text(given.get("field")))
                keys.add_foreign([_plain(column)], self._found[other], [field_])

    def _about(self, node: Json, given: Json) -> str | None:
        """The node that a test is about: the attached one, or the one its model names."""
        attached = text(node.get("attached_node"))
        if attached in self._found:
            return attached
        return self._named(text(given.get("model")), self._used(node))

    def _used(self, node: Json) -> list[str]:
        return texts(inner(node, "depends_on").get("nodes"))

    def _named(self, words: str, among: list[str]) -> str | None:
        """The node that `ref('a')`, `source('a', 'b')` or a relation means, if it is a table."""
        call = _REF.search(words)
        named = _QUOTED.findall(call[1]) if call else []
        for key in among:
            node = self._nodes.get(key, {})
            means = text(node.get("name")) == named[-1] if named else _is_relation(node, words)
            if means and key in self._found:
                return key
        return None

    def _constraints(self, key: str, node: Json) -> None:
        """The constraints of a model's contract, on the model and on its columns."""
        keys = self._keys.setdefault(key, Keys())
        for columns, constraint in _declared(node):
            kind = text(constraint.get("type"))
            if kind == "primary_key":
                keys.primary = keys.primary or tuple(columns)
            elif kind == "unique":
                keys.add_unique(columns)
            elif kind == "not_null":
                for column in columns:
                    keys.add_not_null(column)
            elif kind == "foreign_key":
                other = self._named(text(constraint.get("to")), self._used(node))
                to_columns = [_plain(one) for one in texts(constraint.get("to_columns"))]
                if other is not None and to_columns:
                    keys.add_foreign(columns, self._found[other], to_columns)


def _declared(node: Json) -> Iterator[tuple[list[str], Json]]:
    """The constraints of a node, with the columns that each is on."""
    for constraint in objects(node.get("constraints")):
        yield [_plain(one) for one in texts(constraint.get("columns"))], constraint
    for name, column in inner(node, "columns").items():
        for constraint in objects(column.get("constraints") if isinstance(column, dict) else None):
            yield [_plain(text(column.get("name")) or name)], constraint


def _is_relation(node: Json, words: str) -> bool:
    """Whether words are the name of a node in its database, as dbt has put it in already."""
    return bool(words) and text(node.get("relation_name")) == words


def _plain(column: str) -> str:
    """A column's name without the quotes that a project writes around it."""
    return column.strip().strip('"`[]')
