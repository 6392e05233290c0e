"""Files we write: no link that somebody laid beside them leads a writer elsewhere."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from dovetail import state
from dovetail.atomic import UNFINISHED, open_regular, replace_file
from dovetail.errors import ModelError, UsageError
from dovetail.models.cache import CachedLLM, LoggedLLM
from dovetail.notes.file import put_entry, read_entries
from dovetail.ports import Message
from dovetail.serve.guarded import read_access
from dovetail.settings import Settings, load_settings
from dovetail.sources.frames import write_frames
from tests.support.kinds.prompts import Replies


def lay_links(folder: Path, name: str, victim: Path) -> None:
    """Links by every name that can be guessed: of this process, its threads and fixed ends."""
    for guess in (
        os.getpid(),
        *(one.name for one in Path("/proc/self/task").iterdir()),
        "new",
        "tmp",
    ):
        for link in (f".{name}.{guess}", f"{name}.{guess}"):
            if not (folder / link).is_symlink():
                (folder / link).symlink_to(victim)


def test_notes_state_and_tables_are_not_written_through_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    for name in ("dovetail.notes.toml", "home/dovetail/names.json", "m/t.parquet", "manifest"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lay_links((tmp_path / name).parent, Path(name).name, victim)
    put_entry(tmp_path / "dovetail.notes.toml", "terms", "agent", "seller")
    state.keep("names.json", {"a": 1})
    write_frames({"t": __import__("pyarrow").table({"a": [1]})}, tmp_path / "m")
    replace_file(tmp_path / "manifest", b"{}")
    CachedLLM(Replies("yes"), tmp_path / "replies").complete([Message("user", "hi")])
    assert victim.read_text() == "mine"
    assert len(read_entries(tmp_path / "dovetail.notes.toml")[0]) == 1
    assert state.recall("names.json") == {"a": 1}
    assert (tmp_path / "m" / "t.parquet").stat().st_size
    left = [path for path in tmp_path.rglob("*") if UNFINISHED.fullmatch(path.name)]
    assert left == []


def test_a_name_that_is_taken_is_no_way_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(secrets, "token_hex", lambda _: "0" * 32)
    (tmp_path / f".notes.{'0' * 32}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "notes", b"theirs")
    assert victim.read_text() == "mine"


@pytest.mark.timeout(60)
def test_what_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match="plain file"):
            open_regular(path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "link to a device", "folder"])
def test_settings_tokens_and_logs_that_are_no_plain_files_are_told(
    tmp_path: Path, kind: str
) -> None:
    for name in ("dovetail.toml", "tokens.toml", "log.jsonl"):
        file = tmp_path / name
        if kind == "pipe":
            os.mkfifo(file)
        elif kind == "folder":
            file.mkdir()
        else:
            file.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"cannot read .*dovetail.toml: it is no plain file"):
        load_settings(tmp_path, environ={})
    with pytest.raises(UsageError, match=r"cannot read .*tokens.toml: it is no plain file"):
        read_access(tmp_path / "tokens.toml", {})
    with pytest.raises(ModelError, match="cannot log to"):
        LoggedLLM(Replies("yes"), tmp_path / "log.jsonl").complete([Message("user", "hi")])
    assert load_settings(tmp_path / "none", environ={}) == Settings()
