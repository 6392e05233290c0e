"""Tells what kind of values a column holds: by its Arrow type, or by what all its texts read as."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.domain import Kind
from dovetail.hashing import is_binary, read_numbers

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_TIMESTAMP = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$")
_SQL_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.BINARY: "BLOB",
}


def kind_of(kind: pa.DataType) -> Kind:
    """The kind of an Arrow type."""
    if pa.types.is_integer(kind):
        return Kind.INTEGER
    if pa.types.is_floating(kind):
        return Kind.REAL
    if pa.types.is_boolean(kind):
        return Kind.BOOLEAN
    if pa.types.is_date(kind):
        return Kind.DATE
    if pa.types.is_timestamp(kind):
        return Kind.TIMESTAMP
    return Kind.BINARY if is_binary(kind) else Kind.TEXT


def sql_type(kind: Kind) -> str:
    """The SQL type that a kind fits."""
    return _SQL_TYPES.get(kind, "VARCHAR")


class KindGuess:
    """What kind of values a column of text holds, judged by every one of them.

    A column declared as anything but text (a decimal of many digits) holds numbers for certain.
    """

    def __init__(self, type_name: str) -> None:
        self.declared = type_name != "VARCHAR"
        self._whole = True
        self._number = True
        self._pattern: re.Pattern[str] | None = None
        self._patterned = not self.declared
        self._low: tuple[float, str] | None = None
        self._high: tuple[float, str] | None = None

    def add(self, values: pa.Array) -> None:
        """Take in texts, at least one."""
        if self._number:
            self._add_numbers(values)
        if self._patterned:
            self._add_dates(values)

    def kind(self) -> Kind:
        """The narrowest kind that fits."""
        if self._number:
            return Kind.INTEGER if self._whole else Kind.REAL
        if self._patterned:
            return Kind.DATE if self._pattern is _DATE else Kind.TIMESTAMP
        return Kind.TEXT

    def ends(self) -> tuple[str | None, str | None]:
        """The smallest and the largest number, as they are written."""
        return self._low and self._low[1], self._high and self._high[1]

    def _add_numbers(self, values: pa.Array) -> None:
        if self.declared:
            self._whole &= not pc.any(pc.match_substring(values, ".")).as_py()
        else:
            whole, decimal = read_numbers(values)
            self._whole &= bool(whole.all())
            self._number = bool((whole | decimal).all())
        if self._number:
            numbers: npt.NDArray[np.float64] = values.cast(pa.float64()).to_numpy()
            least, most = int(numbers.argmin()), int(numbers.argmax())
            low = (float(numbers[least]), str(values[least].as_py()))
            high = (float(numbers[most]), str(values[most].as_py()))
            self._low = min(self._low or low, low)
            self._high = max(self._high or high, high)

    def _add_dates(self, values: pa.Array) -> None:
        if self._pattern is None:
            first = values[0].as_py()
            self._pattern = next((p for p in (_DATE, _TIMESTAMP) if p.match(first)), None)
        self._patterned = self._pattern is not None and bool(
            pc.all(pc.match_substring_regex(values, self._pattern.pattern)).as_py()
        )
