"""Datasets: the tables of several databases in one pool, declared foreign keys, and questions.

A folder holds `databases/<db>/<db>.sqlite`, `questions.json` and `foreign_keys.json`; another set
of sources is named in `dataset.json`, and `families.json` names tables that are one. Which table
belongs to which database is for scoring only: all are indexed into one catalog, and no retriever
sees it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dovetail.catalog.generation import read_manifest
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import CatalogError, NotFoundError, PendingError, UsageError, VersionError
from dovetail.offline.describe import Prices, describe
from dovetail.offline.pipeline import update
from dovetail.offline.summary import DescribeSummary, ProgressCallback, UpdateSummary
from dovetail.ports import Json
from dovetail.settings import Settings
from dovetail_bench.core_t.purposes import write_purposes
from dovetail_bench.corpus_folder import ABOUT, FAMILIES, FOREIGN_KEYS, QUESTIONS
from dovetail_bench.errors import DatasetError
from dovetail_bench.gold import DIALECTS
from dovetail_bench.questions import Question, QuestionSet, read_questions
from dovetail_bench.replay import needed_model

SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A declared foreign key: a column of one table refers to a column of another."""

    database: str
    table: str
    column: str
    ref_database: str
    ref_table: str
    ref_column: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus and its questions; `rows` reads them in the form of a `questions.json`.

    Without `sources`, its catalog stands at `home` already. Keys that its sources declare and their
    comments are left out of it, unless `declared` and `comments` say that they may be used.
    `families_file` names the tables that are one logical table, if there is one (directory.py).
    Where the sources are the `systems` of one company, everything about them may be used.
    """

    name: str
    home: Path
    sources: Mapping[str, Path]
    rows: Callable[[], Sequence[Json]]
    dialects: tuple[str, ...] = DIALECTS
    declared: bool = False
    comments: bool = False
    families_file: Path | None = None
    systems: bool = False

    @property
    def pooled(self) -> bool:
        """Whether databases were pooled on purpose, so that no retriever may go by sources."""
        return bool(self.sources) and not self.systems

    def families(self) -> Mapping[str, Sequence[str]]:
        """The names of the members of each family, by its name; none without a file of them."""
        file = self.families_file or self.home / FAMILIES
        if not file.is_file():
            return {}
        try:
            found = json.loads(file.read_text("utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise DatasetError(f"{file} is no JSON: {error}") from None
        if not isinstance(found, dict) or not all(isinstance(one, list) for one in found.values()):
            raise DatasetError(f"{file} is no object of lists of names")
        return {str(name): [str(member) for member in found[name]] for name in found}

    def question_set(self) -> QuestionSet:
        """The questions as the dataset has them, and why some of them cannot be read."""
        return read_questions(self.rows(), self.dialects)

    def questions(
        self, limit: int | None = None, *, with_evidence: bool = False
    ) -> tuple[Question, ...]:
        """The questions, or the first so many; one that cannot be read is an error."""
        asked = self.question_set()
        asked.refuse_bad(self.name)
        chosen = asked.questions[:limit]
        return tuple(q.with_evidence() for q in chosen) if with_evidence else chosen

    def foreign_keys(self) -> list[ForeignKey]:
        """The declared foreign keys between two different tables."""
        file = self.home / FOREIGN_KEYS
        if not file.is_file():
            raise NotFoundError(f"{self.name} declares no keys: there is no {file}")
        try:
            keys = [
                ForeignKey(*map(str, (
                    row["db_id"], row["table"], row["column"],
                    row.get("ref_db_id", row["db_id"]), row["ref_table"], row["ref_column"],
                )))
                for row in read_json(file)
            ]  # fmt: skip
        except (AttributeError, KeyError, TypeError) as error:
            raise DatasetError(f"{file} is no list of foreign keys: {error!r}") from None
        return [
            key
            for key in keys
            if (key.database, key.table.lower()) != (key.ref_database, key.ref_table.lower())
        ]

    def catalog(
        self,
        settings: Settings | None = None,
        on_progress: ProgressCallback | None = None,
        *,
        search: bool = True,
        variant: str = "",
    ) -> CatalogReader:
        """All sources pooled into one catalog, kept beside them and brought up to date.

        Without `search`, nothing is embedded. A `variant` is a catalog of its own.
        """
        if not self.sources:
            return CatalogReader.open(self.home)
        return self.update(settings, on_progress, search=search, variant=variant).catalog

    def update(
        self,
        settings: Settings | None = None,
        on_progress: ProgressCallback | None = None,
        *,
        search: bool = True,
        variant: str = "",
    ) -> UpdateSummary[CatalogReader]:
        """Bring the pooled catalog up to date."""
        chosen = self._settings(settings)
        sources = [f"{name}={path}" for name, path in self.sources.items()]
        into = self.home / f".dovetail{variant}"
        if _moved(into, self.sources):
            shutil.rmtree(into)  # it came along with a copy of the corpus, or is an older one
        if not search:
            chosen = replace(chosen, embedder="none")
        return update(sources, into=into, settings=chosen, on_progress=on_progress)

    def _settings(self, settings: Settings | None) -> Settings:
        """The settings, but for what a benchmark may know: that is not theirs to say."""
        if self.systems:
            return settings or Settings()
        # Which table came from which database is for scoring only: no join may go by it.
        chosen = replace(settings or Settings(), join_sources=False)
        chosen = replace(chosen, use_declared=self.declared, use_comments=self.comments)
        # What is public needs no mask, and prompts of the paper's systems have their cells.
        return replace(chosen, use_notes=False, dbt=None, mask=False)


def _moved(catalog: Path, sources: Mapping[str, Path]) -> bool:
    """Whether a catalog indexes sources in another place, or has another format."""
    try:
        roots = read_manifest(catalog).roots
    except VersionError:
        return True
    except (CatalogError, NotFoundError):
        return False
    places = {str(path.resolve()) for path in sources.values()}
    return any(str(Path(root.location).resolve()) not in places for root in roots)


def open_dataset(data: str | Path, *, catalog: Path | None = None) -> Dataset:
    """The dataset that a name or path stands for.

    `sample` is the one that the package ships. A folder has the layout above; a CSV or JSONL file
    holds custom questions, over `catalog`.
    """
    path = Path(data)
    if str(data) == SAMPLE and not path.exists():
        from dovetail_bench.sample import sample_folder

        return _in_folder(sample_folder(), name=SAMPLE)
    if path.is_file():
        from dovetail_bench.custom_questions import read_rows

        home, beside = _given(catalog, path), path.parent / FAMILIES
        return Dataset(path.stem, home, {}, lambda: read_rows(path), families_file=beside)
    return _in_folder(path.resolve(), name=path.resolve().name)


def _in_folder(folder: Path, *, name: str) -> Dataset:
    def rows() -> Sequence[Json]:
        if not (folder / QUESTIONS).is_file():
            raise NotFoundError(f"{folder} has no {QUESTIONS}, so there is nothing to ask")
        return read_json(folder / QUESTIONS)

    if (folder / ABOUT).is_file():
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        sources = {label: folder / place for label, place in about["sources"].items()}
        systems = not about.get("pooled", True)
        return Dataset(name, folder, sources, rows, tuple(about["dialects"]), systems=systems)
    for part in ("databases", FOREIGN_KEYS):
        if not (folder / part).exists():
            raise NotFoundError(f"{folder} is no dataset: it has no {part}")
    files = sorted((folder / "databases").glob("*/*.sqlite"))
    return Dataset(name, folder, {file.stem: file for file in files}, rows)


def _given(catalog: Path | None, data: Path) -> Path:
    if catalog is None:
        raise UsageError(f"{data} holds questions alone; name the catalog they are over with -C")
    return catalog


def read_json(file: Path) -> list[dict[str, Any]]:
    """The rows of a JSON file that holds a list of objects."""
    try:
        rows = json.loads(file.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file} is no JSON: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatasetError(f"{file} is not a list of objects")
    return rows


def database_of(table: TableId) -> str:
    """The database a pooled table came from: for scoring, never for retrieval."""
    return table.source


def described_catalog(
    dataset: Dataset,
    settings: Settings,
    kind: str,
    *,
    on_progress: ProgressCallback | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> CatalogReader:
    """The pooled catalog with what a model says of each table, by one of `DESCRIPTIONS`."""
    if not dataset.sources:
        raise UsageError(
            f"{dataset.name} is over a catalog of its own: dovetail describe has its tables "
            "described, and that is always read"
        )
    variant = f"-{kind}"
    catalog = dataset.catalog(settings, on_progress, search=False, variant=variant)
    model = needed_model(catalog.folder, settings, f"writing {kind}")
    written = DESCRIPTIONS[kind](
        catalog,
        model,
        on_progress=on_progress,
        workers=settings.llm_workers,
        prices=Prices(settings.llm_price_in, settings.llm_price_out),
    )
    if written.pending:
        raise PendingError(
            f"the {kind} of {written.pending} tables wait for replies; have the requests of "
            f"{settings.llm} answered, then run this again"
        )
    for skipped in written.failed:
        note(f"no {kind} for {skipped}")
    return dataset.catalog(settings, on_progress, variant=variant)


# What a model can write of tables: the paper's paragraphs, or the product's sentences.
PURPOSES, DESCRIBED = "purposes", "descriptions"
DESCRIPTIONS: Mapping[str, Callable[..., DescribeSummary]] = {
    PURPOSES: write_purposes,
    DESCRIBED: describe,
}
