"""The command line in this process, with everything that it writes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from dovetail import cli

Cli = Callable[..., tuple[int, str]]


@pytest.fixture
def run_cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line: gives its exit code and all it wrote."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["dovetail", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as exit_code:
            code = int(exit_code.code or 0)
        written = capfd.readouterr()
        return code, written.out + written.err

    return run
