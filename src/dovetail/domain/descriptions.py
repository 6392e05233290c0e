"""What is said of a table in words: a sentence, glosses of its columns, and who wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Authors other than a language model, which is named by its id.
PERSON, DICTIONARY = "person", "dictionary"


@dataclass(frozen=True, slots=True)
class Description:
    """What a table holds, in a sentence, and what its cryptic columns mean (`glosses`, by name).

    The `author` is `person` (a comment of the source or of a dbt project), `dictionary` (a table of
    the pile that describes others), or the id of a language model. Where a person wrote a comment,
    that is the text, and no column that a person commented on has a gloss.

    >>> about = Description("Claims reported too late.", "person", {"LNT_IND": "late notification"})
    >>> about.to_dict()["columns"]
    {'LNT_IND': 'late notification'}
    """

    text: str
    author: str
    glosses: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.text or self.glosses)

    def to_dict(self) -> dict[str, Any]:
        """The description as JSON has it."""
        return {"text": self.text, "author": self.author, "columns": dict(self.glosses)}
