"""Keys as they look elsewhere: the values of a column under the transforms that may apply to it.

Codes are written with and without punctuation, in any case, padded with zeros or behind a prefix.
Each short text column is hashed once more for how it reads folded, and once more for the numbers in
it if all of its values are numbered alike; timestamps for their days. What a transform would not
change is not kept, for then the values themselves will do (`dovetail/transforms.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.hashing import Comparison, hash_slices, hash_values, is_text, text_buffers
from dovetail.offline.distinct import DistinctHashes, HashCounts, count_distinct
from dovetail.transforms import CASE, DAY, PREFIX, PUNCTUATED, PUNCTUATION, ZEROS

Places = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# Fewer distinct values prove nothing once they are transformed.
FEWEST = 10
# Longer text is no key.
_LONGEST = 48
# Spaces in a value, on average; more of them make a sentence or an address.
_MOST_SPACES = 2
# Values that are looked at first, before all are.
_TRIED = 32
# A prefix of more letters is a word, and longer numbers do not fit 64 bits.
_MOST_LETTERS, _MOST_DIGITS = 6, 18
_DAY, _SECOND = 10, 16

# What a byte becomes: itself, in lower case; 0 for what is dropped with punctuation.
_LOWERED = np.arange(256, dtype=np.uint8)
_LOWERED[ord("A") : ord("Z") + 1] += 32
_STRIPPED = _LOWERED.copy()
_STRIPPED[[ord(mark) for mark in PUNCTUATION]] = 0


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts laid end to end: where each begins, and the bytes of all."""

    starts: Places
    lengths: Places
    data: Bytes

    def array(self) -> pa.Array:
        offsets = np.append(0, np.cumsum(self.lengths))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), len(self.lengths), buffers)


