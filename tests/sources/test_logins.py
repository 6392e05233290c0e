"""Logins and the environment: no login is kept or shown, and no variable sent to a stranger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dovetail
from dovetail.errors import DovetailError, SourceError, UsageError
from dovetail.offline.plan import resolve_roots
from dovetail.ports import SourceSpec
from dovetail.settings import Settings
from dovetail.sources import logins
from dovetail.sources.resolve import expand, root

PASSWORD = "Tr0ub4dor"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has named no source so far."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(logins, "_named", {})
    for name in ("PGUSER", "PGPASSWORD", "MYSQL_USER", "MYSQL_PWD", "DOVETAIL_TRUST"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "state"


@pytest.mark.parametrize(
    "argument",
    [
        "a/b=postgresql://ann:{pw}@h/erp",
        "jdbc:postgresql://ann:{pw}@h/erp",
        "jdbc:mysql://h/erp?user=ann&password={pw}",
        "erp=jdbc:postgresql://h/erp?password={pw}",
        "postgresql:/ann:{pw}@h/erp",
        "postgresql:///ann:{pw}@h/erp",
        "postgresql:ann:{pw}@h/erp",
        "host=h user=ann password={pw} dbname=erp",
        "Server=h;Uid=ann;Pwd={pw};Database=erp",
        "ann:{pw}@h/erp",
        "erp=ann:{pw}@h:5432/erp",
        "postgresql//ann:{pw}@h/erp",
        "url: postgresql://ann:{pw}@h/erp",
        "https:/h/orders.csv?sig={pw}",
        "a/b=https://h/orders.csv?sig={pw}",
        "url: https://h/orders.csv?a=b&sig={pw}",
    ],
)
def test_what_looks_like_a_login_is_refused_and_not_shown(
    argument: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = argument.replace("{pw}", PASSWORD)
    with pytest.raises(DovetailError) as refused:
        dovetail.build(text, into=here / "catalog")
    assert PASSWORD not in str(refused.value)
    with pytest.raises(UsageError) as unknown:
        resolve_roots([], [text], [], Settings())
    assert PASSWORD not in str(unknown.value)
    kept = [file for file in here.rglob("*") if file.is_file()]
    assert not [file for file in kept if PASSWORD.encode() in file.read_bytes()]
    assert PASSWORD not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("argument", "label"),
    [
        ("my erp=postgresql://ann:{pw}@h/erp", "my erp"),
        (" postgresql://ann:{pw}@h/erp", "postgresql://h/erp"),
        ("erp= POSTGRES://ann:{pw}@H/erp \n", "erp"),
    ],
)
def test_a_url_is_known_as_one_with_any_name_and_space_around_it(
    argument: str, label: str, here: Path
) -> None:
    found = root(argument.replace("{pw}", PASSWORD), here)
    assert (found.label, found.kind, found.location) == (label, "postgresql", "postgresql://h/erp")
    assert PASSWORD not in json.dumps(found.stored())
    assert found.credentials == {"user": "ann", "password": PASSWORD}
    forgotten = resolve_roots([], ["postgresql://x:y@h/erp"], [root("postgresql://h/erp", here)],
                              Settings())  # fmt: skip
    assert forgotten.all == ()


def test_a_file_may_be_called_anything(here: Path) -> None:
    for name in ("password=1.csv", "ann:x@h.csv", "mysql:dump.db"):
        (here / name).touch()
        assert root(name, here).kind == "path"


@pytest.mark.parametrize("escaped", ["%00", "%0A", "%1B"])
def test_a_password_with_a_control_character_is_refused(escaped: str, here: Path) -> None:
    with pytest.raises(UsageError) as refused:
        root(f"postgresql://ann:{PASSWORD}{escaped}x@h/erp", here)
    assert PASSWORD not in str(refused.value)


def _foreign(location: str, **credentials: str) -> SourceSpec:
    kind = location.partition("://")[0]
    return SourceSpec("erp", kind, location, "erp", credentials=credentials)


@pytest.mark.parametrize(
    ("place", "variable"),
    [
        (_foreign("postgresql://evil/x", password="${AWS_SECRET}"), "AWS_SECRET"),
        (_foreign("postgresql://evil/x", user="${AWS_SECRET}", password="x"), "AWS_SECRET"),
        (_foreign("mysql://evil/x", password="a${AWS_SECRET}b"), "AWS_SECRET"),
        (_foreign("postgresql://evil/x"), "PGPASSWORD"),
        (_foreign("mysql://evil/x", user="ann"), "MYSQL_PWD"),
    ],
)
def test_a_catalog_gets_no_variable_for_a_server_that_was_not_named(
    place: SourceSpec, variable: str, monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    assert expand(place) == [place]  # nothing of ours is in it
    monkeypatch.setenv(variable, "precious")
    with pytest.raises(SourceError, match=f"would send {variable} of the environment to"):
        expand(place)
    monkeypatch.setenv("DOVETAIL_TRUST", "postgresql://other/x")
    with pytest.raises(SourceError):
        expand(place)
    monkeypatch.setenv("DOVETAIL_TRUST", f"a,{place.location}")
    assert expand(place) == [place]
    assert not state.exists()


def test_naming_a_source_is_remembered_with_its_variables(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERP_PW", "precious")
    monkeypatch.setenv("OTHER", "precious")
    named = resolve_roots(["erp=postgresql://ann:${ERP_PW}@h/erp"], [], [], Settings()).named[0]
    logins.remember(named)  # once it was opened
    monkeypatch.setattr(logins, "_named", {})  # another process, later
    assert expand(named) == [named]
    again = SourceSpec.from_json(named.stored())
    assert expand(again) == [again]
    for other in (
        _foreign("postgresql://h/erp", password="${OTHER}"),
        _foreign("postgresql://h2/erp", password="${ERP_PW}"),
        _foreign("postgresql://h:99/erp", password="${ERP_PW}"),
    ):
        with pytest.raises(SourceError):
            expand(other)


def test_a_damaged_memory_trusts_nobody(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    monkeypatch.setenv("PGPASSWORD", "precious")
    file = state / "dovetail" / "named_sources.json"
    file.parent.mkdir(parents=True)
    for content in ("", "[]", "{", '{"postgresql://h/x": 5}', "[" * 100_000):
        file.write_text(content)
        with pytest.raises(SourceError):
            expand(_foreign("postgresql://h/x"))
