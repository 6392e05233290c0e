"""Draws rows of a stream uniformly without replacement, and writes cells out as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.hashing import is_text, iso_text

# Cells are cut to so many characters wherever they are shown or stored as text.
CELL_WIDTH = 200


class RowSample:
    """Keeps the rows with the smallest of seeded random numbers: every row is as likely."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._drawn: list[tuple[float, int, tuple[str | None, ...]]] = []
        self._seen = 0

    def add(self, columns: Sequence[pa.Array], rows: int) -> None:
        """Let the rows of a batch take part."""
        draws = self._random.random(rows)
        worst = self._drawn[-1][0] if self._drawn and len(self._drawn) == self._size else 1.0
        chosen = np.flatnonzero(draws < worst)
        chosen = chosen[np.argsort(draws[chosen], kind="stable")[: self._size]]
        if len(chosen):
            cells = [render(column, chosen) for column in columns]
            new = [
                (float(draws[row]), self._seen + int(row), cell)
                for row, cell in zip(chosen, zip(*cells, strict=True), strict=True)
            ]
            self._drawn = sorted(self._drawn + new)[: self._size]
        self._seen += rows

    def rows(self) -> tuple[tuple[str | None, ...], ...]:
        """The sample, in the order the rows stand in."""
        return tuple(cells for _, _, cells in sorted(self._drawn, key=lambda drawn: drawn[1]))


def render(values: pa.Array, rows: npt.NDArray[np.intp]) -> list[str | None]:
    r"""Write some of the values out as text, cut to `CELL_WIDTH`; nulls stay None.

    >>> render(pa.array([b"\x01\xff", None]), np.array([1, 0]))
    [None, '0x01ff']
    """
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        cells = iso_text(values.take(pa.array(rows)), shorten=False).to_pylist()
    elif is_text(values.type):  # by its bytes, which need not be valid UTF-8
        buffers = [values[row].as_buffer() for row in rows.tolist()]
        cells = [
            None if raw is None else raw.to_pybytes().decode("utf-8", "backslashreplace")
            for raw in buffers
        ]
    else:  # a handful of cells one by one is quicker than a kernel
        cells = [values[row].as_py() for row in rows.tolist()]
    return [None if cell is None else write_out(cell) for cell in cells]


def write_out(value: object) -> str:
    """Write one value out as text, cut to `CELL_WIDTH` characters, the last one an ellipsis."""
    if isinstance(value, bytes):
        text = "0x" + value[:CELL_WIDTH].hex()
    elif isinstance(value, bool):
        text = str(value).lower()
    else:
        text = str(value)
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1] + "…"
