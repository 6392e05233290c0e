"""Text from sources made safe: nothing in it ends a line, a cell or a fence, or steers a model."""

from __future__ import annotations

import re
import unicodedata

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JOINERS = "\u200c\u200d"  # some scripts and emoji cannot be written without
_TURNS = re.compile(r"<(?=\S)|\[(?=/?[A-Z]{3})")
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
    text = _MARKS.sub(lambda m: "\\" + m[0] if m["cell"] else m[0] + "\\", text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _written_out(char) for char in text)


def one_line(text: str) -> str:
    """Text on one line in which nothing steers a model or a terminal; `|` and `\\` stay.

    This is for text outside of a Markdown cell: names, types and values in a slice of schema.

    >>> print(one_line("a|b\\nc <|end|> [INST] x < y"))
    a|b\\nc <\\|end|> [\\INST] x < y
    """
    text = _TURNS.sub(lambda mark: mark[0] + "\\", text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _written_out(char) for char in text)


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


def _written_out(char: str) -> str:
    if char in _JOINERS or unicodedata.category(char) == "Zs":
        return char
    return _SHORT.get(char) or f"\\u{ord(char):04x}"
