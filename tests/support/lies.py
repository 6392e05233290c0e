"""Files that lie about themselves in the ways that once succeeded, each with other numbers: what
they say is true of the bytes, or they are refused in a line, in a bounded time and memory."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq

from dovetail.errors import SourceError
from dovetail.sources.file_formats import require_shallow, write_parquet
from dovetail.sources.lake_tables import require_inside
from dovetail.sources.workbook import read_sheet
from tests.support.hostile_files import NUMBERS, arrow_file, cell, workbook

# Seconds that no file of a few bytes may take, however loaded a machine is.
_SECONDS = 60.0
_TEXT = "abcdef"
Ended = tuple[str, str]


def lies(folder: Path) -> Callable[[random.Random], Ended]:
    """Offsets of Arrow, depth of JSON, cells and merged ranges of a sheet, links of a lake."""
    number = 0

    def case(draw: random.Random) -> Ended:
        nonlocal number
        number += 1
        place = folder / f"file{number}"
        place.mkdir()
        kind = draw.choice((_offsets, _depth, _cells, _merged, _links))
        began = time.monotonic()
        try:
            how, wrong = kind(place, draw)
        except SourceError as error:
            how, wrong = "refused", "" if "\n" not in str(error) else str(error)
        slow = "took too long" if time.monotonic() - began > _SECONDS else ""
        return f"{kind.__name__.strip('_')}, {how}", wrong or slow

    return case


def _offsets(place: Path, draw: random.Random) -> Ended:
    """Two texts: none has a byte that is not in the file's six."""
    inside = [draw.randrange(7) for _ in range(3)]
    odd = [draw.choice([*range(-9, 99), *(n for n in NUMBERS if abs(n) < 1 << 31)]) for _ in "123"]
    offsets = draw.choice((inside, odd, sorted(inside)))
    file, out = arrow_file(place / "a.arrow", offsets), place / "a.parquet"
    write_parquet(str(file), str(out))
    cells = pq.read_table(out)["a"].to_pylist()
    told = [_TEXT[start:end] for start, end in pairwise(offsets)]
    return "read", "" if cells == told else f"{offsets}: {cells}"


def _depth(place: Path, draw: random.Random) -> Ended:
    """Values within each other, of lists and objects in turn, with brackets in texts between."""
    depth = draw.choice((5, 400, 600, 5_000, 120_000))
    opened = draw.choices(
        ("[", '{"a":', '{"]}":', '["[{", ', '[{"\\"[":1}, '), k=draw.randint(1, 4)
    )
    levels = [opened[at % len(opened)] for at in range(depth)]
    closed = draw.random() < 0.5
    ends = ["}" if level[0] == "{" else "]" for level in reversed(levels)]
    text = "".join([*levels, "1", *(ends if closed else ())])
    file = place / "deep.json"
    file.write_text(draw.choice(("", "\ufeff", '{"a": 1}\n')) + text)
    require_shallow(str(file))
    return "read", "" if depth < 500 else f"{depth} of {opened}"


def _cells(place: Path, draw: random.Random) -> Ended:
    """Two cells anywhere: what is read has no more rows and columns than lie between them."""
    places = [f"{_letters(draw)}{draw.choice((1, 2, 999, 70_000, 1_048_576, 9**12))}" for _ in "12"]
    book = workbook(place / "far.xlsx", "".join(cell(at, 1) for at in places))
    read = read_sheet(str(book), "s")
    room = read.num_rows * read.num_columns
    return "read", "" if room <= 1 << 27 else f"{places}: {room} cells"


def _merged(place: Path, draw: random.Random) -> Ended:
    """Merged ranges that cannot be, over three cells: these are read."""
    refs = [
        f"{_letters(draw)}{draw.choice((0, 1, 3, 9**8, 9**30))}{draw.choice((':', '', '::', ':A'))}"
        f"{_letters(draw)}{draw.choice((0, 1, 2, 1_048_576))}"
        for _ in range(draw.randint(1, 4))
    ]
    merged = "".join(f'<mergeCell ref="{ref}"/>' for ref in refs)
    cells = "".join(cell(f"A{row}", row) for row in (1, 2, 3))
    book = workbook(place / "m.xlsx", cells, f"<mergeCells>{merged}</mergeCells>")
    read = read_sheet(str(book), "s")
    fits = 2 <= read.num_rows <= 3 and read.num_columns <= 1 << 14
    return "read", "" if fits else f"{refs}: {read.num_rows} rows, {read.num_columns} columns"


def _links(place: Path, draw: random.Random) -> Ended:
    """A data file that a lake names: refused if it lies outside, by whatever way it is named."""
    lake, secret = place / "lake", place / "secret.parquet"
    (lake / "in").mkdir(parents=True)
    for file in (secret, lake / "in" / "a.parquet"):
        file.write_bytes(b"mine")
    (lake / "out").symlink_to(place)
    (lake / "file.parquet").symlink_to(secret)
    (lake / "within.parquet").symlink_to(lake / "in" / "a.parquet")
    names = {
        "in/a.parquet": True, "within.parquet": True, "in/../within.parquet": True,
        "out/lake/in/a.parquet": True, "../secret.parquet": False, "file.parquet": False,
        "out/secret.parquet": False, "in/../../secret.parquet": False,
        "in/../out/secret.parquet": False, f"../{place.name}/secret.parquet": False,
    }  # fmt: skip
    name = draw.choice(list(names))
    path = f"{lake}/{name}"
    way = draw.choice((path, f"file://{path}", f"file:{path}", f"file://{quote(path)}"))
    listed = [str(lake / "in" / "a.parquet"), way]
    draw.shuffle(listed)
    require_inside(str(lake), listed)
    return "read", "" if names[name] else json.dumps(listed)


def _letters(draw: random.Random) -> str:
    return draw.choice(("A", "B", "Z", "AA", "XFD", "ZZZZ", "A" * 40))
