"""Texts made from good ones, into every parser of outside input, and into a server."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from uuid import uuid4

from tests.soak.figures import Chunk, Ended, Figures, Wanted, in_chunks
from tests.support.parsers import Parser, fuzz
from tests.support.parsers import parsers as all_parsers

_CHUNK = 5_000
Open = Callable[[Path], Mapping[str, Parser]]


def parsers(wanted: Wanted) -> Figures:
    """Every parser that needs no server."""
    return _fuzzed(all_parsers, wanted)


def requests(wanted: Wanted) -> Figures:
    """What a server is sent."""
    from tests.support.server_parsers import server_parsers

    return _fuzzed(server_parsers, wanted)


def _fuzzed(opened: Open, wanted: Wanted) -> Figures:
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        found = in_chunks(partial(_chunk, opened, folder), _CHUNK, wanted)
        known = opened(Path(folder, "counted"))
    good = sum(len(one.good) for one in known.values())
    found["measured"] = {"corpus": f"{good} good texts of {len(known)} parsers, changed by seed"}
    return found


def _chunk(opened: Open, folder: str, chunk: Chunk) -> Ended:
    return fuzz(_known(opened, folder), *chunk)


@cache
def _known(opened: Open, folder: str) -> Mapping[str, Parser]:
    """The parsers of this process, in a folder of its own."""
    return opened(Path(folder, uuid4().hex))
