"""programs/on_gpu.py: which jobs run side by side, and the recording they leave."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

from dovetail_bench.programs.on_gpu import gather, jobs, prepare
from dovetail_bench.programs.setups import SETUPS


def systems(options: tuple[str, ...]) -> list[str]:
    return [value for name, value in pairwise(options) if name == "--system"]


def test_every_system_of_every_setup_is_in_one_job(tmp_path: Path) -> None:
    found = list(jobs(tmp_path, ["data/spider"]))
    assert [job.folder.name for job in found] == [
        "spider-ours", "spider-ours-agents", "spider-paper",
    ]  # fmt: skip
    for setup in SETUPS:
        named = [
            name for job in found if job.options[1] == setup.name for name in systems(job.options)
        ]
        assert sorted(named) == sorted({system.name for system in setup.systems})


def test_systems_that_read_purposes_share_them(tmp_path: Path) -> None:
    for setup in SETUPS:
        own = [job for job in jobs(tmp_path, ["a"]) if job.options[1] == setup.name]
        assert len(own) == (1 if setup.purposes else 2)


def test_a_job_asks_and_answers_in_the_same_folder(tmp_path: Path) -> None:
    given = argparse.Namespace(
        model=Path("weights.gguf"), name=None, tokenizer=None, sample=7, seconds=9.0
    )
    job = next(jobs(tmp_path, ["data/spider"]))
    asks, answers = job.asks(given), job.answers(given)
    assert f"replay:{job.folder}?model=weights" in asks
    assert asks[-2:] == ["--sample", "7"]
    assert str(job.folder) in answers
    assert "--watch" in answers


def test_jobs_of_a_corpus_write_no_catalog_of_each_other(tmp_path: Path) -> None:
    data = tmp_path / "spider"
    (data / ".dovetail-coerced").mkdir(parents=True)
    (data / "questions.json").write_text("[]")
    found = list(jobs(tmp_path / "recording", [str(data)]))
    for job in found:
        prepare(job)
        prepare(job)
        assert [file.name for file in job.copied.iterdir()] == ["questions.json"]
        assert job.copied.name == "spider"
    assert len({job.copied for job in found}) == len(found)


def test_the_recording_of_a_corpus_holds_every_whole_reply_once(tmp_path: Path) -> None:
    parts = list(jobs(tmp_path, ["data/a", "data/b"]))
    written = ("1\n2\n", "2\n3\ntorn", "", "2\n", "", "")
    for part, text in zip(parts, written, strict=True):
        part.folder.mkdir()
        (part.folder / "responses.jsonl").write_text(text)
    assert gather(tmp_path, parts) == {"a": 3, "b": 1}
    assert (tmp_path / "a" / "responses.jsonl").read_text() == "1\n2\n3\n"
    assert (tmp_path / "b" / "responses.jsonl").read_text() == "2\n"