class KeyViews:
    """Takes in the arrays of one column; gives out the views that hold for all of them."""

    def __init__(self) -> None:
        self._folded, self._numbered, self._day = (DistinctHashes() for _ in range(3))
        self._foldable = self._numberable = self._dated = True
        self._mail: bool | None = None
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

    def add(self, values: pa.Array, comparison: Comparison, distinct: HashCounts) -> None:
        """Take in values, none of them missing, with their distinct hashes as they are."""
        if not (self._foldable or self._numberable or self._dated):
            return
        if pa.types.is_timestamp(values.type):
            self._foldable = self._numberable = False
            days = values.cast(pa.timestamp("us", tz=values.type.tz), safe=False)
            days = days.cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
            self._day.add(count_distinct(hash_values(days, Comparison.COERCED)))
        elif is_text(values.type):
            self._add_text(values, comparison, distinct)
        else:
            self._foldable = self._numberable = self._dated = False

    def views(self) -> Iterator[tuple[str, int, Iterator[HashCounts]]]:
        """Each view by the name of its transform, with the largest number in it and its hashes."""
        if self._foldable and self._changed:
            yield CASE if self._mail else PUNCTUATED, 0, self._folded.merged()
        if self._numberable and (self._prefix or self._padded or self._stripped):
            name = PREFIX if self._prefix or self._stripped else ZEROS
            yield name, self.maximum, self._numbered.merged()
        if self._dated and self._day.any_held:
            yield DAY, 0, self._day.merged()

    def _add_text(self, values: pa.Array, comparison: Comparison, distinct: HashCounts) -> None:
        if not _like_keys(_laid_out(values[:_TRIED])):
            self._foldable = self._numberable = self._dated = False
            return
        texts = _laid_out(values)
        if self._dated:
            self._add_days(texts)
        if self._dated or _are_days(texts):  # no code, whatever its digits match
            self._foldable = self._numberable = False
        if not self._foldable and not self._numberable:
            return
        if int(texts.lengths.max()) > _LONGEST or not texts.lengths.all():
            self._foldable = self._numberable = False
            return
        at = texts.data == ord("@")
        any_mail = bool(at.any())
        mail = any_mail and bool((_counts(at, texts.starts) == 1).all())
        if (self._mail is not None and mail != self._mail) or (not mail and any_mail):
            self._foldable = self._numberable = False
            return
        self._mail = mail
        folded = _folded(texts, _LOWERED if mail else _STRIPPED)
        if not folded.lengths.all():  # nothing is left of a value
            self._foldable = self._numberable = False
            return
        stripped = len(folded.data) < len(texts.data)
        changed = stripped or bool((folded.data != texts.data).any())
        self._stripped |= stripped
        self._changed |= changed
        if self._foldable:
            hashed = (
                count_distinct(hash_values(folded.array(), comparison)) if changed else distinct
            )
            self._folded.add(hashed)
        if self._numberable:
            self._numberable = not mail and self._add_numbers(folded, comparison)

    def _add_days(self, texts: _Texts) -> None:
        starts, data = texts.starts, texts.data
        self._dated = bool((texts.lengths >= _SECOND).all()) and _are_days(texts)
        self._dated = self._dated and bool(np.isin(data[starts + _DAY], [32, ord("T")]).all())
        if self._dated:
            days = hash_slices(starts, np.full(len(starts), _DAY), data)
            self._day.add(count_distinct(days))

    def _add_numbers(self, folded: _Texts, comparison: Comparison) -> bool:
        """Take in the numbers of values that are all numbered alike; whether they are."""
        starts, lengths, data = folded.starts, folded.lengths, folded.data
        digit = (data >= ord("0")) & (data <= ord("9"))
        digits = _counts(digit, starts)
        letters = int(lengths[0] - digits[0])
        ends = starts + lengths
        if (
            not 0 <= letters <= _MOST_LETTERS
            or not ((lengths - digits) == letters).all()
            or not ((digits > 0) & (digits <= _MOST_DIGITS)).all()
        ):
            return False
        prefixes = data[starts[:, None] + np.arange(letters)]
        prefix = prefixes[0].tobytes()
        known = prefix if self._prefix is None else self._prefix
        alike = bool((prefixes == prefixes[0]).all()) and prefix == known
        if not alike or not (prefix.isalpha() or not prefix):
            return False
        first = data[starts + letters]
        self._padded |= bool(((first == ord("0")) & (digits > 1)).any())
        # The last digits of each value side by side, with zeros where a value has fewer.
        most = int(digits.max())
        place = np.arange(most, 0, -1)
        held = data[np.maximum(ends[:, None] - place, 0)] - np.uint8(ord("0"))
        held[digits[:, None] < place] = 0
        numbers = held.astype(np.int64) @ 10 ** (place - 1)
        self._prefix = prefix
        self._numbered.add(count_distinct(hash_values(pa.array(numbers), comparison)))
        self.maximum = max(self.maximum, int(numbers.max()))
        return True


def _like_keys(texts: _Texts) -> bool:
    """Whether texts may be keys: short, of few words, with a digit or the sign of an e-mail address
    in each."""
    if not texts.lengths.all() or int(texts.lengths.max()) > _LONGEST:
        return False
    if np.count_nonzero(texts.data == ord(" ")) > _MOST_SPACES * len(texts.lengths):
        return False
    digit = (texts.data >= ord("0")) & (texts.data <= ord("9"))
    return bool(_counts(digit | (texts.data == ord("@")), texts.starts).all())


def _are_days(texts: _Texts) -> bool:
    """Whether all texts begin like a day: 2024-02-29."""
    marks = [texts.starts + 4, texts.starts + 7]
    return bool((texts.lengths >= _DAY).all()) and all(
        bool((texts.data[place] == ord("-")).all()) for place in marks
    )


def _laid_out(values: pa.Array) -> _Texts:
    starts, lengths, data = text_buffers(values)
    begin, end = int(starts[0]), int(starts[-1] + lengths[-1])
    return _Texts(starts - begin, lengths, data[begin:end])


def _folded(texts: _Texts, table: Bytes) -> _Texts:
    """Texts with every byte looked up in a table; those that become 0 are left out."""
    data = table[texts.data]
    if data.all():
        return _Texts(texts.starts, texts.lengths, data)
    live = data != 0
    lengths = _counts(live, texts.starts)
    return _Texts(np.cumsum(lengths) - lengths, lengths, data[live])


def _counts(flags: npt.NDArray[np.bool_], starts: Places) -> Places:
    """How many of the bytes of each text are flagged; none is empty or of 256 bytes."""
    return np.add.reduceat(flags.view(np.uint8), starts).astype(np.int64)
