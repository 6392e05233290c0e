"""The files of a corpus folder, by name: what `datasets` reads and `sample` writes."""

from __future__ import annotations

# The sources and dialects of a corpus that is not a folder of SQLite files.
ABOUT = "dataset.json"
QUESTIONS = "questions.json"
FOREIGN_KEYS = "foreign_keys.json"
FAMILIES = "families.json"
