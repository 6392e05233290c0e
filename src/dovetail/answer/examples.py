"""Questions that were answered before, nearest to a new one: examples for its SQL."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from dovetail.catalog.knowledge.usage import QueryExample
from dovetail.domain import TableId
from dovetail.search.query import query_words

_SHOWN = 3
# An example over other tables shows how questions are put, one over the same how they are joined.
_OTHER_TABLES = 0.5


def nearest_examples(
    examples: Sequence[QueryExample], question: str, tables: Collection[TableId]
) -> list[QueryExample]:
    """The examples whose questions share most with a question, at most three, the nearest first.

    Words count by how rare they are among the examples. Ties go by the text of the question, so
    that the same logs give the same prompt.
    """
    if not examples:
        return []
    words = [set(query_words(example.question)) for example in examples]
    spread = Counter(word for each in words for word in each)
    rare = {word: math.log(1 + len(examples) / count) for word, count in spread.items()}
    asked = set(query_words(question))
    scored = []
    for example, said in zip(examples, words, strict=True):
        shared = sum(rare[word] for word in said & asked)
        whole = sum(rare[word] for word in said) + sum(rare.get(word, 1.0) for word in asked)
        same = bool(set(example.tables) & set(tables))
        if shared and whole:
            scored.append((2 * shared / whole * (1 if same else _OTHER_TABLES), example))
    scored.sort(key=lambda each: (-each[0], each[1].question))
    return [example for _, example in scored[:_SHOWN]]
