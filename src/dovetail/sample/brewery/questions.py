"""The questions of the brewery's pile, each with the tables that an analyst would take."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def brewery_questions() -> list[dict[str, Any]]:
    """The rows of a `questions.json`; where `gold_tables` is empty, nothing answers the question.

    `accepted` are other sets that an analyst would take as well, `kind` says what is tried.
    """
    text = (files("dovetail.sample.brewery") / "questions.toml").read_text(encoding="utf-8")
    return [
        {
            "question_id": f"brewery-{number:02}",
            "question": row["question"],
            "gold_tables": row["tables"],
            "accepted": row.get("accepted", []),
            "difficulty": row["kind"],
        }
        for number, row in enumerate(tomllib.loads(text)["questions"], start=1)
    ]
