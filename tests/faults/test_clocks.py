"""A clock that jumps, back or forth, before an update and in the middle of one: nothing is lost,
and what changed is read.

A process is told another time wherever Python tells it one; files keep the times that they were
written at by such a clock.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import dovetail
from dovetail.notes.file import ABOUT
from dovetail.notes.notes import file_of, note
from tests.faults import place
from tests.faults.events import DONE, in_process

_TEN_YEARS = 10 * 365 * 86_400
JUMPS = [-_TEN_YEARS, -1, _TEN_YEARS]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A catalog whose sources have changed since."""
    place.prepare(tmp_path / "here", "update")
    return tmp_path / "here"


@pytest.mark.parametrize("jump", JUMPS)
def test_files_of_another_time_are_read(jump: int, here: Path) -> None:
    """They were written while the clock was elsewhere: older, or newer, than all else."""
    for file in here.rglob("*.csv"):
        there = file.stat().st_mtime + jump
        os.utime(file, (there, there))
    assert _done(partial(place.update, here)) == DONE
    assert place.contents_of(here / "catalog") == _indexed_anew(here)


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("after", [0, 3])
def test_a_clock_that_jumps_during_an_update(jump: int, after: int, here: Path) -> None:
    assert _done(partial(_at_another_time, jump, after, partial(place.update, here))) == DONE
    found = place.contents_of(here / "catalog")
    assert found == _indexed_anew(here)
    assert dovetail.check(here / "catalog") == []


@pytest.mark.parametrize("jump", JUMPS)
def test_what_was_read_before_the_clock_jumped_is_not_read_again(jump: int, here: Path) -> None:
    place.update(here)
    summary = partial(dovetail.update, into=here / "catalog", settings=place.WORDS)
    ended, told = in_process(partial(_at_another_time, jump, 0, lambda: summary().unchanged))
    assert (ended, told) == (DONE, "4")


def test_a_change_that_keeps_size_and_time_is_seen(here: Path) -> None:
    """A clock set back to the very moment, an archive or a copy that brings its own times."""
    place.update(here)
    file = here / "files" / "t0.csv"
    written = file.stat()
    content = file.read_text()
    file.write_text(content.replace("v3", "w3"))
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (written.st_size, written.st_mtime_ns)
    place.update(here)
    assert place.contents_of(here / "catalog") == _indexed_anew(here)


def test_notes_that_keep_size_and_time_are_read_again(here: Path) -> None:
    catalog = dovetail.open(here / "catalog", place.WORDS)
    assert "invoices" not in str(catalog.notes)
    note(catalog.reader, ABOUT, "customers", "These are the sellers.")
    file = file_of(catalog.reader)
    assert file is not None
    written = file.stat()
    assert "sellers" in str(catalog.notes)
    file.write_text(file.read_text().replace("sellers", "ownerss"))
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert "ownerss" in str(catalog.notes)


def _at_another_time(jump: int, after: int, step: Callable[[], object]) -> object:
    """Do a step while the clock jumps by so many seconds, when it has been read so many times."""
    told, told_ns = time.time, time.time_ns
    read = [0]

    def moved() -> int:
        read[0] += 1
        return jump if read[0] > after else 0

    time.time = lambda: told() + moved()
    time.time_ns = lambda: told_ns() + moved() * 1_000_000_000
    return step()


def _done(step: Callable[[], object]) -> str:
    ended, told = in_process(step)
    return ended if ended == DONE else told


def _indexed_anew(here: Path) -> dict[str, object]:
    shutil.rmtree(here / "catalog")
    assert _done(partial(place.first, here)) == DONE
    return place.contents_of(here / "catalog")
