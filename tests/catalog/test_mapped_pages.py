"""Mapped arrays let go of their memory, and are read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.catalog.files import mapped_array, release_pages


def resident() -> int:
    """Bytes of files that this process has in memory."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("memory is told by Linux alone")
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssFile"))
    return int(line.split()[1]) << 10


def test_released_pages_are_read_again(tmp_path: Path) -> None:
    values = np.arange(1 << 21)
    np.save(tmp_path / "values.npy", values)
    mapped = mapped_array(tmp_path / "values.npy")
    assert int(mapped.sum()) == int(values.sum())
    before = resident()
    release_pages(mapped[5:].reshape(1, -1))
    assert before - resident() > mapped.nbytes // 2
    assert np.array_equal(mapped, values)
    release_pages(values)  # not mapped: nothing happens
    assert np.array_equal(mapped, values)
