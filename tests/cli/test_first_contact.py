"""What somebody meets who begins: no command, completion, a source that is not there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import dovetail
from dovetail.errors import UsageError
from tests.support.command_line import Cli
from tests.support.files import GOOD, put, run, update


def test_without_a_command_it_says_what_to_do_next(
    run_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, written = run_cli()
    assert (code, written.splitlines()[0]) == (0, "There is no catalog here yet.")
    assert "dovetail index FILES FOLDERS URLS" in written
    update(put(tmp_path / "good.csv", GOOD), into=tmp_path / ".dovetail")
    code, written = run_cli()
    assert (code, written.splitlines()[0]) == (0, "1 table in .dovetail")
    assert "dovetail ask 'a question'" in written


def test_what_to_do_next_is_a_command_that_starts(tmp_path: Path) -> None:
    said = run(cwd=tmp_path, before=("env", "PATH=/nowhere")).stdout
    assert f"{Path(sys.executable).name} -m dovetail demo" in said


@pytest.mark.parametrize(
    ("words", "offered"), [("dovetail dem", "demo"), ("dovetail index --forg", "--forget")]
)
def test_the_shell_completes_commands_and_options(
    words: str, offered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    monkeypatch.setenv("_DOVETAIL_COMPLETE", "complete_bash")
    assert run(cwd=tmp_path).stdout.split() == [offered]


def test_a_source_that_never_opened_is_not_remembered(
    run_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "good.csv", GOOD)
    url = "bad=postgresql://ann@127.0.0.1:1/erp"
    code, written = run_cli("index", "good.csv", "gone.csv", url, "--embedder", "none")
    assert code == 1
    assert "Skipped gone.csv: there is no such file or folder" in written
    assert "Note: bad is not kept; name it again when it can be read" in written
    assert [spec.label for spec in dovetail.open(".dovetail").reader.manifest.roots] == ["good.csv"]
    assert run_cli("index")[0] == 0


def test_a_source_that_fails_later_is_kept_as_it_was(tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    file = put(tmp_path / "good.csv", GOOD)
    before = update(f"good={file}", into=into).catalog.reader.manifest.roots
    file.rename(tmp_path / "away.csv")
    report = update(f"good={file}", into=into)
    assert [skip.source for skip in report.skipped] == ["good"]
    assert report.catalog.reader.manifest.roots == before


def test_descriptions_of_no_table_are_told(tmp_path: Path) -> None:
    put(tmp_path / "lake" / "good.csv", GOOD)
    words = {"good": "cities that we serve", "orders": "what was ordered", "older": "x"}
    put(tmp_path / "lake" / "descriptions.json", json.dumps(words))
    report = update(tmp_path / "lake", into=tmp_path / "catalog")
    assert report.notices == (
        "descriptions.json describes what is no table here: older, orders; "
        "dovetail tables lists their names",
    )
    assert report.catalog["good"].comment == "cities that we serve"


@pytest.mark.parametrize(
    "source", ["erp=${ERP_URL}", "postgresql://ann@${HOST}/erp", "postgresql://${U}@h/${DATABASE}"]
)
def test_a_variable_stands_for_a_login_alone(source: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a variable may stand for "):
        update(source, into=tmp_path / "catalog")


def test_long_sources_stand_by_a_short_name_that_is_understood(
    run_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "exports of all systems" / "in the year" / "crm.csv", GOOD)
    update("exports of all systems/in the year", into=tmp_path / ".dovetail")
    code, written = run_cli("show", "in the year::crm")
    assert (code, written.splitlines()[0]) == (0, "in the year::crm  2 rows")
    (listed,) = json.loads(run_cli("tables", "--json")[1])["tables"]
    assert listed["source_name"] == "in the year"
    assert listed["id"] == "exports of all systems/in the year::crm"
