"""The search index of a catalog, kept beside it under a digest of all that it depends on.

So it is never out of date: after an update that changes nothing the same index is found again;
after another one a new index is made, from what is already embedded. Whoever needs the index first,
`dovetail index` or a reader, makes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.purposes import purposes
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.engines.passes import Workers
from dovetail.errors import ModelError
from dovetail.joins.column_arrays import DEFAULT_THRESHOLDS, Thresholds
from dovetail.joins.stored import SCORING_VERSION
from dovetail.plugins import open_embedder
from dovetail.ports import Embedder, Json
from dovetail.search.dense import HEADER_VECTORS, Dense, HeaderVectors
from dovetail.search.embeddings import Embeddings, EmbedProgress, embed_catalog
from dovetail.search.lexical import Lexical
from dovetail.search.neighbours import Neighbours
from dovetail.search.values import ValueIndex
from dovetail.search.values import forget_others as forget_other_values
from dovetail.settings import Settings

FOLDER = "search"
# Raised whenever the same catalog would give another index.
_VERSION = 11
_ABOUT = "index.json"
# Bytes of a file up to which its checksum is held against it whenever it is opened.
_MOST_CHECKED = 1 << 28
# Names that indexes are kept by, and those of unfinished ones.
_MADE_HERE = re.compile(r"\.?[0-9a-f]{16}-[0-9a-f]{12}(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class IndexInputs:
    """What an index depends on besides the catalog: embedder, purposes, thresholds of joins."""

    embedder: Embedder | None
    purposes: Mapping[TableId, str] = field(default_factory=dict)
    thresholds: Thresholds = DEFAULT_THRESHOLDS

    @property
    def model(self) -> Json:
        """The embedder that made the vectors, as it is written beside them."""
        if self.embedder is None:
            return {"embedder": None}
        return {"embedder": self.embedder.model_id, "dimension": self.embedder.dimension}

    @property
    def key(self) -> str:
        """A digest of the inputs: part of the folder's name."""
        model, joins = self.model["embedder"], SCORING_VERSION
        chosen = f"{_VERSION} {model} {joins} {self.thresholds}"
        digest = hashlib.sha256(chosen.encode())
        for table in sorted(self.purposes):
            digest.update(f"\0{table}\0{self.purposes[table]}".encode())
        return digest.hexdigest()[:12]


def chosen_embedder(settings: Settings) -> tuple[Embedder | None, str]:
    """The embedder that the settings name, and a note for the user, or nothing.

    Without the weights of the default embedder there is none, and the note says so. Any other
    embedder that cannot be opened is an error.
    """
    try:
        return open_embedder(settings.embedder), ""
    except ModelError as error:
        if settings.embedder != Settings().embedder:
            raise
        return None, f"search goes by words, values and joins alone: {error}"


def index_inputs(catalog: CatalogReader, settings: Settings) -> tuple[IndexInputs, str]:
    """What the search index depends on besides the catalog, as the settings have it.

    With them comes a note for the user on what search has to go without, or nothing.
    """
    embedder, note = chosen_embedder(settings)
    texts = {table: found.text for table, found in purposes(catalog).items() if found.text}
    thresholds = Thresholds(settings.join_rows, settings.join_unique)
    return IndexInputs(embedder, texts, thresholds), note


@dataclass(frozen=True)
class Index:
    """The parts of the index; all number tables, and columns through the tables, in order.

    Without an embedder `dense` and `headers` are None, and search goes by words, values and joins.
    """

    lexical: Lexical
    joined: Neighbours
    values: ValueIndex
    dense: Dense | None
    headers: HeaderVectors | None


def open_index(
    catalog: CatalogReader, inputs: IndexInputs, on_progress: EmbedProgress | None = None
) -> Index:
    """The index of a catalog: loaded, or made and saved where the folder can be written to.

    `on_progress` counts the texts that were never embedded before.
    """
    path = _path(catalog, inputs)
    with suppress(*DAMAGE):
        return _load(catalog, path, inputs)
    if inputs.embedder is not None:  # to go without vectors takes no waiting
        refuse_other_models(catalog, inputs)
    embeddings = embed_catalog(catalog, inputs, on_progress)
    made = make_index(catalog, inputs, embeddings)
    with suppress(OSError):  # a catalog that cannot be written to is read all the same
        save_index(made, catalog, inputs)
    return made


def has_index(catalog: CatalogReader, inputs: IndexInputs) -> bool:
    """Whether the index of a catalog is there and undamaged."""
    with suppress(*DAMAGE):
        _load(catalog, _path(catalog, inputs), inputs)
        return True
    return False


