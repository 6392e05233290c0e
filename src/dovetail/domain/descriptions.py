"""What is said of a table in words: a sentence, glosses of its columns, and who wrote them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Authors other than a language model, which is named by its id.
PERSON, DICTIONARY = "person", "dictionary"
# How people write that a table is not to be used any more. What tables may be about as well
# (retired staff, obsolete stock, frozen food) is none of it.
_WARNING = re.compile(
    r"""\b(?:do\ not|don'?t|not\ to\ be|must\ not\ be)\ used?\b | \bdecommissioned\b
    | \bdeprecated\b | \b(?:is|are|now|table|data)\ obsolete\b | ^obsolete\s*(?:$|[.:;,!(\u2013-])
    | \bsuperseded\b | \breplaced\ by\b | \bout\ of\ use\b | \bfrozen\s+(?:at|on|since|as|in|end|\d)
    | \bno\ longer\ (?:in\ use|used|maintained|updated|loaded|filled|refreshed)\b
    | \bnicht\ (?:mehr\ )?(?:verwenden|benutzen|nutzen|gepflegt) | \bveraltet\b
    | \babgelöst\ durch\b | \bne\ (?:pas|plus)\ utiliser\b | \bobsolète\b | \bremplacée?\ par\b
    | \bno\ (?:usar|utilizar)\b | \bniet\ (?:meer\ )?gebruiken\b""",
    re.IGNORECASE | re.VERBOSE,
)


def warns_off(comment: str) -> bool:
    """Whether a comment says that its table is not to be used.

    >>> warns_off("Old star schema, frozen 31.12.2021 - do not use"), warns_off("Frozen food")
    (True, False)
    """
    return _WARNING.search(comment) is not None


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
