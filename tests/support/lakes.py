"""Delta Lake and Iceberg tables, written by other programs: old versions, deleted rows and all."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO, PyArrowLocalFileSystem
from pyiceberg.table import Table

FIRST = pa.table({"id": [1, 2, 3], "region": ["a", "b", "a"], "at": [{"x": 1}, {"x": 2}, None]})
SECOND = pa.table({"id": [4], "region": ["c d"], "at": [{"x": 3}]})


class InFolder(PyArrowFileIO):
    """Keeps what a table calls `s3://lake/a` as the file `lake/a` of a folder."""

    def new_input(self, location: str) -> PyArrowFile:
        return self._file(location)

    def new_output(self, location: str) -> PyArrowFile:
        return self._file(location)

    def _file(self, location: str) -> PyArrowFile:
        path = f"{self.properties['folder']}/{location.partition('://')[2]}"
        return PyArrowFile(location, path, PyArrowLocalFileSystem())


def put_delta(folder: Path) -> Path:
    """A table in partitions; of its rows 1 to 4 the first is deleted again."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    deltalake.write_deltalake(str(folder), FIRST, partition_by=["region"])
    deltalake.write_deltalake(str(folder), SECOND, mode="append", partition_by=["region"])
    deltalake.DeltaTable(str(folder)).delete("id = 1")
    return folder


def put_iceberg(folder: Path) -> Table:
    """The same as an Iceberg table `shop/orders` in a folder."""
    folder.mkdir(parents=True)
    return _written(
        SqlCatalog("here", uri=f"sqlite:///{folder.parent}/ice.db", warehouse=f"file://{folder}")
    )


def put_iceberg_for(warehouse: str, folder: Path, *, rows: bool = True) -> Table:
    """The same, as it is in a bucket: below a folder that stands for all buckets."""
    folder.mkdir(parents=True, exist_ok=True)
    properties = {"py-io-impl": "tests.support.lakes.InFolder", "folder": str(folder)}
    return _written(SqlCatalog("far", uri="sqlite://", warehouse=warehouse, **properties), rows)


def _written(catalog: SqlCatalog, rows: bool = True) -> Table:
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", schema=FIRST.schema)
    if not rows:
        return table
    table.append(FIRST)
    table.append(SECOND)
    table.delete("id = 1")
    return table
