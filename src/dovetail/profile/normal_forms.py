"""Normal forms: the values of a column under the transforms that may apply to it as a key.

Codes are written with and without punctuation, in any case, padded with zeros or behind a prefix;
names in any case. Each short text column is hashed once more for how it reads folded, and once more
for the numbers in it if its values are numbered alike, behind one prefix or none; codes that all
begin or end alike, such as `FR-AB12`, without that; timestamps for their days. What a transform
would not change is not kept, for then the values themselves will do (`domain/sql.py`). A few odd
values (`n/a`, a remark, a number of another kind) take nothing from the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.arrays import Counts, Ints, spans
from dovetail.domain.sql import (
    ACCENTED,
    CASE,
    DAY,
    PREFIX,
    PUNCTUATED,
    PUNCTUATION,
    ZEROS,
    cut_transform,
)
from dovetail.hashing import HashCipher, Hashes, hash_slices, hash_values, is_text, text_buffers
from dovetail.profile.blocks import HashedColumn
from dovetail.profile.distinct import DistinctHashes, HashCounts, count_distinct

Bytes = npt.NDArray[np.uint8]

# Fewer distinct values prove nothing once they are transformed, whatever they are called.
FEWEST = 4
# Longer text is no key.
_FEW_LETTERS = 8
_LONGEST = 48
# Spaces in a value, on average; more of them make a sentence or an address.
_MOST_SPACES = 2
# A prefix of more letters is a word, and longer numbers do not fit 64 bits.
_MOST_LETTERS, _MOST_DIGITS = 6, 18
# The share of values that may be of another kind than the rest.
_ODD = 0.1
# Values that tell what letters stand before the numbers of all.
_FIRST = 25
_NUMBERED = re.compile(rb"([a-z]*)([0-9]{1,18})")
# What the values of a column may begin with: up to a mark, or letters before letters; or end with.
_FRONTS = tuple(
    re.compile(ends)
    for ends in (
        rb"(?=[0-9]{0,7}[a-z])[a-z0-9]{1,8}[ _./#:,-]+",
        rb"[a-z]{2}(?=[a-z]{2})",
        rb"[a-z]{3}(?=[a-z]{2})",
    )
)
_BACK = re.compile(
    rb"(?<![ _./#:,-])[ _./#:,-]++(?=[0-9]{0,7}[a-z])[a-z0-9]{1,8}\Z|(?<=[0-9])[a-z]{1,6}\Z"
)
# The addresses of one firm: before the domain stands a login.
_DOMAIN = re.compile(rb"@[a-z0-9._-]+\Z")
# Values that tell what all begin with, how many beginnings there may be, and how often each.
_MANY, _MOST_FRONTS, _TIMES = 250, 6, 3
_DAY, _SECOND = 10, 16

# What each byte is in lower case, and those that are dropped with punctuation.
_LOWERED = bytes(range(256)).lower()
_DROPPED = bytes(map(ord, PUNCTUATION))

# Accented capitals in UTF-8: two bytes each, the first of which is the same.
_ACCENTS = ACCENTED.encode()


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts laid end to end: where each begins, the bytes of all, and how many rows have each.

    `times` is None where each has one.
    """

    starts: Ints
    lengths: Ints
    data: Bytes
    times: Counts | None

    def counted(self, hashes: Hashes) -> HashCounts:
        """The distinct ones of the texts' hashes, with the rows that have each."""
        return count_distinct(hashes, self.times)

    def each(self) -> Iterator[bytes]:
        """The bytes of each."""
        for start, length in zip(self.starts.tolist(), self.lengths.tolist(), strict=True):
            yield self.data[start : start + length].tobytes()

    def take(self, chosen: npt.NDArray[np.bool_]) -> _Texts:
        """Some of the texts; the same where these are all."""
        if chosen.all():
            return self
        lengths = self.lengths[chosen]
        data = self.data[np.repeat(chosen, self.lengths)]
        times = None if self.times is None else self.times[chosen]
        return _Texts(np.cumsum(lengths) - lengths, lengths, data, times)

    def array(self) -> pa.Array:
        offsets = np.append(0, np.cumsum(self.lengths))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), len(self.lengths), buffers)


