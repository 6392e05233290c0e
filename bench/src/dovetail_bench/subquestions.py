"""Reads published sub-questions, into which JAR decomposes each question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail.errors import DatasetError, NotFoundError
from dovetail.ports import Json
from dovetail_bench.questions import Question

_SHOWN = 3
_SHAPE = "an object of lists of texts by question, or one list per question in their order"


@dataclass(frozen=True, slots=True)
class Subquestions:
    """Sub-questions by the id of a question; `strange` are names in the file that no question has.

    A list without any sub-question counts as none.
    """

    file: Path
    of: Mapping[str, tuple[str, ...]]
    strange: tuple[str, ...] = ()

    def by_text(self, questions: Sequence[Question]) -> dict[str, tuple[str, ...]]:
        """Those of some questions by what is asked; of equal texts the first one counts."""
        found: dict[str, tuple[str, ...]] = {}
        for question in questions:
            if given := self.of.get(question.id):
                found.setdefault(question.text, given)
        return found

    def gaps(self, questions: Sequence[Question]) -> list[str]:
        """What the file leaves out of these questions, and what it names besides; a line each."""
        missing = [question.id for question in questions if not self.of.get(question.id)]
        lines = []
        if missing:
            count = f"{len(missing)} of {len(questions)} questions"
            lines.append(f"{self.file} has no sub-questions for {count}: {_first(missing)}")
        if self.strange:
            count = f"{len(self.strange)} questions that are not asked here"
            lines.append(f"{self.file} names {count}: {_first(self.strange)}")
        return lines


def read_subquestions(file: Path, rows: Sequence[Json]) -> Subquestions:
    """A JSON file of lists: by a question's id or text, or in the order of the dataset's `rows`."""
    if not file.is_file():
        raise NotFoundError(f"there is no file of sub-questions {file}")
    try:
        content = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{file} is no JSON: {error}") from None
    ids = [str(row.get("question_id")) for row in rows]
    if isinstance(content, list):
        if len(content) != len(ids):
            raise DatasetError(
                f"{file} has {len(content)} lists and the dataset {len(ids)} questions: "
                "lists without names must be as many, in the same order"
            )
        return Subquestions(file, _checked(file, dict(zip(ids, content, strict=True))))
    if not isinstance(content, dict):
        raise DatasetError(f"{file} must hold {_SHAPE}")
    texts = [str(row.get("question") or "").strip() for row in rows]
    given = _checked(file, {name.strip(): listed for name, listed in content.items()})
    named = [(each, each if each in given else text) for each, text in zip(ids, texts, strict=True)]
    found = {each: given[name] for each, name in named if name in given}
    if not found:
        raise DatasetError(f"{file} names no question of this dataset, by text or id")
    used = {name for _, name in named}
    return Subquestions(file, found, tuple(name for name in given if name not in used))


def _checked(file: Path, given: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    found = {}
    for name, listed in given.items():
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            shown = json.dumps(listed, ensure_ascii=False)[:60]
            raise DatasetError(f"{file} must hold {_SHAPE}; question {name[:60]!r} has {shown}")
        found[name] = tuple(text.strip() for text in listed if text.strip())
    return found


def _first(names: Sequence[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
