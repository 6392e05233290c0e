"""The offline line: every stage is run, told of and timed, from Python as from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dovetail
from dovetail.catalog.descriptions import laid_descriptions
from dovetail.errors import UsageError
from tests.offline.test_describe import about, make
from tests.support.command_line import run
from tests.support.endpoint import endpoint

STAGES = ["profile", "joins", "families", "embeddings", "search_index", "describe"]


@pytest.fixture
def shop(tmp_path: Path) -> str:
    make(tmp_path / "shop.sqlite", orders="(1, 'x'), (2, NULL)", items="(1, 'y')")
    return f"shop={tmp_path / 'shop.sqlite'}"


def test_every_stage_is_told_of_and_timed(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dovetail.Progress] = []
    settings = dovetail.Settings(llm="openai:tiny")
    with endpoint(about) as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        into = tmp_path / "catalog"
        summary = dovetail.update([shop], into=into, settings=settings, on_progress=seen.append)
        again = dovetail.update(into=into, settings=settings)
    assert [stage.stage for stage in summary.stages] == STAGES
    assert all(stage.seconds >= 0 and stage.cpu_seconds >= 0 for stage in summary.stages)
    assert summary.seconds == sum(stage.seconds for stage in summary.stages)
    phases = list(dict.fromkeys(progress.phase for progress in seen))
    assert phases == ["list", "read", "write", "join", "family", "embed", "index", "describe"]
    assert summary.descriptions is not None
    assert summary.descriptions.written == 2
    laid = laid_descriptions(summary.catalog.reader)
    texts = {table.name: found.text for table, found in laid.items()}
    assert texts == {"items": "All about items.", "orders": "All about orders."}
    # Nothing changed, so nothing is embedded or indexed again, and no model is asked.
    assert [stage.stage for stage in again.stages] == [*STAGES[:3], "describe"]
    assert again.descriptions is not None
    assert (again.descriptions.written, again.descriptions.reused, len(server.asked)) == (0, 2, 1)


def test_python_and_the_command_line_build_the_same(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint(about) as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        settings = dovetail.Settings(llm="openai:tiny")
        built = dovetail.build(shop, into=tmp_path / "built", settings=settings)
        done = run("index", shop, "-C", str(tmp_path / "indexed"), "--llm", "openai:tiny", "--json")
    told = json.loads(done.stdout)
    assert [stage["stage"] for stage in told["stages"]] == STAGES[:-1]
    assert told["retained"] == []
    assert told["descriptions"]["reused"] == 0
    indexed = dovetail.open(tmp_path / "indexed")
    assert laid_descriptions(built.reader) == laid_descriptions(indexed.reader)
    assert built.reader.records.contents == indexed.reader.records.contents


def test_no_model_is_asked_unless_one_is_set(shop: str, tmp_path: Path) -> None:
    summary = dovetail.update([shop], into=tmp_path / "catalog")
    assert summary.descriptions is None
    quiet = dovetail.Settings(llm="openai:tiny")  # an endpoint that nobody runs
    again = dovetail.update(into=tmp_path / "catalog", settings=quiet, describe=False)
    assert again.descriptions is None
    with pytest.raises(UsageError, match="describing tables asks a language model and none is set"):
        dovetail.build(shop, into=tmp_path / "catalog", describe=True)