def _has_differences(texts: _Texts) -> bool:
    """Whether a text is a number with a plus and decimals, such as +5.478 seconds: no key."""
    filled = texts.take(texts.lengths > 0)
    signed = np.flatnonzero(filled.data[filled.starts] == ord("+")) if len(filled.data) else ()
    if not len(signed):
        return False
    points = np.add.reduceat(filled.data == ord("."), filled.starts, dtype=np.int64)
    return bool((points[signed] == 1).any())


class _Reach:
    """How far the numbers of a column go: to the largest, or, where a few are far out (99999 for
    none), as far as the bits go that most need."""

    def __init__(self) -> None:
        self._rows = np.zeros(65)
        self._largest = 0

    def add(self, numbers: Ints, times: Counts | None) -> None:
        """Take in numbers with the rows that have each."""
        bits = np.frexp(numbers.astype(np.float64))[1]
        self._rows += np.bincount(bits, times, minlength=65)
        self._largest = max(self._largest, int(numbers.max()))

    def __int__(self) -> int:
        rows = np.cumsum(self._rows)
        bits = int(np.searchsorted(rows, (1 - _ODD) * rows[-1]))
        return min(self._largest, (1 << bits) - 1)


class NormalForms:
    """Takes in the arrays of one column; gives out the normal forms that all its values have.

    With a cipher the hashes are keyed, and nothing of a value is told: not what codes begin and end
    with, and of the largest number only how many bits it has.
    """

    def __init__(self, cipher: HashCipher | None = None) -> None:
        self._folded, self._numbered, self._day, self._cut = (
            DistinctHashes(cipher) for _ in range(4)
        )
        self._keyed = cipher is not None
        self._ends: tuple[str, str] | None = ("", "") if self._keyed else None
        self._foldable = self._numberable = self._dated = True
        self._mail: bool | None = None
        self._names: bool | None = None
        self._changed = self._stripped = self._padded = False
        self._prefix = b""
        self._seen = self._odd = self._numbered_alike = self._begun_alike = 0
        self._reach, self._cut_reach = _Reach(), _Reach()

    @property
    def pending(self) -> int:
        """How many hashes are held in memory."""
        return sum(part.pending for part in self.parts)

    @property
    def parts(self) -> tuple[DistinctHashes, ...]:
        """What may be moved to disk."""
        return self._folded, self._numbered, self._day, self._cut

    def add(self, column: HashedColumn) -> None:
        """Take in the values of a batch."""
        if not (self._foldable or self._numberable or self._dated):
            return
        values = column.values
        if pa.types.is_timestamp(values.type):
            self._foldable = self._numberable = False
            days = values.cast(pa.timestamp("us", tz=values.type.tz), safe=False)
            days = days.cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
            self._day.add(count_distinct(hash_values(days)))
        elif is_text(values.type) and _like_keys(_laid_out(column.first)):
            self._add_text(column)
        else:
            self._foldable = self._numberable = self._dated = False

    def forms(self) -> Iterator[tuple[str, int, Iterator[HashCounts]]]:
        """Each normal form by the name of its transform, with its largest number and its hashes."""
        few_odd = self._odd <= _ODD * self._seen
        if self._foldable and self._changed and few_odd:
            yield CASE if self._mail or self._names else PUNCTUATED, 0, self._folded.merged()
        alike = self._numbered_alike >= (1 - _ODD) * self._seen
        if self._numberable and alike and (self._prefix or self._padded or self._stripped):
            name = PREFIX if self._prefix or self._stripped else ZEROS
            furthest = int(self._reach)
            bits = (1 << furthest.bit_length()) - 1
            yield name, bits if self._keyed else furthest, self._numbered.merged()
        begun_alike = self._begun_alike >= (1 - _ODD) * self._seen
        if self._ends and any(self._ends) and self._foldable and begun_alike:
            yield cut_transform(*self._ends), int(self._cut_reach), self._cut.merged()
        if self._dated and self._day.has_any:
            yield DAY, 0, self._day.merged()

    def _add_text(self, column: HashedColumn) -> None:
        texts = _laid_out(column.values, column.times)
        if self._dated:
            self._add_days(texts)
        if self._dated or _are_days(texts) or _are_whole(column.first):  # as they are will do
            self._foldable = self._numberable = False
        if not self._foldable and not self._numberable:
            return
        self._seen += len(texts.lengths)
        every, texts = len(texts.lengths), self._of_one_kind(texts)
        if not self._foldable:
            return
        self._numberable &= not _has_differences(texts)
        if self._names is None:
            self._names = not self._mail and not _coded(_laid_out(column.first))
        case_only = bool(self._mail or self._names)
        folded = _folded(texts, b"" if case_only else _DROPPED)
        left = folded.lengths > 0
        texts, folded = texts.take(left), folded.take(left)
        self._odd += every - len(folded.lengths)
        if not len(folded.lengths):
            return
        stripped = len(folded.data) < len(texts.data)
        changed = stripped or bool((folded.data != texts.data).any())
        self._stripped |= stripped
        self._changed |= changed
        if changed or len(folded.lengths) < every:
            self._folded.add(folded.counted(hash_values(folded.array())))
        else:
            self._folded.add(column.distinct)
        if self._numberable:
            self._numberable = not case_only and self._add_numbers(folded)
        self._add_cut(texts, folded)

    def _add_cut(self, texts: _Texts, folded: _Texts) -> None:
        """Take in folded texts without what all begin and end with, nor zeros before a number."""
        if self._ends is None:
            self._ends = ("", "") if self._names else _common_ends(texts, bool(self._mail))
        if not any(self._ends):
            return
        folded = _folded(texts, _DROPPED) if self._mail else folded
        front, back = self._ends
        ends = rf"\A(?:{front})(?P<rest>.+){back}\z"
        rest = pc.struct_field(pc.extract_regex(folded.array(), ends), "rest")
        rest = pc.replace_substring_regex(rest, r"\A0+([0-9]+)\z", r"\1")
        chosen = rest.is_valid().to_numpy(zero_copy_only=False)
        self._begun_alike += int(np.count_nonzero(chosen))
        if chosen.any():
            rest, texts = rest.drop_null(), folded.take(chosen)
            self._cut.add(texts.counted(hash_values(rest)))
            if pc.all(pc.match_substring_regex(rest, r"\A[0-9]{1,18}\z")).as_py():
                self._cut_reach.add(rest.cast(pa.int64()).to_numpy(), texts.times)

    def _of_one_kind(self, texts: _Texts) -> _Texts:
        """The short ones of some texts that are e-mail addresses, or the others, if those are the
        most; where both are many, the column is none of keys."""
        texts = texts.take((texts.lengths > 0) & (texts.lengths <= _LONGEST))
        at = texts.data == ord("@")
        if self._mail is None or at.any():
            marks = _counts(at, texts.starts) if len(texts.lengths) else texts.lengths
            mail = bool(len(marks)) and bool(np.mean(marks == 1) > _ODD)
            self._mail = mail if self._mail is None else self._mail
            texts = texts.take(marks == self._mail)
        elif self._mail:
            texts = texts.take(np.zeros(len(texts.lengths), dtype=np.bool_))
        return texts

    def _add_days(self, texts: _Texts) -> None:
        starts, data = texts.starts, texts.data
        self._dated = bool((texts.lengths >= _SECOND).all()) and _are_days(texts)
        self._dated = self._dated and bool(np.isin(data[starts + _DAY], [32, ord("T")]).all())
        if self._dated:
            days = hash_slices(starts, np.full(len(starts), _DAY), data)
            self._day.add(texts.counted(days))

    def _add_numbers(self, folded: _Texts) -> bool:
        """Take in the numbers of values that are numbered alike; whether most are."""
        starts, data = folded.starts, folded.data
        in_each = _counts(_is_digit(data), starts)
        prefix = self._prefix = self._prefix or _prefix(folded.take(in_each < folded.lengths))
        begins = np.ones(len(starts), dtype=np.bool_)
        for offset, byte in enumerate(prefix):
            begins &= data[np.minimum(starts + offset, len(data) - 1)] == byte
        digits = folded.lengths - len(prefix) * begins
        alike = (in_each == digits) & (digits > 0) & (digits <= _MOST_DIGITS)
        self._numbered_alike += int(np.count_nonzero(alike))
        if self._numbered_alike < (1 - _ODD) * self._seen / 2:
            return False
        self._add_odd(folded.take(~alike))
        folded, digits = folded.take(alike), digits[alike]
        if len(digits):
            ends = folded.starts + folded.lengths
            self._padded |= bool(((folded.data[ends - digits] == ord("0")) & (digits > 1)).any())
            self._take_in(folded, _read(folded, digits))
        return True

    def _add_odd(self, rest: _Texts) -> None:
        """Take in the numbers behind other letters, as SQL reads them; others are left out."""
        read = [_NUMBERED.fullmatch(text) for text in rest.each()]
        numbers = np.array([int(match[2]) for match in read if match], dtype=np.int64)
        if len(numbers):
            self._stripped |= any(match[1] for match in read if match)
            self._take_in(rest.take(np.array([match is not None for match in read])), numbers)

    def _take_in(self, texts: _Texts, numbers: Ints) -> None:
        self._numbered.add(texts.counted(hash_values(pa.array(numbers))))
        self._reach.add(numbers, texts.times)


