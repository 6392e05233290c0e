"""Delta Lake and Iceberg tables, written by other programs: old versions, deleted rows and all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO, PyArrowLocalFileSystem
from pyiceberg.table import Table

import dovetail
from tests.support.files import names, update

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


def check_newest_delta(source: str, table: Path, show: Callable[[], None], into: Path) -> None:
    """A source of `cities.csv` and `sales`, a table of `put_delta`, is read in its newest version.

    `show` is called when the table has changed on this machine.
    """
    report = update(f"lake={source}", into=into / "catalog")
    assert (report.skipped, names(report.catalog)) == ((), ["cities", "sales"])
    sales = report.catalog["sales"]
    assert [(column.name, column.type) for column in sales.columns] == [
        ("id", "BIGINT"),
        ("region", "VARCHAR"),
        ("at.x", "BIGINT"),
    ]
    assert sorted(sales.column("id").profile.examples) == ["2", "3", "4"]
    with dovetail.open(into / "catalog") as catalog:
        found = catalog.sql(
            "SELECT s.id, city FROM sales s JOIN cities c ON c.id = s.id WHERE region = 'b'"
        )
        assert found.to_arrow().to_pylist() == [{"id": 2, "city": "Oslo"}]
    assert update(into=into / "catalog").unchanged == 2
    deltalake.DeltaTable(str(table)).delete("id = 4")
    show()
    after = update(into=into / "catalog")
    assert (after.changed, after.catalog["sales"].rows) == ((sales.id,), 2)
    # The folder by itself is the same table.
    alone = update(f"lake={source}/sales", into=into / "other").catalog["sales"]
    assert (alone.rows, alone.columns) == (2, after.catalog["sales"].columns)


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
