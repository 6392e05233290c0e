"""Normal forms: the values of a column under the transforms that may apply to it as a key.

Codes are written with and without punctuation, in any case, padded with zeros or behind a prefix;
names in any case. Each short text column is hashed once more for how it reads folded, and once more
for the numbers in it if all of its values are numbered alike; timestamps for their days. What a
transform would not change is not kept, for then the values themselves will do (`domain/sql.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import Counts, Ints
from dovetail.domain.sql import CASE, DAY, PREFIX, PUNCTUATED, PUNCTUATION, ZEROS
from dovetail.hashing import Hashes, hash_slices, hash_values, is_text, text_buffers
from dovetail.profile.blocks import HashedColumn
from dovetail.profile.distinct import DistinctHashes, HashCounts, count_distinct, count_weighted

Bytes = npt.NDArray[np.uint8]

# Fewer distinct values prove nothing once they are transformed.
FEWEST = 10
# Longer text is no key.
_LONGEST = 48
# Spaces in a value, on average; more of them make a sentence or an address.
_MOST_SPACES = 2
# A prefix of more letters is a word, and longer numbers do not fit 64 bits.
_MOST_LETTERS, _MOST_DIGITS = 6, 18
_DAY, _SECOND = 10, 16

# What each byte is in lower case, and those that are dropped with punctuation.
_LOWERED = bytes(range(256)).lower()
_DROPPED = bytes(map(ord, PUNCTUATION))

# The last bytes of eight, by how many; then what makes one number of eight digits in three steps:
# what is kept of the digits, of pairs of them and of fours, the factor that adds neighbours up, and
# by how much the sum is shifted.
_LAST = ~np.array([(1 << (8 * n)) - 1 for n in range(8, -1, -1)], dtype=np.uint64)
_STEPS = tuple(
    (np.uint64(kept), np.uint64(1 + (scale << width)), np.uint64(width))
    for kept, scale, width in (
        (0x0F0F0F0F0F0F0F0F, 10, 8),
        (0x00FF00FF00FF00FF, 100, 16),
        (0x0000FFFF0000FFFF, 10_000, 32),
    )
)


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
        return count_distinct(hashes) if self.times is None else count_weighted(hashes, self.times)

    def array(self) -> pa.Array:
        offsets = np.append(0, np.cumsum(self.lengths))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), len(self.lengths), buffers)


class NormalForms:
    """Takes in the arrays of one column; gives out the normal forms that all its values have."""

    def __init__(self) -> None:
        self._folded, self._numbered, self._day = (DistinctHashes() for _ in range(3))
        self._foldable = self._numberable = self._dated = True
        self._mail: bool | None = None
        self._names: bool | None = None
        self._changed = self._stripped = self._padded = False
        self._prefix: bytes | None = None
        self.maximum = 0

    @property
    def pending(self) -> int:
        """How many hashes are held in memory."""
        return self._folded.pending + self._numbered.pending + self._day.pending

    @property
    def parts(self) -> tuple[DistinctHashes, ...]:
        """What may be moved to disk."""
        return self._folded, self._numbered, self._day

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
        if self._foldable and self._changed:
            yield CASE if self._mail or self._names else PUNCTUATED, 0, self._folded.merged()
        if self._numberable and (self._prefix or self._padded or self._stripped):
            name = PREFIX if self._prefix or self._stripped else ZEROS
            yield name, self.maximum, self._numbered.merged()
        if self._dated and self._day.has_any:
            yield DAY, 0, self._day.merged()

    def _add_text(self, column: HashedColumn) -> None:
        texts = _laid_out(column.values, column.times)
        if self._dated:
            self._add_days(texts)
        if self._dated or _are_days(texts):  # no code, whatever its digits match
            self._foldable = self._numberable = False
        if not self._foldable and not self._numberable:
            return
        case_only = self._mail_or_name(texts, _laid_out(column.first))
        folded = None if case_only is None else _folded(texts, b"" if case_only else _DROPPED)
        if folded is None or not folded.lengths.all():  # nothing is left of a value
            self._foldable = self._numberable = False
            return
        stripped = len(folded.data) < len(texts.data)
        changed = stripped or bool((folded.data != texts.data).any())
        self._stripped |= stripped
        self._changed |= changed
        if self._foldable and changed:
            self._folded.add(folded.counted(hash_values(folded.array())))
        elif self._foldable:
            self._folded.add(column.distinct)
        if self._numberable:
            self._numberable = not case_only and self._add_numbers(folded)

    def _mail_or_name(self, texts: _Texts, first: _Texts) -> bool | None:
        """Whether values are e-mail addresses or names, of which case alone is folded; None if they
        are no keys. Whether they are names the very first values tell, without a digit in one."""
        if int(texts.lengths.max()) > _LONGEST or not texts.lengths.all():
            return None
        at = texts.data == ord("@")
        mail = bool(at.any()) and bool((_counts(at, texts.starts) == 1).all())
        if bool(at.any()) != mail or self._mail not in (None, mail):
            return None
        self._mail = mail
        if self._names is None:
            self._names = not mail and not _coded(first)
        return mail or self._names

    def _add_days(self, texts: _Texts) -> None:
        starts, data = texts.starts, texts.data
        self._dated = bool((texts.lengths >= _SECOND).all()) and _are_days(texts)
        self._dated = self._dated and bool(np.isin(data[starts + _DAY], [32, ord("T")]).all())
        if self._dated:
            days = hash_slices(starts, np.full(len(starts), _DAY), data)
            self._day.add(texts.counted(days))

    def _add_numbers(self, folded: _Texts) -> bool:
        """Take in the numbers of values that are all numbered alike; whether they are."""
        starts, lengths, data = folded.starts, folded.lengths, folded.data
        first = data[: int(lengths[0])].tobytes()
        prefix = first.rstrip(b"0123456789")
        letters, expected = len(prefix), prefix if self._prefix is None else self._prefix
        digits = lengths - letters
        if (
            letters > _MOST_LETTERS
            or prefix != expected
            or not (prefix.isalpha() or not prefix)
            or int(digits.min()) <= 0
            or int(digits.max()) > _MOST_DIGITS
            or any((data[starts + offset] != byte).any() for offset, byte in enumerate(prefix))
            or np.count_nonzero(_is_digit(data)) != int(digits.sum())
        ):
            return False
        self._padded |= bool(((data[starts + letters] == ord("0")) & (digits > 1)).any())
        numbers = _read(data, starts + lengths, digits)
        self._prefix = prefix
        self._numbered.add(folded.counted(hash_values(pa.array(numbers))))
        self.maximum = max(self.maximum, int(numbers.max()))
        return True


def _like_keys(texts: _Texts) -> bool:
    """Whether texts may be keys or names: short, of few words unless they are mostly digits."""
    if not texts.lengths.all() or int(texts.lengths.max()) > _LONGEST:
        return False
    spaces = np.count_nonzero(texts.data == ord(" "))
    few = bool(spaces <= _MOST_SPACES * len(texts.lengths))
    return few or bool(2 * np.count_nonzero(_is_digit(texts.data)) > len(texts.data) - spaces)


def _coded(texts: _Texts) -> bool:
    """Whether each of some texts has a digit."""
    return bool(_counts(_is_digit(texts.data), texts.starts).all())


def _are_days(texts: _Texts) -> bool:
    """Whether all texts begin like a day: 2024-02-29."""
    marks = [texts.starts + 4, texts.starts + 7]
    return bool((texts.lengths >= _DAY).all()) and all(
        bool((texts.data[offsets] == ord("-")).all()) for offsets in marks
    )


def _laid_out(values: pa.Array, times: Counts | None = None) -> _Texts:
    starts, lengths, data = text_buffers(values)
    begin, end = int(starts[0]), int(starts[-1] + lengths[-1])
    return _Texts(starts - begin, lengths, data[begin:end], times)


def _folded(texts: _Texts, dropped: bytes) -> _Texts:
    """Texts in lower case, without some bytes and those that are 0."""
    raw = texts.data.tobytes()
    data = np.frombuffer(raw.translate(_LOWERED, b"\0" + dropped), dtype=np.uint8)
    if len(data) == len(raw):
        return _Texts(texts.starts, texts.lengths, data, texts.times)
    gone = np.frombuffer(raw.translate(_marks(b"\0" + dropped)), dtype=np.bool_)
    lengths = texts.lengths - _counts(gone, texts.starts)
    return _Texts(np.cumsum(lengths) - lengths, lengths, data, texts.times)


@cache
def _marks(chosen: bytes) -> bytes:
    """For each byte whether it is one of some."""
    return bytes(byte in chosen for byte in range(256))


def _is_digit(data: Bytes) -> npt.NDArray[np.bool_]:
    return (data - np.uint8(ord("0"))) < 10


def _read(data: Bytes, ends: Ints, digits: Ints) -> Ints:
    """The numbers that texts of digits before some places read as, eight digits at a time."""
    padded = np.concatenate([np.zeros(_MOST_DIGITS + 6, dtype=np.uint8), data])
    words: npt.NDArray[np.uint64] = np.ndarray(
        (len(padded) - 7,), dtype="<u8", buffer=padded.data, strides=(1,)
    )
    numbers = np.zeros(len(ends), dtype=np.int64)
    for done in range(0, int(digits.max()), 8):
        word = words[ends + (_MOST_DIGITS - 2 - done)]
        word &= _LAST[np.clip(digits - done, 0, 8)]
        for kept, factor, width in _STEPS:
            word &= kept
            word *= factor
            word >>= width
        numbers += word.view(np.int64) * 10**done
    return numbers


def _counts(flags: npt.NDArray[np.bool_], starts: Ints) -> Ints:
    """How many of the bytes of each text are flagged; none is empty or of 256 bytes."""
    return np.add.reduceat(flags.view(np.uint8), starts).astype(np.int64)
