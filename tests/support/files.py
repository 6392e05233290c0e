"""Files to index, catalogs made of them, and both damaged on purpose."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import dovetail
from dovetail import Catalog, Settings, Table, UpdateSummary
from dovetail.atomic import seal
from dovetail.catalog.segment import Segment
from dovetail.plugins import open_source
from dovetail.profile.batch import TableToRead, profile_batch
from dovetail.profile.profiler import ProfileOptions
from dovetail.sources.resolve import expand, root
from tests.support import command_line

GOOD = "id,city\n1,Rome\n2,Oslo\n"


MEGABYTE = 1_000_000


def update(*sources: Path | str, into: Path, **settings: object) -> UpdateSummary[Catalog]:
    """Update a catalog; without vectors, unless the settings name an embedder."""
    chosen = Settings().but(**{"embedder": "none", **settings})
    return dovetail.update([str(source) for source in sources], into=into, settings=chosen)


def profiled(file: Path, into: Path) -> Table:
    """The one table of a file as it is profiled, without a catalog around it."""
    (spec,) = expand(root(str(file), Path.cwd()))
    with closing(open_source(spec)) as source:
        tables = [TableToRead(spec, listing).to_json() for listing in source.tables()]
    job = {"tables": tables, "options": ProfileOptions().to_json()}
    into.mkdir()
    done = profile_batch(job, into, lambda _: None)
    assert not done["skipped"], done["skipped"]
    (table,) = Segment(into).records().domain_tables(0, 1)
    return table


def run(
    *arguments: object, cwd: Path, before: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run the command line, in a process where something stands before it."""
    if not before:
        return command_line.run(*map(str, arguments), cwd=cwd, COLUMNS="200")
    return subprocess.run(
        [*before, sys.executable, "-m", "dovetail", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
    )


Run = Callable[..., subprocess.CompletedProcess[str]]


def names(catalog: dovetail.Catalog) -> list[str]:
    return [table.name for table in catalog.ids]


def put(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def put_sqlite(path: Path, *statements: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def put_parquet(path: Path, **columns: pa.Array) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def tree(into: Path) -> dict[str, bytes]:
    """All files of a catalog but its lock."""
    found = [path for path in into.rglob("*") if path.is_file() and path.name != "lock"]
    return {str(path.relative_to(into)): path.read_bytes() for path in found}


def parts(into: Path) -> dict[str, bytes]:
    """All files of a catalog's segments and of the parts of its generation, whichever made them."""
    return {
        re.sub(r"generations/\d+/", "", name): content
        for name, content in tree(into).items()
        if name.startswith(("generations/", "segments/"))
    }


def forget_derived(into: Path) -> None:
    """Have a catalog lack all that is derived from its records, as if that had never been made."""
    records = json.loads((into / "manifest.json").read_text())["parts"]["records"]
    edit_manifest(into, parts={"records": records})


def random_bytes(size: int) -> bytes:
    return bytes((number * 167 + 13) % 251 for number in range(size))


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def edit_manifest(catalog: Path, **values: object) -> None:
    path = catalog / "manifest.json"
    content = json.loads(path.read_text())
    content |= {**values, "crc32": None}
    path.write_bytes(seal({key: item for key, item in content.items() if item is not None}))


def one(catalog: Path, name: str) -> Path:
    (path,) = catalog.glob(f"segments/*/{name}")
    return path
