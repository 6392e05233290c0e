"""What comes from others and goes to others: locked packages, nothing run on load, archives."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
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


def test_what_make_setup_installs_is_locked() -> None:
    """Every package by its digest, and ours beside them without what they ask for."""
    shown = subprocess.run(
        ["make", "--dry-run", "--always-make", "setup"], cwd=ROOT, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    lines = [line for line in shown.stdout.splitlines() if " install " in line]
    assert any(f"--require-hashes --requirement {LOCK.name}" in line for line in lines)
    ours = [line for line in lines if "--editable" in line]
    assert ours
    assert all("--no-deps" in line for line in ours)


def test_a_bill_of_materials_lists_what_is_installed() -> None:
    listed = {each["name"]: each["version"] for each in sbom()["components"]}
    assert listed["dovetail-tables"] == __version__
    assert {"duckdb", "numpy", "pyarrow"} <= listed.keys()
    assert json.dumps(sbom())


def test_the_lowest_versions_are_constraints() -> None:
    assert {"duckdb==1.5.5", "numpy==2.0.*"} <= set(lowest())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this tree."""
    folder = tmp_path_factory.mktemp("built")
    for target in ("wheel", "sdist"):
        _build(ROOT, folder, target)
    return folder


def _build(tree: Path, into: Path, target: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into), "-t", target]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)


@pytest.mark.slow
def test_wheel_and_sdist_hold_the_same(built: Path, tmp_path: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("dovetail/")}
    tracked = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "dovetail").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == tracked
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.glob("dovetail_tables-*") if path.is_dir())
    _build(unpacked, tmp_path / "again", "wheel")
    (second,) = (tmp_path / "again").glob("*.whl")
    with zipfile.ZipFile(second) as archive, zipfile.ZipFile(wheel) as first:
        contents = [
            {each.filename: each.CRC for each in one.infolist()} for one in (archive, first)
        ]
    assert contents[0] == contents[1]


@pytest.mark.slow
def test_the_wheel_that_pip_installs_runs_the_demo(built: Path, tmp_path: Path) -> None:
    """In an environment of its own, which has the packages that dovetail needs from this one."""
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "fresh"], check=True)
    binaries = tmp_path / "fresh" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(binaries / "python"), "install"]
    subprocess.run(
        [*pip, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True
    )
    (packages,) = (tmp_path / "fresh").glob("lib/python*/site-packages")
    # A path file that is found by a path file is not followed: this tree is not among them.
    (packages / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            [str(binaries / command[0]), *command[1:]], cwd=tmp_path, env=environ,
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout

    assert run("dovetail", "--version") == f"dovetail {__version__}\n"
    where = run("python", "-c", "import dovetail; print(dovetail.__file__)")
    assert Path(where.strip()).is_relative_to(packages)
    assert "::" in run("dovetail", "demo", "--into", "demo")
    listed = json.loads(run("dovetail", "tables", "-C", "demo/catalog", "--json"))["tables"]
    assert listed, "the demo's catalog can be read"