def _prefix(texts: _Texts) -> bytes:
    """The few letters that most of the first texts have before a number, if any.

    >>> _prefix(_laid_out(pa.array(["na", "c17", "c4", "x21"])))
    b'c'
    """
    first = (
        _NUMBERED.fullmatch(text) for text, _ in zip(texts.each(), range(_FIRST), strict=False)
    )
    before = Counter(match[1] for match in first if match and 0 < len(match[1]) <= _MOST_LETTERS)
    return before.most_common(1)[0][0] if before else b""


def _common_ends(texts: _Texts, mail: bool = False) -> tuple[str, str]:
    """What nearly all of the first texts begin and end with, as they read folded; beginnings may be
    a few, between bars. Numbers behind mere letters have a form of their own; addresses of `mail`
    end with a domain.

    >>> _common_ends(_laid_out(pa.array(["FR-AB12", "FR-C7", "FR-D12", "FR-E1"])))
    ('fr', '')
    >>> _common_ends(_laid_out(pa.array(["C-12", "C-13", "C-14", "C-15"])))
    ('', '')
    """
    first = {text.lower() for text, _ in zip(texts.each(), range(_MANY), strict=False)}
    if len(first) < FEWEST:
        return "", ""
    if mail:
        domain = max(_few(map(_DOMAIN.search, first), 1), default=b"")
        return "", domain.translate(None, _DROPPED).decode()
    back = max(_few(map(_BACK.search, first), 1), default=b"")
    fronts: list[bytes] = []
    rest: list[bytes] = []
    for ends in _FRONTS:
        fronts = _few(map(ends.match, first))
        begins = re.compile(b"|".join(map(re.escape, fronts)) or b"(?!)")
        rest = [
            text[match.end() : len(text) - len(back)]
            for text in first
            if (match := begins.match(text))
        ]
        # Letters that others follow are a beginning if these differ.
        if fronts and (ends is _FRONTS[0] or len({text[:1] for text in rest}) > 2):
            break
    else:
        fronts = rest = []
    plain = [front.translate(None, _DROPPED) for front in fronts]
    if all(front.isalpha() for front in plain) and all(each.isdigit() for each in rest):
        fronts, plain = ([], []) if not back else (fronts, plain)
    if fronts and not all(rest):
        return "", ""
    return b"|".join(sorted(plain)).decode(), back.translate(None, _DROPPED).decode()


