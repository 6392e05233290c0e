"""The key of a run: all that decides its outcome; another key is another run, in another file."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.ports import Json
from dovetail.settings import Settings
from dovetail_bench.questions import Question
from dovetail_bench.retrievers import factory_of

# Settings that say where things are, how fast they go or how SQL runs, not which tables come out;
# and whether declared keys and comments are used, which is the dataset's to say.
_APART = (
    "catalog", "sources", "include", "exclude", "views", "engine", "ray_address", "workers",
    "selector", "use_declared", "use_comments", "use_notes", "notes",
    "dbt", "index_memory_mb", "query_seconds", "query_memory_mb", "query_rows",
    "sql_repair", "llm_seconds",
)  # fmt: skip
# Stands for the gold tables themselves, where a run needs no retriever.
ORACLE = "oracle"
_PACKAGE = Path(str(dovetail.__file__)).parent
_COMPARE = Path(__file__).with_name("compare.py")
_ANSWER = "answer"
# Parts of the package that no retriever reaches.
_BESIDE = ("api", "cli", "notebook.py", "sample", "server", _ANSWER, "testing.py")


@dataclass(frozen=True, slots=True)
class RunKey:
    """All that decides what a run finds, but for `k`."""

    dataset: str
    questions: str
    retriever: str
    settings: Json
    catalog: str
    code: str

    def about(self, k: int) -> Json:
        """What the first line of the run's file says."""
        return {**asdict(self), "k": k}

    def file(self, folder: Path, k: int) -> Path:
        """Where the run for `k` is kept."""
        return folder / f"{self._stem}.k{k}.{digest(asdict(self))}.jsonl"

    def depth(self, folder: Path, k: int) -> int:
        """The smallest `k` of a run on disk that reaches as deep as this one, or `k` itself."""
        pattern = re.compile(
            re.escape(f"{self._stem}.k") + r"(\d+)" + re.escape(f".{digest(asdict(self))}.jsonl")
        )
        begun = [file.name for file in folder.glob("*.jsonl") if file.stat().st_size]
        names = [pattern.fullmatch(name) for name in begun]
        kept = [int(match[1]) for match in names if match]
        return min((other for other in kept if other >= k), default=k)

    @property
    def _stem(self) -> str:
        return re.sub(r"[^A-Za-z0-9_-]+", "_", f"{self.dataset}-{self.retriever}")


def key_of(
    dataset: str,
    questions: Sequence[Question],
    retriever: str,
    catalog: CatalogReader,
    settings: Settings,
) -> RunKey:
    """The key of a run over all questions of a dataset; asking fewer of them is the same run."""
    return RunKey(
        dataset=dataset,
        questions=digest([(question.id, question.text) for question in questions]),
        retriever=retriever,
        settings=settings_in(settings),
        catalog=_contents_of(catalog),
        code=_code(retriever),
    )


def sql_key(found: RunKey, questions: Sequence[Question], decisive: Json) -> RunKey:
    """The key of a run that goes on to SQL: that of its retrieval, and what decides besides."""
    gold = [(question.id, question.text, question.sql, question.gold) for question in questions]
    return replace(
        found,
        questions=digest(gold),
        settings={**found.settings, **decisive},
        code=digest([found.code, *map(_contents, _answering())]),
    )


def settings_in(settings: Settings) -> Json:
    """The settings that decide what a retriever finds, as JSON has them."""
    chosen = {name: value for name, value in asdict(settings).items() if name not in _APART}
    found: Json = json.loads(json.dumps(chosen, default=str))
    return found


def digest(document: object) -> str:
    """A short name for the contents of a document."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _contents_of(catalog: CatalogReader) -> str:
    """A digest of the tables and, where there are any, of their keys, comments and purposes."""
    tables: list[object] = [(str(table.id), table.digest) for table in catalog]
    if catalog.records.keys_digest or catalog.records.comments_digest:
        tables.append([catalog.records.keys_digest, catalog.records.comments_digest])
    return digest(tables)


def _code(retriever: str) -> str:
    """A digest of the code that retrieves, so that a run of an older one is not taken for it."""
    files = [file for file in sorted(_PACKAGE.rglob("*")) if file.suffix in (".py", ".md", ".json")]
    parts = [
        _contents(file) for file in files if file.relative_to(_PACKAGE).parts[0] not in _BESIDE
    ]
    if retriever == ORACLE:
        return digest(parts)
    factory = factory_of(retriever)
    plain = inspect.isclass(factory) or inspect.isroutine(factory)
    home = inspect.getsourcefile(factory if plain else type(factory))
    if home and not Path(home).is_relative_to(_PACKAGE):
        # A baseline is made of the files of its folder.
        parts += map(_contents, sorted(Path(home).parent.glob("*.py")))
    return digest(parts)


def _answering() -> list[Path]:
    """The files that make rows of a question, and compare them."""
    return [*sorted((_PACKAGE / _ANSWER).glob("*.py")), _COMPARE]


@cache
def _contents(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
