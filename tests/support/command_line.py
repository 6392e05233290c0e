"""The command line in this process, with everything that it writes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from unittest import mock

from dovetail import cli

Cli = Callable[..., tuple[int, str]]


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> CompletedProcess[str]:
    """Run a command as a process would: in a folder, by its environment, its output in files."""
    heeded = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    handlers = {number: signal.getsignal(number) for number in heeded}
    command = ["dovetail", *arguments]
    with (
        TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {"COLUMNS": "120", **environment}),
        mock.patch.multiple(sys, argv=command, unraisablehook=sys.unraisablehook),
        contextlib.chdir(cwd or Path.cwd()),
    ):
        files = [Path(folder, name) for name in ("out", "err")]
        try:
            with (
                files[0].open("w", encoding="utf-8") as out,
                files[1].open("w", encoding="utf-8") as err,
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                code = _exit_code()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        written = [file.read_text("utf-8") for file in files]
    return CompletedProcess(command, code, *written)


def _exit_code() -> int:
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def run_and_join(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and all it wrote."""
    done = run(*arguments)
    return done.returncode, done.stdout + done.stderr
