"""The file of notes as text: TOML of one entry a line, so that a broken line stops no other.

An entry stands in one of six sections and is `key = "text"`, the key in quotes wherever it is more
than a word. Everything else in the file (blank lines, comments) is the person's, and stays.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dovetail.atomic import open_regular, replace_file
from dovetail.errors import UsageError

JOINS, TABLES, TERMS, ABOUT, QUESTIONS = "joins", "tables", "terms", "about", "questions"
DOMAINS = "domains"
SECTIONS = (JOINS, TABLES, TERMS, ABOUT, QUESTIONS, DOMAINS)
# A file beyond these bounds is no file of notes.
_MOST_BYTES, _MOST_ENTRIES, _LONGEST = 1 << 20, 10_000, 4_000
_ENDS = re.compile(r"\r\n|\n|\r")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the file, and the number of its line."""

    line: int
    section: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that cannot be used, and why.

    >>> str(Problem(3, "there is no table 'x'"))
    "line 3: there is no table 'x'"
    """

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


def read_entries(file: Path) -> tuple[list[Entry], list[Problem]]:
    """The entries of a file, and the lines that are none; nothing where there is no file."""
    try:
        with open_regular(file) as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            return [], [Problem(0, f"it is larger than {_MOST_BYTES >> 20} MB, so it is not read")]
        text = content.decode("utf-8", errors="replace")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [Problem(0, f"it cannot be read: {error.strerror}")]
    entries: list[Entry] = []
    problems: list[Problem] = []
    for each in _parsed(text):
        if isinstance(each, Problem):
            problems.append(each)
        elif len(entries) < _MOST_ENTRIES:
            entries.append(each)
        else:
            problems.append(Problem(each.line, f"is beyond the first {_MOST_ENTRIES:,} entries"))
            break
    return entries, problems


def _parsed(text: str) -> Iterator[Entry | Problem]:
    section = ""
    seen: dict[tuple[str, str], int] = {}
    for number, line in enumerate(_ENDS.split(text), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if (name := _section(line)) is not None:
            section = name
            if section not in SECTIONS:
                yield Problem(number, f"section {section!r} is not known; there are: {_LISTED}")
            continue
        entry = _entry(line)
        if isinstance(entry, str):
            yield Problem(number, entry)
        elif not section:
            yield Problem(number, f"stands in no section; there are: {_LISTED}")
        elif section in SECTIONS:
            key, value = entry
            if (section, key) in seen:
                yield Problem(number, f"says {key!r} again, as line {seen[section, key]} does")
                continue
            seen[section, key] = number
            yield Entry(number, section, key, value)


_LISTED = ", ".join(f"[{section}]" for section in SECTIONS)


def _section(line: str) -> str | None:
    """The name in a header such as `[joins]  # a comment`; None where a line is none."""
    name, closed, rest = line[1:].partition("]")
    rest = rest.lstrip()
    if not line.startswith("[") or not closed or "[" in name or (rest and rest[0] != "#"):
        return None
    return name.strip()


def _entry(line: str) -> tuple[str, str] | str:
    """Key and value of a line, or why it has none."""
    if len(line) > _LONGEST:
        return f"is longer than {_LONGEST:,} characters"
    try:
        parsed: object = tomllib.loads(line)
    except (tomllib.TOMLDecodeError, RecursionError):
        return 'is no entry: write key = "text" on one line, with the key in quotes'
    names: list[str] = []
    while isinstance(parsed, dict) and len(parsed) == 1:  # a.b = … is a table in a table to TOML
        ((name, parsed),) = parsed.items()
        names.append(name)
    if not isinstance(parsed, str) or not names:
        return "must have a text in quotes for its value"
    return ".".join(names), " ".join(parsed.split())


def put_entry(file: Path, section: str, key: str, value: str) -> bool:
    """Write an entry into the file, in place of one with the same key; True if that is a change."""
    wanted = f"{_key(key)} = {_quoted(value)}"
    _require_entry(wanted)
    with _alone(file):
        lines = _lines(file)
        start, end, at = _find_entry(lines, section, key)
        if at is not None:
            if lines[at].strip() == wanted:
                return False
            lines[at] = wanted
        elif start is None:
            lines += [*([""] if lines and lines[-1].strip() else []), f"[{section}]", wanted]
        else:
            lines.insert(end, wanted)
        _write(file, lines)
    return True


def remove_entry(file: Path, section: str, key: str) -> bool:
    """Take an entry out of the file; False if there is none."""
    with _alone(file):
        lines = _lines(file)
        _, _, at = _find_entry(lines, section, key)
        if at is None:
            return False
        del lines[at]
        _write(file, lines)
    return True


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Keep every other writer waiting, of this process or another: none loses another's note.

    The folder is locked rather than the file, which each writer replaces.
    """
    try:
        folder = os.open(file.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _lines(file: Path) -> list[str]:
    try:
        with open_regular(file) as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{file} is larger than {_MOST_BYTES >> 20} MB; shorten it first")
        return _ENDS.split(content.decode("utf-8").rstrip("\r\n"))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from None


def _find_entry(lines: list[str], section: str, key: str) -> tuple[int | None, int, int | None]:
    """Where a section begins, the line after its last entry, and the line of a key."""
    start, end, at, inside = None, len(lines), None, ""
    for number, line in enumerate(lines):
        if (name := _section(line.strip())) is not None:
            inside = name
            if inside == section:
                start, end = number, number + 1
        elif inside == section and line.strip():
            end = number + 1
            entry = _entry(line.strip())
            if not isinstance(entry, str) and entry[0] == key:
                at = number
    return start, end, at


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    """A text on one line as TOML has it: JSON's way, but for one character."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False).replace("\x7f", "\\u007f")


def _require_entry(line: str) -> None:
    if isinstance(why := _entry(line), str):
        raise UsageError(f"this cannot be noted: it {why}")


def _write(file: Path, lines: list[str]) -> None:
    """Put new lines in the file's place: a reader sees the old or the new ones."""
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    if len(content) > _MOST_BYTES or _entries_in(lines) > _MOST_ENTRIES:
        raise UsageError(
            f"this cannot be noted: {file.name} would hold more than {_MOST_BYTES >> 20} MB or "
            f"{_MOST_ENTRIES:,} entries, and would not be read; remove some first"
        )
    try:
        replace_file(file, content, mode=0o666)  # people share it
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error}") from None


def _entries_in(lines: list[str]) -> int:
    return sum(isinstance(each, Entry) for each in _parsed("\n".join(lines)))
