"""Official releases of benchmarks, turned into folders of our layout.

Each reader takes the release as its authors publish it and says what is missing. Nothing is
downloaded, and nothing is left behind where a release cannot be read.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from dovetail.errors import DatasetError, UsageError
from dovetail.ports import Json
from dovetail_bench.corpus_folder import FOREIGN_KEYS, QUESTIONS
from dovetail_bench.releases import beaver, mmqa, spider
from dovetail_bench.releases.opened import Opened, opened

# A reader writes databases and returns the rows of the two JSON files.
Reader = Callable[[Opened, Path], tuple[list[Json], list[Json]]]
_READERS: dict[str, Reader] = {
    "spider": spider.read_spider,
    "bird": spider.read_bird,
    "mmqa": mmqa.read,
    "beaver": beaver.read,
    "spider2-lite": spider.read_spider2,
}


def _read(release: str, files: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """What a reader makes of a release; one that is laid out otherwise is an error of one line."""
    try:
        return _READERS[release](files, into)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise DatasetError(
            f"{files.name} is not laid out as the authors of {release} publish it ({told})"
        ) from None


def import_release(release: str, path: Path, into: Path) -> dict[str, int]:
    """Write a release as a corpus; says how many databases, questions and keys it has."""
    if release not in _READERS:
        known = ", ".join(_READERS)
        raise UsageError(f"release {release!r} is not known; there are: {known}")
    if into.exists():
        raise UsageError(f"{into} is there already; name a folder that is not")
    into.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=into.parent))
    try:
        with opened(path) as files:
            questions, keys = _read(release, files, beside / "databases")
        for name, rows in ((QUESTIONS, questions), (FOREIGN_KEYS, keys)):
            text = json.dumps(rows, ensure_ascii=False, indent=1)
            (beside / name).write_text(text + "\n", encoding="utf-8")
        note = f"# {release}\nImported by dovetail from {path.name}; its terms of use apply.\n"
        (beside / "SOURCE.md").write_text(note, encoding="utf-8")
        beside.chmod(0o755)
        beside.rename(into)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    databases = len(list((into / "databases").iterdir()))
    return {"databases": databases, "questions": len(questions), "keys": len(keys)}
