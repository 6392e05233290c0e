"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.offline.summary import Progress, ProgressCallback


@contextmanager
def progress_bar(*, show: bool) -> Iterator[ProgressCallback | None]:
    """A bar on standard error, where that is a terminal."""
    if not (show and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    names = {
        "list": "Listing tables",
        "read": "Reading tables",
        "write": "Writing the catalog",
        "describe": "Describing tables",
        "ask": "Asking questions",
        "join": "Finding joins",
        "family": "Finding families",
        "embed": "Embedding names",
        "index": "Writing the search index",
    }
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(names["list"], total=None, detail="")

        def on_progress(progress: Progress) -> None:
            bar.update(
                task,
                description=names[progress.phase],
                completed=progress.done,
                total=progress.total,
                detail=progress.detail[:60],
            )

        yield on_progress
