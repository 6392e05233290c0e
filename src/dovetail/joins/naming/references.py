"""How far names of columns refer to tables and to each other, for many pairs at once."""

from __future__ import annotations

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Flags, Floats, Ints
from dovetail.joins.encoding import Encoded, encode_by, once
from dovetail.joins.naming.name_pairs import NamePairs
from dovetail.joins.naming.name_words import core, entity
from dovetail.joins.naming.persons import ROLE, is_people, is_role


class References:
    """Compares what columns are called with each other and with what tables are about."""

    def __init__(self, arrays: ColumnArrays, names: Encoded[str]) -> None:
        """`names` are those of all columns."""
        called = encode_by(core, names)
        about = Encoded.of([entity(table.name) for table in arrays.ids])
        self._called, self._columns = called.codes, len(called.dictionary)
        self._about, self._tables = about.codes, len(about.dictionary)
        self._names = NamePairs([*called.dictionary, *about.dictionary])
        self._role = np.array([is_role(name) for name in called.dictionary], dtype=np.bool_)
        self._people = np.array([is_people(name) for name in about.dictionary], dtype=np.bool_)
        bare = np.array([not name for name in called.dictionary], dtype=np.bool_)
        # Columns whose names say that they identify, and nothing else.
        self.bare: Flags = bare[self._called]

    def to_column(self, child: Ints, parent: Ints) -> Floats:
        """How far each column refers to what another is called."""
        columns = self._called[child], self._columns
        return once(self._names.refers, columns, (self._called[parent], self._columns))

    def to_table(self, column: Ints, table: Ints) -> Floats:
        """How far each column refers to what a table is about."""

        def refers(one: Ints, other: Ints) -> Floats:
            return self._names.refers(one, other + self._columns)

        columns = self._called[column], self._columns
        return once(refers, columns, (self._about[table], self._tables))

    def to_table_or_people(self, column: Ints, table: Ints) -> Floats:
        """How far each column refers to a table: by its words, or by the role of a person."""
        role = self._role[self._called[column]] & self._people[self._about[table]]
        found: Floats = np.maximum(self.to_table(column, table), ROLE * role)
        return found

    def from_table(self, table: Ints, column: Ints) -> Floats:
        """How far what each table is about refers to what a column is called."""

        def refers(one: Ints, other: Ints) -> Floats:
            return self._names.refers(one + self._columns, other)

        tables = self._about[table], self._tables
        return once(refers, tables, (self._called[column], self._columns))
