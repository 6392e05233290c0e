"""What `doctor` finds, and the spans of stages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import dovetail
from dovetail.api.doctor import Finding, diagnose
from dovetail.catalog.key import key_file
from dovetail.settings import Settings
from tests.support.command_line import run
from tests.support.files import one, put_sqlite, rewrite, update


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put_sqlite(tmp_path / "a.sqlite", "CREATE TABLE t (a)", "INSERT INTO t VALUES ('x')")


def wrong(**settings: object) -> dict[tuple[str, str], Finding]:
    found = diagnose(Settings(embedder="none").but(**settings))
    return {(one.part, one.subject): one for one in found if not one.well}


def test_all_is_well(source: Path, tmp_path: Path) -> None:
    update(source, into=tmp_path / "c")
    done = run("doctor", "--json", "-C", "c", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["well"]) == (0, True), told
    seen = {(one["part"], one["subject"]): one["seen"] for one in told["findings"]}
    assert seen["versions", "dovetail-tables"] == dovetail.__version__
    assert seen["extensions", "sqlite_scanner"] == seen["versions", "duckdb"]
    assert seen["models", "embedder"] == "minilm"
    assert seen["catalog", "c"] == "1 tables"
    assert "All is well." in run("doctor", "-C", "c", cwd=tmp_path).stdout


def test_what_is_wrong_is_said_with_its_remedy(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(source, into=tmp_path / "c", no_values=True)
    key_file(tmp_path / "c").unlink()
    (tmp_path / "c").chmod(0o755)
    next((tmp_path / "c").glob("generations/*/records/tables.arrow")).touch()
    source.unlink()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    found = wrong(catalog=str(tmp_path / "c"), llm="openai:a", embedder="st:nothing")
    assert found["catalog", "rights"].remedy == f"chmod -R go= {tmp_path / 'c'}"
    assert "put" in found["catalog", "key"].seen
    assert "OPENAI_BASE_URL" in found["services", "127.0.0.1:9"].remedy
    assert found["services", str(source)].remedy.endswith("--forget")
    assert found["models", "embedder"].remedy
    done = run("doctor", "-C", str(tmp_path / "c"), cwd=tmp_path, DOVETAIL_EMBEDDER="none")
    assert done.returncode == 1
    assert "3 things to mend" in done.stdout


def test_a_catalog_that_is_not_there_or_cannot_be_read(tmp_path: Path) -> None:
    assert not wrong(catalog=str(tmp_path / "c"))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "manifest.json").write_text("{")
    assert "damaged" in wrong(catalog=str(tmp_path / "c"))["catalog", str(tmp_path / "c")].seen


def test_a_damaged_segment_is_told_with_its_remedy(source: Path, tmp_path: Path) -> None:
    update(source, into=tmp_path / "c")
    file = one(tmp_path / "c", "hashes.npy")
    rewrite(file, lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]))
    found = wrong(catalog=str(tmp_path / "c"))["catalog", "parts"]
    assert (found.seen, found.remedy) == ("segments", f"dovetail repair -C {tmp_path / 'c'}")


def test_stages_are_spans_where_somebody_listens(source: Path, tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = provider
    try:
        catalog = update(source, into=tmp_path / "c").catalog
        catalog.ask("secret words")
        catalog.sql("SELECT a FROM t")
    finally:
        trace._TRACER_PROVIDER = before
    spans = exporter.get_finished_spans()
    assert {"dovetail.index.profile", "dovetail.index.joins", "dovetail.ask", "dovetail.query"} <= {
        span.name for span in spans
    }
    assert "secret" not in str([(span.name, span.attributes) for span in spans])


def test_nothing_of_it_is_loaded_otherwise() -> None:
    code = (
        "import sys, dovetail.telemetry as t\n"
        "with t.traced('ask'): pass\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
