"""The whole comparison with a language model on one machine with a GPU, as fast as it goes.

    dovetail bench run on_gpu FOLDER DATA ... --model WEIGHTS [--sample N] [--seconds N]
        [--tokenizer FOLDER]

For each corpus three jobs run side by side: the systems of each setup, and of ours ReAct and ARM by
themselves, whose every round is a pass (programs/with_model.py). Each job has its own requests
and its own process that answers them (programs/run_batch.py): one process alone leaves most of a
large GPU idle. Where NVIDIA's MPS is there, the processes share the GPU through it, which answered
twice as many requests a second as without, six processes on an H200.

All replies end in FOLDER/CORPUS/responses.jsonl, whatever stops the run. Started again with the
same FOLDER, it goes on. The pages are then written in one pass over such a recording, on any
machine whose embedder gives the same candidates:

    dovetail bench run with_model --llm replay:FOLDER/CORPUS DATA
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail_bench.programs.setups import AGENTS, SETUPS, Setup
from dovetail_bench.programs.with_model import replies, waiting
from dovetail_bench.replay import RESPONSES

# Of the tokens that fit into a large GPU, the share of one of nine processes; and how many requests
# it takes up at a time, so that what is asked meanwhile does not wait for long.
_BUDGET, _WAVE = 160_000, 2_048
_MPS = "nvidia-cuda-mps-control"
_LOOK_EVERY = 20.0
_STOPPED_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """Systems of some setups on a corpus, with the requests and replies they need."""

    folder: Path
    corpus: str
    options: tuple[str, ...]

    @property
    def copied(self) -> Path:
        """The corpus as this job alone uses it."""
        return self.folder / "corpus" / Path(self.corpus).name

    def asks(self, given: argparse.Namespace) -> list[str]:
        """The command that measures as far as there are replies."""
        command = [
            sys.executable,
            "-m",
            "dovetail_bench.programs.with_model",
            str(self.copied),
            *self.options,
        ]
        command += ["--llm", f"replay:{self.folder}?model={given.name or given.model.stem}"]
        command += ["--wait", str(given.seconds), "--runs", str(self.folder / "runs")]
        command += ["--pages", str(self.folder / "pages"), "--report", str(self.folder / "report")]
        return command + (["--sample", str(given.sample)] if given.sample else [])

    def answers(self, given: argparse.Namespace) -> list[str]:
        """The command that answers what is asked."""
        script = str(Path(__file__).with_name("run_batch.py"))
        command = [sys.executable, script, str(self.folder), "--model", str(given.model), "--watch"]
        command += ["--seconds", str(given.seconds), "--budget", str(_BUDGET)]
        command += ["--wave", str(_WAVE)]
        return command + (["--tokenizer", str(given.tokenizer)] if given.tokenizer else [])


def jobs(folder: Path, corpora: Sequence[str]) -> Iterator[Job]:
    """What runs side by side: a job for each setup of a corpus, the agents of ours in one apart.

    Where tables have purposes all systems are one job: by other purposes they would ask otherwise.
    """
    for corpus in corpora:
        name = Path(corpus).name
        for setup in SETUPS:
            apart = () if setup.purposes else AGENTS
            kept = [each.name for each in setup.systems if each.name not in apart]
            yield _job(folder / f"{name}-{setup.name}", corpus, setup, kept)
            if apart:
                yield _job(folder / f"{name}-{setup.name}-agents", corpus, setup, apart)


def _job(place: Path, corpus: str, setup: Setup, systems: Sequence[str]) -> Job:
    named = [part for each in systems for part in ("--system", each)]
    return Job(place, corpus, ("--setup", setup.name, *named))


def prepare(job: Job) -> None:
    """Give a job its folder and its own copy of the corpus, in which its catalogs are written."""
    job.folder.mkdir(parents=True, exist_ok=True)
    if not job.copied.exists():
        shutil.copytree(job.corpus, job.copied, ignore=shutil.ignore_patterns(".dovetail*"))


def gather(folder: Path, parts: Sequence[Job]) -> dict[str, int]:
    """Write the replies of each corpus into one file, each once; returns how many.

    Corpora stay apart: a request that two of them have, such as the purpose of a table in both, may
    be answered in two ways, as what stands beside it in a batch can change a word; and what is
    asked next depends on it.
    """
    found: dict[str, dict[bytes, None]] = {}
    for part in parts:
        file = part.folder / RESPONSES
        raw = file.read_bytes() if file.exists() else b""
        lines = found.setdefault(Path(part.corpus).name, {})
        lines.update(dict.fromkeys(raw[: raw.rfind(b"\n") + 1].splitlines()))
    for name, lines in found.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / RESPONSES).write_bytes(b"".join(line + b"\n" for line in lines))
    return {name: len(lines) for name, lines in found.items()}


def _share_gpu(folder: Path) -> dict[str, str]:
    """Start MPS where it is there; the environment of processes that are to use it."""
    if not shutil.which(_MPS):
        return {}
    places = {"CUDA_MPS_PIPE_DIRECTORY": "mps", "CUDA_MPS_LOG_DIRECTORY": "mps-log"}
    made = {variable: str(folder / name) for variable, name in places.items()}
    for place in made.values():
        Path(place).mkdir(parents=True, exist_ok=True)
    subprocess.run([_MPS, "-d"], env={**os.environ, **made}, check=False)
    return made


def _start(command: Sequence[str], log: Path, more: dict[str, str]) -> subprocess.Popen[bytes]:
    settings = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "TOKENIZERS_PARALLELISM": "false"}
    with log.open("ab") as output:
        return subprocess.Popen(
            command, env={**os.environ, **settings, **more}, stdout=output, stderr=output
        )


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            process.wait(_STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()


def run(given: argparse.Namespace) -> None:
    """Start all jobs and wait until they are done, or the seconds are over."""
    parts = list(jobs(given.folder.resolve(), [str(Path(each).resolve()) for each in given.data]))
    for part in parts:
        prepare(part)
    shared = _share_gpu(given.folder.resolve())
    until = time.monotonic() + given.seconds
    asking = []
    for part in parts:
        cache = {"XDG_CACHE_HOME": str(part.folder / "cache")}
        asking.append(_start(part.asks(given), part.folder / "asking.log", cache))
    answering = [
        _start(part.answers(given), part.folder / "answering.log", shared) for part in parts
    ]
    try:
        while time.monotonic() < until and any(each.poll() is None for each in asking):
            time.sleep(_LOOK_EVERY)
            state = [f"{p.folder.name} {replies(p.folder)}+{waiting(p.folder)}" for p in parts]
            print(", ".join(state), flush=True)
    finally:
        _stop([*asking, *answering])
        for name, count in gather(given.folder, parts).items():
            print(f"{count} replies in {given.folder / name / RESPONSES}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--model", type=Path, required=True, help="a folder of weights, or a .gguf")
    parser.add_argument("--name", help="what the model is called [the name of its weights]")
    parser.add_argument("--tokenizer", type=Path, help="a folder [the one of the weights]")
    parser.add_argument("--sample", type=int, help="ask so many questions of each corpus [all]")
    parser.add_argument("--seconds", type=float, default=86_400, help="stop after so many")
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