def remove_other_indexes(catalog: CatalogReader, inputs: IndexInputs) -> None:
    """Remove the indexes of other contents, embedders and purposes than these."""
    path = _path(catalog, inputs)
    for other in path.parent.iterdir():
        if other != path and _MADE_HERE.fullmatch(other.name):
            shutil.rmtree(other, ignore_errors=True)
    forget_other_values(catalog)


def _path(catalog: CatalogReader, inputs: IndexInputs) -> Path:
    key = inputs.key
    if catalog.joins_digest or catalog.comments_digest:
        told = f"{key} {catalog.joins_digest} {catalog.comments_digest}"
        key = hashlib.sha256(told.encode()).hexdigest()[:12]
    return catalog.folder / FOLDER / f"{catalog.contents}-{key}"


def refuse_other_models(catalog: CatalogReader, inputs: IndexInputs) -> None:
    """Raise an error if the catalog was indexed with another embedder.

    To embed it again takes long; an option given with a question must not start that.
    """
    for other in (catalog.folder / FOLDER).glob(f"{catalog.contents}-*/{_ABOUT}"):
        model = inputs.model
        with suppress(*DAMAGE):
            model = json.loads(other.read_text("utf-8"))["model"]
        if model != inputs.model:
            raise ModelError(
                f"{catalog.folder} was indexed with {_named(model)}, not with "
                f"{_named(inputs.model)}; choose that one (the setting embedder), or "
                "index again with this one"
            )


def _named(model: Json) -> str:
    if model["embedder"] is None:
        return "no embedder"
    return f"the embedder {model['embedder']} of {model['dimension']} numbers"


def make_index(
    catalog: CatalogReader,
    inputs: IndexInputs,
    embeddings: Embeddings | None,
    workers: Workers | None = None,
) -> Index:
    """The index of a catalog, made from its tables, its join evidence and its embeddings.

    Given `workers`, they sort the phrases of large segments.
    """
    # Only who makes an index needs what works joins out: to load it takes longer than to search.
    from dovetail.joins.known_edges import known_edges
    from dovetail.names.links import name_links
    from dovetail.search.learned_words import learned_words

    tables = catalog.records.named_tables()
    places = {table: place for place, table in enumerate(catalog.ids)}
    edges = known_edges(catalog, thresholds=inputs.thresholds)
    return Index(
        lexical=learned_words(Lexical.build(tables, inputs.purposes), tables, edges),
        joined=Neighbours.build(places, edges, name_links(tables)),
        values=ValueIndex.of(catalog, workers),
        dense=Dense(embeddings.tables) if embeddings else None,
        headers=embeddings.headers if embeddings else None,
    )


def _load(catalog: CatalogReader, path: Path, inputs: IndexInputs) -> Index:
    about = json.loads((path / _ABOUT).read_text("utf-8"))
    if about["model"] != inputs.model or about["files"] != _checksums(path):
        raise ValueError(path)
    headers = None
    if inputs.embedder is not None:
        headers = HeaderVectors.load(path)
        size = len(catalog.records.columns), inputs.embedder.dimension
        if (len(headers), headers.vectors.shape[1]) != size:
            raise ValueError(path)
    return Index(
        lexical=Lexical.load(path),
        joined=Neighbours.load(path),
        values=ValueIndex.of(catalog),
        dense=Dense.load(path) if inputs.embedder else None,
        headers=headers,
    )


def save_index(index: Index, catalog: CatalogReader, inputs: IndexInputs) -> None:
    """Save the index of a catalog where `open_index` finds it, as a whole or not at all."""
    path = _path(catalog, inputs)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.mkdir(parents=True)
        index.lexical.save(beside)
        index.joined.save(beside)
        if index.dense is not None and index.headers is not None:
            index.dense.save(beside)
            index.headers.save(beside)
        about = {"model": inputs.model, "files": _checksums(beside)}
        (beside / _ABOUT).write_text(json.dumps(about), "utf-8")
        shutil.rmtree(path, ignore_errors=True)
        beside.rename(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _checksums(folder: Path) -> dict[str, list[int]]:
    """Size and CRC-32 of all files but the one that tells them: none that is damaged is read.

    The vectors of headers, and files of a size that takes long to read, are mapped into memory and
    read in small part, so their size must do.
    """

    def large(path: Path) -> bool:
        return path.stat().st_size > _MOST_CHECKED

    files = sorted(path for path in folder.iterdir() if path.name != _ABOUT)
    return {
        path.name: [
            path.stat().st_size,
            0 if path.name == HEADER_VECTORS or large(path) else zlib.crc32(path.read_bytes()),
        ]
        for path in files
    }
