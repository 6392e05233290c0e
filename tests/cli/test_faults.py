"""Faults on the command line: one line each, the exit code, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

import dovetail
from tests.support.contents import contents
from tests.support.files import (
    GOOD,
    Run,
    edit_manifest,
    names,
    one,
    put,
    put_parquet,
    put_sqlite,
    random_bytes,
    rewrite,
    run,
    update,
)


@pytest.fixture
def restricted(tmp_path: Path) -> Run:
    """Run the command line so that permissions hold, even for root."""
    without = "-dac_override,-dac_read_search"
    before = ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}"]
    if os.geteuid() != 0:
        before = []
    elif not shutil.which("setpriv"):
        pytest.skip("permissions do not hold for root, and there is no setpriv to make them")
    closed = put(tmp_path / "closed", "")
    closed.chmod(0)
    if subprocess.run([*before, "cat", closed], capture_output=True, check=False).returncode == 0:
        pytest.skip("permissions do not hold for root here, not even with setpriv")
    return lambda *arguments: run(*arguments, cwd=tmp_path, before=before)


@pytest.mark.slow
def test_no_permission_to_read(restricted: Run, tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    put(lake / "good.csv", GOOD)
    put(lake / "closed.csv", GOOD)
    put_parquet(lake / "closed.parquet", n=pa.array([1]))
    put_sqlite(lake / "closed.sqlite", "CREATE TABLE t (i)")
    put(lake / "shut" / "inner.csv", GOOD)
    put_sqlite(lake / "shut" / "inner.sqlite", "CREATE TABLE u (i)")
    first = restricted("index", f"lake={lake}", "-C", into)
    assert (first.returncode, first.stderr) == (0, "")
    before = contents(dovetail.open(into))
    assert len(before) == 6
    for name in ("closed.csv", "closed.parquet", "closed.sqlite", "shut"):
        (lake / name).chmod(0)
    put(lake / "new.csv", GOOD)
    done = restricted("index", "-C", into, "--check")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[1:] == [
        "Skipped lake::closed.csv: Permission denied",
        "Skipped lake::closed.parquet: Permission denied",
        "Skipped lake/closed.sqlite: Permission denied",
        "Skipped lake/shut: Permission denied",
        "5 of these are still in the catalog as they were before.",
    ]
    after = contents(dovetail.open(into))
    assert {table: after[table] for table in before} == before
    assert set(after) - set(before) == {"lake::new"}


@pytest.mark.slow
def test_no_permission_for_the_catalog(restricted: Run, tmp_path: Path) -> None:
    put(tmp_path / "lake" / "good.csv", GOOD)
    built = update(tmp_path / "lake", into=tmp_path / ".dovetail").catalog.folder
    before = contents(dovetail.open(built))
    unwritable = "cannot write a catalog at .dovetail: Permission denied; choose another folder"
    cases = [
        (built, 0o555, "tables", 0, ""),
        (built, 0o000, "tables", 1, "cannot read .dovetail: Permission denied; check its"),
        (built, 0o000, "index", 1, "cannot read .dovetail: Permission denied; check its"),
        (built / "lock", 0o444, "index", 1, unwritable),
        (one(built, "hashes.npy"), 0, "tables", 1, "/hashes.npy: Permission denied; check its"),
        (built / "segments", 0o555, "index", 1, "cannot write to .dovetail: Permission denied;"),
    ]
    put(tmp_path / "lake" / "new.csv", GOOD)
    for path, mode, command, code, line in cases:
        usual = path.stat().st_mode
        path.chmod(mode)
        done = restricted(command)
        path.chmod(usual)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1 if line else 0)
        assert line in done.stderr
        assert contents(dovetail.open(built)) == before


@pytest.mark.slow
def test_the_command_line_names_what_it_skipped(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    put(lake / "good.csv", GOOD)
    put(lake / "ragged.csv", "a,b\n1,2\n3\n")
    put(lake / "bad.sqlite", random_bytes(500))
    ragged = (
        "1 of 2 lines do not have 2 values (line 3 has 1); say which line names the columns: "
        "dovetail index FILE --csv header=N"
    )
    # A table that cannot be read is told; a source that cannot be read is an error, too.
    done = run("index", "lake", "--exclude", "bad*", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[1:] == [
        f"Skipped lake::ragged: {ragged}",
        "Skipped lake/bad.sqlite: is not a SQLite database",
    ]
    (lake / "bad.sqlite").unlink()
    done = run("index", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["skipped"] == [{"source": "lake", "table": "ragged", "reason": ragged}]
    done = run("index", "lake", "gone.parquet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Skipped gone.parquet: there is no such file or folder" in done.stdout.splitlines()
    assert names(dovetail.open(tmp_path / ".dovetail")) == ["good"]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("index", "bad.sqlite", "-C", "new"), 1, "bad.sqlite: is not a SQLite database"),
        (("index", "good.csv", "-C", "good.csv"), 1, "cannot write a catalog at good.csv: "),
        (("tables", "-C", "damaged"), 1, "damaged/manifest.json is damaged: "),
        (("index", "good.csv", "-C", "damaged"), 1, "mend it: dovetail repair -C damaged"),
        (("tables", "-C", "newer"), 1, "remove the folder and make it again with dovetail index"),
    ],
)
def test_errors_are_one_line_and_never_a_traceback(
    arguments: tuple[str, ...], code: int, line: str, tmp_path: Path
) -> None:
    put(tmp_path / "good.csv", GOOD)
    put(tmp_path / "bad.sqlite", random_bytes(500))
    for name in ("fine", "damaged", "newer"):
        update(tmp_path / "good.csv", into=tmp_path / name)
    rewrite(tmp_path / "damaged" / "manifest.json", lambda content: content[:50])
    edit_manifest(tmp_path / "newer", version=99)
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("dovetail: ")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