def _few(matches: Iterable[re.Match[bytes] | None], most: int = _MOST_FRONTS) -> list[bytes]:
    """The few beginnings or ends that nearly all have, each of them several times; else none."""
    every = [each[0] if each else b"" for each in matches]
    times = Counter(every)
    if times.pop(b"", 0) > _ODD * len(every):
        return []
    common = [text for text, n in times.most_common(most) if n >= _TIMES]
    enough = sum(times[text] for text in common) >= (1 - _ODD) * len(every)
    return common if enough else []


def _like_keys(texts: _Texts) -> bool:
    """Whether texts may be keys or names: short, of few words unless they are mostly digits."""
    short = (texts.lengths > 0) & (texts.lengths <= _LONGEST)
    if np.mean(short) < 1 - _ODD:
        return False
    texts = texts.take(short)
    spaces = np.count_nonzero(texts.data == ord(" "))
    few = bool(spaces <= _MOST_SPACES * len(texts.lengths))
    return few or bool(2 * np.count_nonzero(_is_digit(texts.data)) > len(texts.data) - spaces)


def _coded(texts: _Texts) -> bool:
    """Whether nearly all of some texts have a digit, or are a few letters of one case with a hyphen
    between, as the marks of aircraft are."""
    if np.mean(_counts(_is_digit(texts.data), texts.starts) > 0) >= 1 - _ODD:
        return True
    hyphen = _counts(texts.data == ord("-"), texts.starts) > 0
    lower, upper = (((texts.data >= a) & (texts.data <= z)).any() for a, z in (b"az", b"AZ"))
    few = hyphen & (texts.lengths <= _FEW_LETTERS)
    return bool(np.mean(few) >= 1 - _ODD) and not (lower and upper)


