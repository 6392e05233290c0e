"""Pipes, sockets, devices and folders where a file should be, under names of every format."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import dovetail
from dovetail.errors import DovetailError
from dovetail.models.cache import LoggedLLM
from dovetail.ports import Message
from dovetail.serve.guarded import read_access
from dovetail.settings import load_settings
from dovetail.sources.walk import DATABASE_SUFFIXES, TABLE_SUFFIXES
from tests.support.kinds.case import PLAIN, Case, Draw, Kind
from tests.support.kinds.prompts import Replies

_GOOD = "order_no,city\n1,Oslo\n2,Turin\n"
_BESIDE = ("-wal", "-shm", "-journal")
# Names that mean something in a folder of tables, besides those of formats.
_NAMES = ("descriptions.json", "_metadata.parquet", "metadata.json", "_delta_log", "metadata",
          "dovetail.notes.toml", "manifest.json")  # fmt: skip
_DEVICES = ("/dev/zero", "/dev/null", "/dev/full", "/dev/urandom")


def no_files(folder: Path) -> Kind:
    """Each case lays some where sources are looked for, names one, or lays one beside a catalog:
    nothing waits for it, the good tables are there, and one line says what it is."""
    number = 0
    catalog = _catalog(folder / "home")
    read = _readers(catalog, folder / "home")

    def case(draw: Draw) -> Case:
        nonlocal number
        number += 1
        place = folder / f"place{number}"
        place.mkdir()
        if draw.random() < 0.5:
            return _beside(folder / "home" / draw.choice(list(read)), read, draw)
        return _among(place, draw) if draw.random() < 0.7 else _named(place, draw)

    return case


def _among(place: Path, draw: Draw) -> Case:
    """A folder with two good tables, one of them in parts."""
    _good(place)
    laid: dict[str, str] = {}
    for number in range(draw.randint(2, 6)):
        suffix = draw.choice((*TABLE_SUFFIXES, *DATABASE_SUFFIXES))
        name = draw.choice((f"odd{number}{suffix}", f"odd{number}{suffix}", draw.choice(_NAMES)))
        if not os.path.lexists(place / name):
            laid[name] = _lay(place / name, draw)
    if draw.random() < 0.3:
        name = "beside.sqlite" + draw.choice(_BESIDE)
        shutil.copy(place / "good.sqlite", place / "beside.sqlite")
        laid[name] = _lay(place / name, draw)
    in_part = draw.random() < 0.3 and _lay(place / "parts.csv" / "2.csv", draw) != "folder"
    catalog = dovetail.build(place, into=place.with_suffix(".catalog"), settings=PLAIN)
    there = {table.name for table in catalog.ids}
    told = [str(skip) for skip in catalog.skipped]
    untold = [
        name for name, what in laid.items()
        if what != "folder" and name.startswith("odd")
        and not any(re.search(rf"\b{name.partition('.')[0]}\b", line) for line in told)
    ]  # fmt: skip
    untold += ["2.csv"] if in_part and not any("2.csv" in line for line in told) else []
    wrong = not {"good", "parts", "t"} <= there or untold or any("\n" in line for line in told)
    return "among tables", f"{laid} {in_part}: {there}, {told}" if wrong else ""


def _named(place: Path, draw: Draw) -> Case:
    """A good file and one that is none, each given by name."""
    _good(place)
    odd = place / f"odd{draw.choice((*TABLE_SUFFIXES, *DATABASE_SUFFIXES, '', '.txt'))}"
    what = _lay(odd, draw)
    given = draw.sample([str(place / "good.csv"), str(odd)], 2)
    catalog = dovetail.build(*given, into=place.with_suffix(".catalog"), settings=PLAIN)
    told = [str(skip) for skip in catalog.skipped]
    fine = len(catalog.ids) == 1 and len(told) == 1 and "\n" not in told[0] and odd.name in told[0]
    return "given by name", "" if fine else f"{odd.name} {what}: {list(catalog.ids)}, {told}"


def _beside(file: Path, read: dict[str, Callable[[Path], str]], draw: Draw) -> Case:
    """A file that is read beside a catalog: its reader says in a line what it is."""
    what = _lay(file, draw)
    try:
        told = read[file.name](file)
    except DovetailError as error:
        told = str(error)
    finally:
        shutil.rmtree(file) if what == "folder" else file.unlink()
    fine = told and "\n" not in told and "Traceback" not in told
    return f"beside a catalog, {file.name}", "" if fine else f"{file.name} {what}: {told!r}"


def _lay(path: Path, draw: Draw) -> str:
    """Put something that is no file in a place; says what."""
    what = draw.choice(("pipe", "pipe", "socket", "device", "folder", "link to a pipe"))
    if what == "pipe":
        os.mkfifo(path)
    elif what == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    elif what == "device":
        path.symlink_to(draw.choice(_DEVICES))
    elif what == "folder":
        path.mkdir()
    else:
        hidden = path.with_name(f".{path.name}.pipe")
        if not hidden.exists():
            os.mkfifo(hidden)
        path.symlink_to(hidden)
    return what


def _readers(catalog: dovetail.Catalog, home: Path) -> dict[str, Callable[[Path], str]]:
    """What reads each file beside a catalog; what comes back is the line that says what it is."""

    def noted(file: Path) -> str:
        del file
        return "; ".join(map(str, dovetail.open(catalog.folder, PLAIN).notes.problems))

    def learnt(file: Path) -> str:
        return "; ".join(catalog.learn(str(file)).failed)

    def logged(file: Path) -> str:
        LoggedLLM(Replies("yes"), file).complete([Message("user", "hi")])
        return ""

    def described(file: Path) -> str:
        again = home / "again"
        shutil.rmtree(again, ignore_errors=True)
        built = dovetail.build(home / "good.csv", into=again, settings=PLAIN)
        return f"{len(built)} table" if len(built) == 1 else ""

    def settled(file: Path) -> str:
        load_settings(file.parent, environ={})
        return ""

    def let_in(file: Path) -> str:
        read_access(file, {})
        return ""

    def modelled(file: Path) -> str:
        told = dovetail.update(into=catalog.folder, settings=PLAIN.but(dbt=str(file)))
        return "; ".join(told.notices)

    return {
        "dovetail.notes.toml": noted, "dovetail.toml": settled, "tokens.toml": let_in,
        "log.sql": learnt, "log.jsonl": learnt, "log.parquet": learnt, "log.csv": learnt,
        "manifest.json": modelled, "llm.jsonl": logged, "descriptions.json": described,
    }  # fmt: skip


def _catalog(home: Path) -> dovetail.Catalog:
    home.mkdir()
    _good(home)
    return dovetail.build(home / "good.csv", into=home / "catalog", settings=PLAIN)


def _good(place: Path) -> None:
    (place / "good.csv").write_text(_GOOD)
    (place / "parts.csv").mkdir()
    (place / "parts.csv" / "1.csv").write_text(_GOOD)
    with closing(sqlite3.connect(place / "good.sqlite")) as database, database:
        database.execute("CREATE TABLE t (a)")
