"""Text from sources made safe, the one place for it: nothing in it ends a line, a cell or a fence,
turns the direction of writing, or steers a terminal or a model.

What people see, on a terminal or in HTML, is made `printable`; what programs get has odd characters
`written_out`, and what models read in prompts and over MCP (`escape`, `one_line`, `sql_for_model`)
has the marks of chat templates broken up as well.
"""

from __future__ import annotations

import re
import unicodedata

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JOINERS = "\u200c\u200d"  # some scripts and emoji cannot be written without
_TURNS = re.compile(r"<(?=\S)|\[(?=/?[A-Z]{3})")
_BROKEN_TURNS = re.compile(r"<\\(?=\S)|\[\\(?=/?[A-Z]{3})")
_QUOTED = re.compile(r""""(?:[^"]|"")*+"|'(?:[^']|'')*+'""")
_MARKS = re.compile(r"(?P<cell>[\\|])|(?P<turn><(?=[^\s|])|\[(?=/?[A-Z]{3}))")


class PromptText(str):
    """Text made safe, by fences or by escapes in every line: a prompt takes it as it is."""

    __slots__ = ()


def fenced(text: str) -> PromptText:
    """Put text between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return PromptText(f"{fence}\n{text}\n{fence}")


def escape(text: str) -> str:
    """Escape text so that it stays on one line and in one cell.

    Marks by which chat templates tell whose turn it is are broken up: some models obey them
    wherever they stand.

    >>> print(escape("a|b\\nc <|end|> </s> [INST]"))
    a\\|b\\nc <\\|end\\|> <\\/s> [\\INST]
    """
    if text.isascii() and text.isidentifier():  # as most names are
        return text
    text = _MARKS.sub(lambda m: "\\" + m[0] if m["cell"] else m[0] + "\\", text)
    return written_out(text)


def one_line(text: str) -> str:
    """Text on one line in which nothing steers a model or a terminal; `|` and `\\` stay.

    This is for text outside of a Markdown cell: names, types and values in a slice of schema.

    >>> print(one_line("a|b\\nc <|end|> [INST] x < y"))
    a|b\\nc <\\|end|> [\\INST] x < y
    """
    return written_out(_without_turns(text))


def sql_lines(sql: str) -> str:
    """SQL on its lines, with odd characters of names and values written out: it would be refused
    with them wherever it is run."""
    return "\n".join(map(written_out, sql.split("\n")))


def sql_line(sql: str) -> str:
    """SQL on one line, less the lines that are comments: it would be one from there on.

    >>> sql_line("-- open: what is 'late'?\\nSELECT 1\\nFROM a")
    'SELECT 1 FROM a'
    """
    lines = (line for line in sql.splitlines() if not line.lstrip().startswith("--"))
    return " ".join(" ".join(lines).split())


def sql_for_model(sql: str) -> str:
    """The same with the marks of chat templates broken up in names, for a model to read.

    `sql_of_model` puts the names together again. A value is never changed, as it would find other
    rows: where one has such a mark, there is no SQL.

    >>> print(sql_for_model('SELECT "[USD]" WHERE a<b'), sql_for_model("SELECT '</s>'") or "none")
    SELECT "[\\USD]" WHERE a<b none
    """
    if any(_TURNS.search(each[0]) for each in _QUOTED.finditer(sql) if each[0][0] == "'"):
        return ""
    return sql_lines(_QUOTED.sub(lambda quoted: _without_turns(quoted[0]), sql))


def sql_of_model(sql: str) -> str:
    """SQL of somebody who took names as they were given out, with the names as they are.

    >>> print(sql_of_model('SELECT "[\\\\USD]" FROM t'))
    SELECT "[USD]" FROM t
    """

    def written(quoted: re.Match[str]) -> str:
        is_name = quoted[0].startswith('"')
        return _BROKEN_TURNS.sub(lambda mark: mark[0][0], quoted[0]) if is_name else quoted[0]

    return _QUOTED.sub(written, sql)


def printable(text: str, instead: str = "\N{REPLACEMENT CHARACTER}") -> str:
    """Text on one line with each character replaced that steers or cannot be seen.

    >>> print(printable("a\\x1b[31m\\nb", "?"))
    a?[31m?b
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else instead for char in text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay; tabs become blanks."""
    return "\n".join(printable(line.expandtabs(4)) for line in text.split("\n"))


def sentence(text: str, longest: int) -> str:
    """A text on one line, without what is no text, of at most so many characters."""
    return cut(" ".join(printable(text, " ").split()), longest)


def encodable(text: str) -> str:
    """A text that can be stored: what is no character of Unicode is replaced."""
    return text.encode(errors="replace").decode()


def cut(text: str, width: int) -> str:
    """Cut text to at most `width` characters."""
    return text if len(text) <= width else text[: width - 1] + "…"


# How sure something is, in words: the first whose bound is reached.
CONFIDENCE = ((0.85, "sure"), (0.6, "likely"), (0.35, "unsure"), (0.0, "guess"))


def confidence_word(share: float) -> str:
    """A confidence, a score or a probability in one word, the same wherever it is shown.

    >>> [confidence_word(share) for share in (0.99, 0.6, 0.4, 0.1)]
    ['sure', 'likely', 'unsure', 'guess']
    """
    return next((word for bound, word in CONFIDENCE if share >= bound), CONFIDENCE[-1][1])


def count(number: float, noun: str) -> str:
    """A number of things.

    >>> count(1, "row"), count(1200, "join"), count(2.0, "query"), count(0, "key")
    ('1 row', '1,200 joins', '2 queries', '0 keys')
    """
    plural = re.sub(r"(?<![aeiou])y$", "ie", noun) + "s"
    return f"{number:,.0f} {noun if number == 1 else plural}"


def _without_turns(text: str) -> str:
    return _TURNS.sub(lambda mark: mark[0] + "\\", text)


def written_out(text: str) -> str:
    """Text on one line with odd characters as escapes, and otherwise as it is.

    >>> print(written_out("[NEW]\\n<\\x1b>"))
    [NEW]\\n<\\u001b>
    """
    if text.isprintable():
        return text
    return "".join(char if _is_text(char) else _escaped(char) for char in text)


def _is_text(char: str) -> bool:
    return char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs"


def _escaped(char: str) -> str:
    return _SHORT.get(char) or f"\\u{ord(char):04x}"
