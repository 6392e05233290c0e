"""Catalogs that somebody tampered with, and all that a user does with one."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import dovetail
from dovetail.errors import DovetailError

CANARY = "canary-that-nobody-may-see"
_JUNK = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b"5",
    b"\0" * 64,
    b'{"a":' * 50_000,
    b"PK\x03\x04",
    b"PAR1" * 9,
)


def build(folder: Path) -> Path:
    """A small catalog with everything that a catalog has; returns its folder."""
    with closing(sqlite3.connect(folder / "shop.sqlite")) as shop, shop:
        shop.execute("CREATE TABLE customers (customer_id INTEGER, name TEXT, city TEXT)")
        shop.execute("CREATE TABLE orders (order_id INTEGER, customer_id INTEGER, total REAL)")
        people = [(n, f"name {n}", f"city {n % 7}") for n in range(60)]
        shop.executemany("INSERT INTO customers VALUES (?, ?, ?)", people)
        sales = [(1000 + n, n % 60, n / 4) for n in range(200)]
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", sales)
    return dovetail.build(f"shop={folder / 'shop.sqlite'}", into=folder / "catalog").folder


def use(catalog: Path, source: Path) -> int:
    """Open, search, ask, follow joins, run SQL and update; returns how many steps went through.

    Errors of ours are what a user is told; any other exception is a defect and is raised.
    """
    steps: tuple[Callable[[], object], ...] = (
        lambda: list(dovetail.open(catalog)),
        lambda: dovetail.open(catalog).search("customers by city"),
        lambda: dovetail.open(catalog).ask("What did customers in city 3 order?"),
        lambda: dovetail.open(catalog).ask("orders").ddl(),
        lambda: dovetail.JoinGraph.of(dovetail.open(catalog).reader).edges,
        lambda: dovetail.build(f"shop={source}", into=catalog),
        lambda: dovetail.open(catalog).ask("What did customers in city 3 order?"),
    )
    done = 0
    for step in steps:
        with suppress(DovetailError):
            step()
            done += 1
    return done


def tamper(catalog: Path, outside: Path, draw: random.Random) -> str:
    """Do some harm to a catalog; returns what was done. `outside` holds files of the user's."""
    # Not through a link that an earlier harm left, which leads to a file of the user's.
    files = sorted(path for path in catalog.rglob("*") if path.is_file() and _own(path))
    file = draw.choice(files)
    what = draw.choice((_flip, _cut, _replace, _swap, _delete, _link_file, _link_folder, _pipe))
    what(file, outside, draw)
    return f"{what.__name__.strip('_')} {file.relative_to(catalog)}"


def _own(file: Path) -> bool:
    return not file.is_symlink() and file.stat().st_nlink == 1


def _flip(file: Path, _: Path, draw: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _times in range(draw.choice((1, 3, 40)) if content else 0):
        content[draw.randrange(len(content))] = draw.randrange(256)
    file.write_bytes(content)


def _cut(file: Path, _: Path, draw: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: draw.randrange(len(content) + 1)])


def _replace(file: Path, _: Path, draw: random.Random) -> None:
    file.write_bytes(draw.choice(_JUNK))


def _swap(file: Path, _: Path, draw: random.Random) -> None:
    """Put the content of a file of the same kind in its place."""
    others = sorted(file.parents[2].rglob(f"*{file.suffix}"))
    file.write_bytes(draw.choice(others).read_bytes() if others else b"")


def _delete(file: Path, _: Path, draw: random.Random) -> None:
    if draw.random() < 0.5:
        file.unlink()
    else:
        shutil.rmtree(file.parent)


def _link_file(file: Path, outside: Path, draw: random.Random) -> None:
    file.unlink()
    target = draw.choice(sorted(outside.iterdir()))
    if draw.random() < 0.3 and target.is_file():
        os.link(target, file)
    else:
        file.symlink_to(target)


def _link_folder(file: Path, outside: Path, draw: random.Random) -> None:
    folder = file.parent
    if not any(parent.name == "catalog" for parent in folder.parents):
        folder = folder / "staging"
    shutil.rmtree(folder, ignore_errors=True)
    folder.symlink_to(outside, target_is_directory=True)


def _pipe(file: Path, _: Path, __: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def harm(whole: Path, place: Path, seed: int) -> tuple[list[str], str]:
    """Tamper with a copy of a catalog and use it; returns what was done and what went wrong.

    `whole` is what `build` wrote, `place` an empty folder. Wrong are an exception that is not ours,
    and a file of the user's that is not as it was.
    """
    shutil.copytree(whole, place / "here")
    mine = place / "mine"
    (mine / "tmpabcdefgh").mkdir(parents=True)
    for file in (mine / "letter.txt", mine / "tmpabcdefgh" / "photo.jpg"):
        file.write_text(CANARY)
    draw = random.Random(seed)
    done: list[str] = []
    catalog = place / "here" / "catalog"
    for _ in range(draw.choice((1, 1, 3))):
        with suppress(OSError, ValueError, IndexError):  # what it would harm is gone already
            done.append(tamper(catalog, mine, draw))
    try:
        use(catalog, place / "here" / "shop.sqlite")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        return done, f"{type(error).__name__}: {error}"
    whole_still = all(file.read_text() == CANARY for file in mine.rglob("*") if file.is_file())
    return done, "" if whole_still else "a file of the user's was changed"
