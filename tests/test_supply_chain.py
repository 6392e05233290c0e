"""What comes from others and goes to others: locked packages, nothing run on load, archives."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from dovetail import __version__
from tests.packages import LOCK, ROOT, canonical, lowest, sbom

SOURCES = sorted(path for folder in ("src", "bench/src") for path in (ROOT / folder).rglob("*.py"))
# Modules that run what they load, and functions that run what they are given.
RUNNING = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "yaml",
}
CALLED = {"eval", "exec", "compile", "__import__"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_that_is_read_is_run(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                assert not {name.name.partition(".")[0] for name in names} & RUNNING
            case ast.ImportFrom(module=str(module)):
                assert module.partition(".")[0] not in RUNNING
            case ast.Call(func=ast.Name(id=name)):
                assert name not in CALLED
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                pytest.fail("an array of objects is a pickle")
            case _:
                pass


def test_the_lock_has_digests_of_every_package_and_no_address() -> None:
    text = LOCK.read_text("utf-8")
    assert "://" not in text
    pinned = re.findall(
        r"^([a-z0-9-]+)==\S+(?: ; .+)?(( \\\n    --hash=sha256:[0-9a-f]{64})+)$", text, re.M
    )
    names = {name for name, *_ in pinned}
    lines = [line for line in text.splitlines() if not line.startswith(("#", " "))]
    assert len(lines) == len(pinned)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    assert {canonical(re.split(r"[\[<>=]", each, maxsplit=1)[0]) for each in wanted} <= names
    # Files of other kinds of machine are among them.
    assert next(digests for name, digests, _ in pinned if name == "numpy").count("sha256") > 20


def test_a_bill_of_materials_lists_what_is_installed() -> None:
    listed = {each["name"]: each["version"] for each in sbom()["components"]}
    assert listed["dovetail-tables"] == __version__
    assert {"duckdb", "numpy", "pyarrow"} <= listed.keys()
    assert json.dumps(sbom())


def test_the_lowest_versions_are_constraints() -> None:
    assert {"duckdb==1.5.5", "numpy==2.0.*"} <= set(lowest())


def test_wheel_and_sdist_hold_the_same_and_are_installed(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path), "-t"]
    for target in ("wheel", "sdist"):
        subprocess.run([*build, target], cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("dovetail/")}
        archive.extractall(tmp_path / "installed")
    tracked = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "dovetail").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == tracked
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.glob("dovetail_tables-*") if path.is_dir())
    again = [*build[:-2], str(tmp_path / "again"), "-t", "wheel"]
    subprocess.run(again, cwd=unpacked, check=True, capture_output=True)
    (second,) = (tmp_path / "again").glob("*.whl")
    with zipfile.ZipFile(second) as archive, zipfile.ZipFile(wheel) as first:
        contents = [
            {each.filename: each.CRC for each in one.infolist()} for one in (archive, first)
        ]
    assert contents[0] == contents[1]
    shown = subprocess.run(
        [sys.executable, "-P", "-m", "dovetail", "--version"],
        env={"PYTHONPATH": str(tmp_path / "installed")}, cwd=tmp_path,
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert shown.stdout == f"dovetail {__version__}\n"
