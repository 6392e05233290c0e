"""How far names of columns refer to tables and to each other, for many pairs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, encode_by, once
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.naming.name_pairs import NamePairs
from dovetail.joins.naming.name_words import core, entity
from dovetail.joins.naming.persons import ROLE, is_people, is_role


@dataclass(frozen=True, slots=True)
class References:
    """Compares what columns are called with each other and with what tables are about.

    `called` numbers what each column is called, `about` what each table is about; `columns` and
    `tables` are how many of these there are, and `names` all of them, one after the other. `role`
    flags what a person's role is called, `people` what is about people, and `bare` columns whose
    names say that they identify, and nothing else.
    """

    names: NamePairs
    called: Ints
    columns: int
    about: Ints
    tables: int
    role: Flags
    people: Flags
    bare: Flags

    @classmethod
    def of(cls, arrays: ColumnArrays, names: Encoded[str]) -> References:
        """`names` are those of all columns."""
        called = encode_by(core, names)
        about = Encoded.of([entity(table.name) for table in arrays.ids])
        bare = np.array([not name for name in called.dictionary], dtype=np.bool_)
        return cls(
            names=NamePairs.of([*called.dictionary, *about.dictionary]),
            called=called.codes,
            columns=len(called.dictionary),
            about=about.codes,
            tables=len(about.dictionary),
            role=np.array([is_role(name) for name in called.dictionary], dtype=np.bool_),
            people=np.array([is_people(name) for name in about.dictionary], dtype=np.bool_),
            bare=bare[called.codes],
        )

    def to_column(self, child: Ints, parent: Ints) -> Floats:
        """How far each column refers to what another is called."""
        columns = self.called[child], self.columns
        return once(self.names.refers, columns, (self.called[parent], self.columns))

    def to_table(self, column: Ints, table: Ints) -> Floats:
        """How far each column refers to what a table is about."""

        def refers(one: Ints, other: Ints) -> Floats:
            return self.names.refers(one, other + self.columns)

        columns = self.called[column], self.columns
        return once(refers, columns, (self.about[table], self.tables))

    def to_table_or_people(self, column: Ints, table: Ints) -> Floats:
        """How far each column refers to a table: by its words, or by the role of a person."""
        role = self.role[self.called[column]] & self.people[self.about[table]]
        found: Floats = np.maximum(self.to_table(column, table), ROLE * role)
        return found

    def from_table(self, table: Ints, column: Ints) -> Floats:
        """How far what each table is about refers to what a column is called."""

        def refers(one: Ints, other: Ints) -> Floats:
            return self.names.refers(one + self.columns, other)

        tables = self.about[table], self.tables
        return once(refers, tables, (self.called[column], self.columns))
