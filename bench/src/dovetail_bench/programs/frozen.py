"""What an index gives, frozen before a change and compared after it: dovetail bench run frozen

    dovetail bench run frozen before.json SOURCE… --questions FILE    joins, families, sets
    dovetail bench run frozen after.json SOURCE… --questions FILE --against before.json

The questions are a JSON list of texts, or the `questions.json` of a corpus. Both runs index the
sources anew, so a change of code is compared with the code before it over the same tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dovetail

Frozen = dict[str, Any]
# Scores of before and after count as equal to this many digits.
_DIGITS = 3
_SHOWN = 5


def freeze(sources: Sequence[str], questions: Sequence[str], settings: dovetail.Settings) -> Frozen:
    """Index sources and ask questions; the CPU seconds of each are told beside what came out."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        catalog = dovetail.build(*sources, into=Path(folder) / "catalog", settings=settings)
        indexed = time.process_time()
        searched = {question: catalog.search(question) for question in questions}
        found = time.process_time()
        asked = {question: catalog.ask(question).to_dict() for question in questions}
        answered = time.process_time()
        return {
            "joins": sorted(_join(edge.to_dict()) for edge in catalog.joins(least=0.0)),
            "families": sorted(json.dumps(family.to_dict()) for family in catalog.families()),
            "search": {
                question: [[str(one.id), round(one.relevance, _DIGITS)] for one in candidates]
                for question, candidates in searched.items()
            },
            "ask": {question: _set(document) for question, document in asked.items()},
            "cpu_seconds": {
                "index": indexed - started,
                "search": found - indexed,
                "ask": answered - found,
            },
        }


def differences(before: Frozen, after: Frozen) -> dict[str, list[str]]:
    """What was there before and is not, and what is there now alone, by part."""
    return {
        part: _changed(_lines(before[part]), _lines(after[part]))
        for part in ("joins", "families", "search", "ask")
    }


def _changed(before: Sequence[str], after: Sequence[str]) -> list[str]:
    gone, new = set(before) - set(after), set(after) - set(before)
    return [f"- {line}" for line in sorted(gone)] + [f"+ {line}" for line in sorted(new)]


def _lines(part: Any) -> list[str]:
    if isinstance(part, dict):
        return [f"{key}: {json.dumps(part[key], ensure_ascii=False)}" for key in part]
    return [line if isinstance(line, str) else json.dumps(line) for line in part]


def _join(edge: dict[str, Any]) -> list[Any]:
    return [edge["left"], edge["right"], edge["columns"], round(edge["score"], _DIGITS)]


def _set(document: dict[str, Any]) -> Frozen:
    return {
        "tables": [[one["id"], round(one["score"], _DIGITS)] for one in document["tables"]],
        "joins": sorted(map(_join, document["joins"])),
        "confidence": round(document["confidence"] or 0.0, _DIGITS),
        "alternatives": [other["tables"] for other in document["alternatives"]],
    }


def _read_questions(file: Path) -> list[str]:
    """Each question once, in the file's order."""
    rows = json.loads(file.read_text("utf-8"))
    return list(dict.fromkeys(row if isinstance(row, str) else row["question"] for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("into", type=Path, help="the file to write")
    parser.add_argument("sources", nargs="+", help="as for dovetail index")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--against", type=Path, help="a file of an earlier run")
    parser.add_argument("--undeclared", action="store_true", help="without declared keys, comments")
    given = parser.parse_args()
    used = not given.undeclared
    settings = dovetail.Settings(use_declared=used, use_comments=used)
    after = freeze(given.sources, _read_questions(given.questions), settings)
    given.into.write_text(json.dumps(after, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"CPU seconds: {json.dumps(after['cpu_seconds'])}")
    if given.against is None:
        return
    changed = differences(json.loads(given.against.read_text("utf-8")), after)
    for part, lines in changed.items():
        print(f"{part}: {len(lines)} differences", *lines[:_SHOWN], sep="\n  ")
    sys.exit(any(changed.values()))


if __name__ == "__main__":
    main()
