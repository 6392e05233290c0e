"""What the tables of standard software hold, where the pile itself does not say it.

SAP's tables are called `LFA1` and `EKKO`, and their columns `LIFNR` and `EBELN`, in every company
that has it, and seldom come with the dictionary that says what this means. `sap.toml` says it of
the tables that are most used. A table is taken for one of them by its name and by its columns, so
that a table of another system which happens to be called alike is not; of other tables with such
columns, those that a company made for itself, the columns are described alone.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from dovetail.catalog.records import Records
from dovetail.domain import DICTIONARY, Description, TableId
from dovetail.names.table_name import unqualified

_FILE = "sap.toml"
# The columns that a table of a standard name must have to be the one, and the share of its columns
# that a table of any other name must have for these to be described.
_LEAST, _SHARE = 2, 0.5


class _Names(NamedTuple):
    tables: dict[str, str]
    fields: dict[str, str]


@cache
def _known() -> _Names:
    return _Names(**tomllib.loads((files("dovetail.offline") / _FILE).read_text("utf-8")))


def standard_descriptions(records: Records) -> dict[TableId, Description]:
    """The tables and columns that standard software names, described."""
    names, bounds = records.columns["name"].to_pylist(), records.bounds.tolist()
    described = {}
    for table, start, end in zip(records.ids, bounds, bounds[1:], strict=False):
        if found := described_as(table.name, names[start:end]):
            described[table] = found
    return described


def described_as(name: str, columns: list[str]) -> Description:
    """What a table of this name with these columns holds, as far as it is standard software's.

    >>> described_as("sap.T001", ["BUKRS", "BUTXT"]).text
    'companies, company codes, legal entities'
    >>> bool(described_as("T001", ["id", "label"]))
    False
    """
    tables, fields = _known()
    glosses = {column: fields[column.upper()] for column in columns if column.upper() in fields}
    text = tables.get(unqualified(name).upper(), "")
    if len(glosses) < max(_LEAST, 0 if text else _SHARE * len(columns)):
        return Description("", DICTIONARY)
    return Description(text, DICTIONARY, glosses)
