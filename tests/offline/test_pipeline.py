"""The offline line: every stage is run, told of and timed, from Python as from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dovetail
from dovetail.catalog.purposes import purposes
from dovetail.errors import UsageError
from tests.offline.test_purposes import about, make
from tests.support.command_line import run
from tests.support.endpoint import endpoint

STAGES = ["profile", "joins", "families", "embeddings", "search_index", "purposes"]


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
    assert summary.purposes is not None
    assert summary.purposes.written == 2
    texts = {table.name: found.text for table, found in purposes(summary.catalog.reader).items()}
    assert texts == {"items": "All about items.", "orders": "All about orders."}
    # Nothing changed, so nothing is embedded or indexed again, and no purpose is asked for.
    assert [stage.stage for stage in again.stages] == [*STAGES[:3], "purposes"]
    assert again.purposes is not None
    assert (again.purposes.written, again.purposes.reused, len(server.asked)) == (0, 2, 2)


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
    assert [stage["stage"] for stage in told["stages"]] == STAGES
    assert told["retained"] == []
    assert told["purposes"]["reused"] == 0
    indexed = dovetail.open(tmp_path / "indexed")
    assert purposes(built.reader) == purposes(indexed.reader)
    assert built.reader.records.contents == indexed.reader.records.contents


def test_no_model_is_asked_unless_one_is_set(shop: str, tmp_path: Path) -> None:
    summary = dovetail.update([shop], into=tmp_path / "catalog")
    assert summary.purposes is None
    quiet = dovetail.Settings(llm="openai:tiny")  # an endpoint that nobody runs
    again = dovetail.update(into=tmp_path / "catalog", settings=quiet, purposes=False)
    assert again.purposes is None
    with pytest.raises(UsageError, match="purposes asks a language model and none is set"):
        dovetail.build(shop, into=tmp_path / "catalog", purposes=True)
