"""The command line. A command is loaded when it is called, so that help comes at once."""

from __future__ import annotations

import os
import signal
import sys
from collections import UserDict
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from dovetail.errors import DovetailError, MissingModelError, UsageError
from dovetail.plugins import COMMANDS, load, names, resolve

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    from typer._click import Command, Context

# After so many seconds an interrupt that was dropped is raised again.
_A_MOMENT = 0.02
# What a shell takes for the end by Ctrl-C; typer makes it of one, and says nothing.
_INTERRUPTED = 130
# What ends a command early, as it is told, and the exit code by which a shell knows it.
_ENDED: dict[int, tuple[str, int]] = {
    signal.SIGINT: ("interrupted", _INTERRUPTED),
    signal.SIGTERM: ("ended by SIGTERM", 128 + signal.SIGTERM),
}

LABORATORY_MISSING = "dovetail bench is a package of its own: pip install dovetail-bench"


# Our commands in the order of the help page, each in the module that it is loaded from.
_COMMANDS = {
    "index": "catalog",
    "describe": "catalog",
    "ask": "ask",
    "search": "ask",
    "tables": "catalog",
    "show": "show",
    "families": "show",
    "joins": "show",
    "domains": "show",
    "sql": "sql",
    "doctor": "doctor",
    "check": "doctor",
    "repair": "doctor",
    "mcp": "serve",
    "serve": "serve",
    "demo": "demo",
    "feedback": "note",
    "learn": "note",
    "note": "note",
}


def _typer(**options: Any) -> typer.Typer:
    """A command or a group of them, as all of ours are."""
    usual = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
    return typer.Typer(**{**usual, **options})


class _Loaded(UserDict[str, Any]):
    """Our commands by name, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Command:
        part = resolve(f"dovetail.cli.{self.data[name]}:{name}")
        app = _typer()
        if isinstance(part, typer.Typer):
            app.add_typer(part, name=name)
            return get_group(app).commands[name]
        app.command(name)(part)
        return get_command(app)


class _Commands(TyperGroup):
    """Our commands, and those that other packages offer: only asked for where none of ours is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Loaded(_COMMANDS)

    def list_commands(self, ctx: Context) -> list[str]:
        return [*super().list_commands(ctx), *names(COMMANDS)]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        ours = super().get_command(ctx, cmd_name)
        if ours is not None:
            return ours
        if cmd_name in names(COMMANDS):
            return get_command(load(COMMANDS, cmd_name))
        if cmd_name == "bench":
            raise UsageError(LABORATORY_MISSING)
        return None


app = _typer(
    name="dovetail",
    cls=_Commands,
    add_completion=True,
    invoke_without_command=True,
    help="Point it at a pile of tables and learn which of them fit together.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dovetail import __version__

        sys.stdout.write(f"dovetail {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        from dovetail.cli.demo import print_next

        print_next()


def main() -> None:
    """Run the command line; every error of ours is one line and an exit code."""
    ended_by = _heed_signals()
    try:
        _run()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except (DovetailError, OSError) as error:
        if not ended_by():  # else that is all the error is about
            sys.exit(_complain(error))
    except SystemExit as end:
        if end.code != _INTERRUPTED and not ended_by():
            raise
    except (KeyboardInterrupt, Exception):
        if not ended_by():
            raise
    else:
        if not ended_by():
            return
    told, code = _ENDED.get(ended_by(), _ENDED[signal.SIGINT])
    kept = "; finished tables are kept for the next run" if sys.argv[1:2] == ["index"] else ""
    sys.stderr.write(f"dovetail: {told}{kept}\n")
    sys.exit(code)


def _run() -> None:
    """Run a command, and write out all that it printed: a full disk shows here at the latest."""
    try:
        app(prog_name="dovetail")
    finally:
        sys.stdout.flush()


def _complain(error: DovetailError | OSError) -> int:
    """Say in a sentence what failed; returns the exit code."""
    from dovetail.cli.output import note

    if isinstance(error, DovetailError):
        message = str(error)
        if isinstance(error, MissingModelError):
            message += ", or give --llm NAME"
    else:
        message = f"{error.filename}: " if error.filename else ""
        message += error.strerror or str(error)
        # The interpreter must not fail once more over output that cannot be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    note(message)
    return 2 if isinstance(error, UsageError) else 1


def _heed_signals() -> Callable[[], int]:
    """From now on no signal that ends a command gets lost; the function returned says which came
    first, 0 where none did.

    Python raises KeyboardInterrupt wherever the main thread happens to be. In a destructor or in a
    callback of the garbage collector exceptions are dropped, and the command would go on. Such an
    interrupt is raised again a moment later, and what else became of one is remembered to the end.
    Whoever manages processes ends them by SIGTERM, which goes the same way: workers are called off
    and what is unfinished is tidied up, as after Ctrl-C. A process that was started to ignore a
    signal, as in the background of a script, goes on ignoring it: it is meant for others.
    """
    seen: list[int] = []
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    heeded = [number for number, handler in usual.items() if signal.getsignal(number) is handler]

    def interrupt(number: int, _: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    drop = sys.unraisablehook

    def dropped(what: UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _A_MOMENT)
        else:
            drop(what)

    if heeded:
        sys.unraisablehook = dropped
        signal.signal(signal.SIGALRM, interrupt)
    for number in heeded:
        signal.signal(number, interrupt)
    return lambda: seen[0] if seen else 0