def _are_days(texts: _Texts) -> bool:
    """Whether all texts begin like a day: 2024-02-29."""
    marks = [texts.starts + 4, texts.starts + 7]
    return bool((texts.lengths >= _DAY).all()) and all(
        bool((texts.data[offsets] == ord("-")).all()) for offsets in marks
    )


def _are_whole(values: pa.Array) -> bool:
    """Whether texts are whole numbers written with a decimal: 4711.0, which equals 4711."""
    return bool(pc.all(pc.match_substring_regex(values, r"\A\s*[0-9]+\.0+\s*\z")).as_py())


def _laid_out(values: pa.Array, times: Counts | None = None) -> _Texts:
    starts, lengths, data = text_buffers(values)
    begin, end = int(starts[0]), int(starts[-1] + lengths[-1])
    return _Texts(starts - begin, lengths, data[begin:end], times)


def _folded(texts: _Texts, dropped: bytes) -> _Texts:
    """Texts in lower case, without some bytes and those that are 0."""
    raw = texts.data.tobytes()
    data = np.frombuffer(raw.translate(_LOWERED, b"\0" + dropped), dtype=np.uint8)
    if not dropped and not raw.isascii():
        data = _accents_lowered(data)
    if len(data) == len(raw):
        return _Texts(texts.starts, texts.lengths, data, texts.times)
    gone = np.frombuffer(raw.translate(_marks(b"\0" + dropped)), dtype=np.bool_)
    lengths = texts.lengths - _counts(gone, texts.starts)
    return _Texts(np.cumsum(lengths) - lengths, lengths, data, texts.times)


def _accents_lowered(data: Bytes) -> Bytes:
    """UTF-8 with accented capitals in lower case: of their two bytes, the second."""
    second = np.append(False, data[:-1] == _ACCENTS[0]) & np.isin(data, list(_ACCENTS[1::2]))
    return data + np.where(second, np.uint8(0x20), np.uint8(0))


@cache
def _marks(chosen: bytes) -> bytes:
    """For each byte whether it is one of some."""
    return bytes(byte in chosen for byte in range(256))


def _is_digit(data: Bytes) -> npt.NDArray[np.bool_]:
    return (data - np.uint8(ord("0"))) < 10


def _read(texts: _Texts, digits: Ints) -> Ints:
    """The numbers that so many digits at the end of each text read as."""
    ends = texts.starts + texts.lengths
    data = texts.data[spans(ends - digits, ends)]
    numbers = _Texts(np.cumsum(digits) - digits, digits, data, None).array().cast(pa.int64())
    read: Ints = numbers.to_numpy()
    return read


def _counts(flags: npt.NDArray[np.bool_], starts: Ints) -> Ints:
    """How many of the bytes of each text are flagged; none is empty or of 256 bytes."""
    return np.add.reduceat(flags.view(np.uint8), starts).astype(np.int64)
