"""The texts that are embedded: a table as one line of its schema, a column as its header."""

from __future__ import annotations

from dovetail.domain import Table
from dovetail.domain.sql import markdown
from dovetail.names.words import spelled
from dovetail.text import cut

# What a table may be embedded by.
SCHEMA, MARKDOWN = "schema", "markdown"
# Characters of a comment that are embedded: a sentence or two.
_COMMENT = 200


def table_text(table: Table, purpose: str = "") -> str:
    """The schema line: a table's name and its columns in order, then its comment and its purpose.

    The embedded model reads this better than sampled rows (docs/search.md has the figures).
    """
    columns = ", ".join(spelled(column.name) for column in table.columns)
    line = f"{spelled(table.name)}: {columns}"
    return "\n".join(filter(None, (line, cut(table.comment, _COMMENT), purpose)))


def markdown_text(table: Table, purpose: str = "") -> str:
    """A table as the paper embeds it: its name, its purpose if it has one, header and sample."""
    name, _, content = markdown(table).partition("\n")
    return f"{name}\nPurpose: {purpose}\n{content}" if purpose else f"{name}\n{content}"


def header_text(table: str, column: str, comment: str = "") -> str:
    """The header of a column: the name of its table and its own as separate words, and its comment.

    >>> header_text("customers", "kz_ls", "delivery block")
    'customers kz ls: delivery block'
    """
    header = f"{spelled(table)} {spelled(column)}"
    return f"{header}: {cut(comment, _COMMENT)}" if comment else header
