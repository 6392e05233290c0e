"""A query without its literals: what may be shown of it, and kept."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlglot import exp

_TEXTS = (
    exp.Literal, exp.National, exp.HexString, exp.BitString, exp.ByteString, exp.RawString,
)  # fmt: skip


def without_literals(tree: exp.Expr, dialect: str, columns: Collection[str]) -> str:
    """A query as SQL in one line, `?` in place of every literal, and without comments.

    A quoted name that is no column of its tables (`columns`, folded) and no alias may be a text in
    double quotes, as SQLite and MySQL take it: it goes as well.
    """
    named = {alias.alias.casefold() for alias in tree.find_all(exp.Alias)}
    named |= {
        text.casefold() for each in tree.find_all(exp.CTE) for text in each.alias_column_names
    }

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, _TEXTS):
            ordinal = isinstance(node.parent, exp.Group | exp.Ordered) and not node.is_string
            return node if ordinal else exp.Var(this="?")
        if isinstance(node, exp.In) and all(isinstance(e, _TEXTS) for e in node.expressions):
            if node.expressions:
                node.set("expressions", [exp.Var(this="?")])
            return node
        if isinstance(node, exp.Column) and not node.table:
            quoted = isinstance(node.this, exp.Identifier) and node.this.quoted
            if quoted and node.name.casefold() not in columns and node.name.casefold() not in named:
                return exp.Var(this="?")
        return node

    return " ".join(tree.transform(replaced).sql(dialect=dialect, comments=False).split())


def literals(tree: exp.Expr) -> list[str]:
    """The texts that stand in a query as literals."""
    return [each.name for each in tree.find_all(*_TEXTS) if each.args.get("is_string", True)]


def masked(question: str, texts: Collection[str]) -> str:
    """A question without what its query has as literals: the same `?` stands for each."""
    for text in sorted({text.strip("%") for text in texts}, key=len, reverse=True):
        if len(text) > 1:
            question = re.sub(re.escape(text), "?", question, flags=re.IGNORECASE)
    return question
