"""Hashes cell values to stable 64-bit numbers tagged with their type: the basis of join evidence.

Two columns are compared by their value hashes, the sorted hashes of their distinct values. So a
hash must not depend on the run, the machine or the source a value came from. Text that reads as a
number is that number, surrounding blanks do not count, dates equal their ISO text, blank text is
missing. '01' stays text: it is a code. `docs/catalog.md` gives the rules and examples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

# Raised whenever the same value would hash differently than before: catalogs are then rebuilt.
HASH_VERSION = 1

# Longer text is hashed value by value with BLAKE2b: the word loop below costs one pass per word.
_LONG_TEXT = 256
# Whole numbers of more digits are hashed as their digits, so that every integer type, a decimal
# and a text of digits agree; every shorter one fits an int64.
_MANY_DIGITS = 10**18
# Doubles beyond this no longer hold every whole number, so they stay doubles.
_EXACT_DOUBLE = float(2**53)

# So many texts, those of a question, Python reads as numbers before Arrow's functions are loaded.
_FEW = 256

# The days whose hashes are worked out once and looked up: those of 1900 to 2099.
_DAYS = (-25567, 47482)

_MIDNIGHT = " 00:00:00"
_MIDNIGHT_TEXT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"

# What a byte means to a plainly written number: a digit, its point, or its end.
_POINT, _FOREIGN = np.uint64(1), np.uint64(1 << 32)
_BYTE_CLASS = np.full(256, _FOREIGN, dtype=np.uint64)
_BYTE_CLASS[ord("0") : ord("9") + 1] = 0
_BYTE_CLASS[ord(".")] = _POINT


def _tag(name: str) -> np.uint64:
    digest = hashlib.blake2b(name.encode(), digest_size=8, person=b"dovetail").digest()
    return np.uint64(int.from_bytes(digest, "little"))


_INTEGER, _REAL, _TEXT, _BOOLEAN, _BINARY = (
    _tag(name) for name in ("integer", "real", "text", "boolean", "binary")
)
_LENGTH = np.uint64(0x9E3779B97F4A7C15)
_WORD = np.uint64(0xFF51AFD7ED558CCD)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_KEEP_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_ROUNDS, _HALF_WORD = 27, np.uint64(32)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(words: Hashes) -> Hashes:
    """Scramble 64-bit words in place, one to one (the finaliser of SplitMix64)."""
    words ^= words >> _SHIFT_30
    words *= _MIX_1
    words ^= words >> _SHIFT_27
    words *= _MIX_2
    words ^= words >> _SHIFT_31
    return words


class HashCipher:
    """Makes hashes keyed: without the key, nobody can tell which value a hash is of.

    Each is enciphered with Speck64/128, one to one, so that equal values still have equal hashes
    and different ones different hashes, and columns can be compared as before.

    >>> cipher = HashCipher(bytes.fromhex("0001020308090a0b1011121318191a1b"))
    >>> hex(int(cipher(np.array([0x3B7265747475432D], dtype=np.uint64))[0]))
    '0x8c6fa548454e028b'
    """

    def __init__(self, key: bytes) -> None:
        self.key = key
        first, *rest = np.frombuffer(key, dtype="<u4").astype(np.uint32).reshape(4, 1)
        self._rounds = [first]
        for number in range(_ROUNDS - 1):
            rest.append((self._rounds[-1] + _turned(rest[number], 24)) ^ np.uint32(number))
            self._rounds.append(_turned(self._rounds[-1], 3) ^ rest[-1])

    def __call__(self, hashes: Hashes) -> Hashes:
        """The keyed hashes, in the order of the others."""
        left, right = (hashes >> _HALF_WORD).astype(np.uint32), hashes.astype(np.uint32)
        for key in self._rounds:
            left = (_turned(left, 24) + right) ^ key
            right = _turned(right, 3) ^ left
        return (left.astype(np.uint64) << _HALF_WORD) | right


def _turned(words: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    """Words of 32 bits rotated to the left."""
    turned: npt.NDArray[np.uint32] = (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
    return turned


def readable_text(array: pa.Array) -> pa.Array:
    """Text that is not valid UTF-8, with its offending bytes written as escapes."""
    if not is_text(array.type):
        return array
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raw = array.cast(pa.large_binary()).to_pylist()
        texts = [None if cell is None else cell.decode("utf-8", "backslashreplace") for cell in raw]
        return pa.array(texts, pa.large_string())
    return array


Present = npt.NDArray[np.bool_]


def drop_missing(values: pa.Array) -> tuple[pa.Array, Present | None]:
    """Leave out what holds no value: nulls, NaN and blank text.

    Text comes back without the blanks around it, and a day's midnight as the day. The second
    result says which values are present; None means all of them.
    """
    present: Present | None = None
    if values.null_count:
        present = values.is_valid().to_numpy(zero_copy_only=False)
        values = values.drop_null()
    if pa.types.is_floating(values.type):
        held = ~np.isnan(values.to_numpy(zero_copy_only=False))
    elif is_text(values.type):
        values = _cut_midnight(_strip(values))
        held = text_buffers(values)[1] > 0
    else:
        return values, present
    if held.all():
        return values, present
    values = values.filter(pa.array(held))
    if present is None:
        return values, held
    present[present] = held
    return values, present


def hash_values(values: pa.Array) -> Hashes:
    """Hash every value of an array that `drop_missing` has been over.

    >>> import pyarrow as pa
    >>> bool((hash_values(pa.array([1, 250])) == hash_values(pa.array(["1.0", "250"]))).all())
    True
    """
    kind = values.type
    if pa.types.is_integer(kind):
        return _hash_integers(values)
    if pa.types.is_floating(kind):
        return _hash_reals(as_numpy(values))
    if is_text(kind):
        return _hash_read_text(values)
    if pa.types.is_boolean(kind):
        return mix(values.to_numpy(zero_copy_only=False).astype(np.uint64) ^ _BOOLEAN)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _hash_times(values)
    if is_binary(kind):
        return hash_text(values, _BINARY)
    return hash_text(values.cast(pa.string()))


def hash_text(values: pa.Array, tag: np.uint64 = _TEXT) -> Hashes:
    """Hash the bytes of each value."""
    return hash_slices(*text_buffers(values), tag)


def hash_slices(
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    tag: np.uint64 = _TEXT,
) -> Hashes:
    """Hash slices of a byte buffer, eight bytes at a time across all slices at once."""
    hashes = lengths.astype(np.uint64)
    hashes *= _LENGTH
    hashes ^= tag
    longest = int(lengths.max(initial=0))
    if longest:
        _mix_words(hashes, starts, lengths, data, min(longest, _LONG_TEXT))
    mix(hashes)
    if longest > _LONG_TEXT:
        for row in np.flatnonzero(lengths > _LONG_TEXT):
            raw = data[starts[row] : starts[row] + lengths[row]]
            digest = hashlib.blake2b(raw.data, digest_size=8, key=tag.tobytes()).digest()
            hashes[row] = int.from_bytes(digest, "little")
    return hashes


def _mix_words(
    hashes: Hashes,
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    longest: int,
) -> None:
    padded = np.concatenate([data, np.zeros(8, dtype=np.uint8)])
    # Every byte offset as the start of an eight-byte word; the overlap makes it unaligned.
    words: npt.NDArray[np.uint64] = np.ndarray(
        (len(data) + 1,), dtype="<u8", buffer=padded.data, strides=(1,)
    )
    for offset in range(0, longest, 8):
        left = lengths - offset
        rows = slice(None) if int(left.min()) > 0 else np.flatnonzero(left > 0)
        word = words[starts[rows] + offset]
        word &= _KEEP_BYTES[np.minimum(left[rows], 8)]
        word ^= hashes[rows]
        word *= _WORD
        word ^= word >> _SHIFT_31
        hashes[rows] = word


def text_array(texts: Sequence[str]) -> pa.Array:
    """Texts as an Arrow array; Arrow's own conversion loads pandas where it is installed."""
    encoded = [text.encode(errors="replace") for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def text_buffers(
    values: pa.Array,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Start and length of each value in the array's byte buffer, and the buffer itself."""
    large = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    if not (large or pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        values, large = values.cast(pa.large_binary()), True
    _, offsets_buffer, data_buffer = values.buffers()
    width = np.dtype(np.int64 if large else np.int32)
    offsets = np.frombuffer(offsets_buffer, width, len(values) + 1, values.offset * width.itemsize)
    offsets = offsets.astype(np.int64, copy=False)
    data = (
        np.frombuffer(data_buffer, np.uint8)
        if data_buffer is not None
        else np.empty(0, dtype=np.uint8)
    )
    return offsets[:-1], np.diff(offsets), data


def _hash_integers(values: pa.Array) -> Hashes:
    numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.uint64 or (
        numbers.dtype == np.int64
        and len(numbers)
        and (int(numbers.max()) >= _MANY_DIGITS or int(numbers.min()) <= -_MANY_DIGITS)
    ):
        return _hash_many_digits(values, numbers)
    return _hash_whole(numbers.astype(np.int64, copy=False))


def _hash_whole(numbers: npt.NDArray[np.int64]) -> Hashes:
    return mix(numbers.view(np.uint64) ^ _INTEGER)


def _hash_many_digits(values: pa.Array, numbers: npt.NDArray[Any]) -> Hashes:
    many = numbers >= _MANY_DIGITS
    if numbers.dtype == np.int64:
        many |= numbers <= -_MANY_DIGITS
    hashes = _hash_whole(np.where(many, 0, numbers).astype(np.int64))
    hashes[many] = hash_text(values.filter(pa.array(many)).cast(pa.string()))
    return hashes


def _hash_reals(values: npt.NDArray[Any]) -> Hashes:
    numbers = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    hashes = mix(numbers.view(np.uint64) ^ _REAL)
    whole = (np.abs(numbers) < _EXACT_DOUBLE) & (numbers == np.floor(numbers))
    hashes[whole] = _hash_whole(numbers[whole].astype(np.int64))
    return hashes


def _hash_times(values: pa.Array) -> Hashes:
    day = pa.types.is_date(values.type)
    ticks = values.cast(pa.date32()).cast(pa.int32()) if day else _microseconds(values)
    numbers = ticks.to_numpy(zero_copy_only=False).astype(np.int64)
    if day and len(numbers) and _DAYS[0] <= numbers.min() and numbers.max() < _DAYS[1]:
        hashes: Hashes = _day_hashes()[numbers - _DAYS[0]]
        return hashes
    # Days and instants repeat more often than not: write each distinct one out once.
    distinct, positions = np.unique(numbers, return_inverse=True)
    kind = pa.date32() if day else pa.timestamp("us")
    stamps = pa.array(distinct.astype(np.int32) if day else distinct).cast(kind)
    return hash_text(iso_text(stamps, shorten=True))[positions]


@cache
def _day_hashes() -> Hashes:
    return hash_text(
        pa.array(np.arange(*_DAYS, dtype=np.int32)).cast(pa.date32()).cast(pa.string())
    )


def _microseconds(values: pa.Array) -> pa.Array:
    return values.cast(pa.timestamp("us", tz=values.type.tz), safe=False).cast(pa.int64())


def iso_text(values: pa.Array, *, shorten: bool) -> pa.Array:
    """Write dates and timestamps as ISO text (UTC); `shorten` writes midnight as its date."""
    import pyarrow.compute as pc  # takes long to load, and few values need it

    if pa.types.is_date(values.type):
        return values.cast(pa.date32()).cast(pa.string())
    text = _microseconds(values).cast(pa.timestamp("us")).cast(pa.string())
    text = pc.replace_substring_regex(text, r"\.0+$", "")
    text = pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+$", r"\1")
    return pc.replace_substring_regex(text, r" 00:00:00$", "") if shorten else text


def _hash_read_text(values: pa.Array) -> Hashes:
    whole, decimal = read_numbers(values)
    if not whole.any() and not decimal.any():
        return hash_text(values)
    if whole.all():
        return _hash_whole(_read(values, whole, int))
    hashes = np.empty(len(values), dtype=np.uint64)
    hashes[whole] = _hash_whole(_read(values, whole, int))
    hashes[decimal] = _hash_reals(_read(values, decimal, float))
    other = ~(whole | decimal)
    starts, lengths, data = text_buffers(values)
    hashes[other] = hash_slices(starts[other], lengths[other], data)
    return hashes


def _read(
    values: pa.Array, chosen: npt.NDArray[np.bool_], number: type[int] | type[float]
) -> npt.NDArray[Any]:
    """The numbers that the chosen texts are; Python and Arrow round alike."""
    if len(values) <= _FEW:
        starts, lengths, data = text_buffers(values)
        slices = map(slice, starts[chosen], (starts + lengths)[chosen])
        return np.array([number(data[each].tobytes()) for each in slices], dtype=number)
    texts = values if chosen.all() else values.filter(_as_arrow(chosen))
    return as_numpy(texts.cast(pa.int64() if number is int else pa.float64()))


# Types of Arrow whose names mean something else to NumPy, or nothing.
_NUMPY_NAMES = {"halffloat": "float16", "float": "float32"}


def as_numpy(numbers: pa.Array) -> npt.NDArray[Any]:
    """Numbers without nulls as NumPy has them.

    Arrow's own conversion loads pandas where it is installed: a third of a second at every start.
    """
    dtype = np.dtype(_NUMPY_NAMES.get(str(numbers.type), str(numbers.type)))
    offset = numbers.offset * dtype.itemsize
    return np.frombuffer(numbers.buffers()[1], dtype, len(numbers), offset)


def _as_arrow(flags: npt.NDArray[np.bool_]) -> pa.Array:
    """Flags as Arrow has them; its own conversion loads pandas where that is installed."""
    bits = pa.py_buffer(np.packbits(flags, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(flags), [None, bits])


def _strip(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc  # takes long to load, and few values need it

    starts, lengths, data = text_buffers(values)
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return values
    first = data[starts[filled]]
    last = data[starts[filled] + lengths[filled] - 1]
    # A look at both ends is cheaper than a copy. Bytes from 0x80 on may belong to a wide blank.
    suspects = (first <= 0x20) | (last <= 0x20) | (first >= 0x80) | (last >= 0x80)
    return pc.utf8_trim_whitespace(values) if suspects.any() else values


def _cut_midnight(values: pa.Array) -> pa.Array:
    """Text like '2024-02-29 00:00:00' as the day alone, as a timestamp there is hashed."""
    import pyarrow.compute as pc  # takes long to load, and few values need it

    starts, lengths, data = text_buffers(values)
    likely = np.flatnonzero(lengths == len(_MIDNIGHT) + 10)
    ends = starts[likely] + lengths[likely]
    likely = likely[(data[ends - 1] == ord("0")) & (data[ends - 3] == ord(":"))]
    if not len(likely):
        return values
    return pc.replace_substring_regex(values, _MIDNIGHT_TEXT, r"\1")


def read_numbers(values: pa.Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which texts (none empty) are plainly written whole numbers, and which decimal ones.

    7, -12 and 0.50 are; 007, +1, 1e5, .5 and 1,000 are text. Whole numbers of more than 18 digits
    are text too: as digits they equal the integers of that size (see `_hash_many_digits`).
    """
    starts, lengths, data = text_buffers(values)
    nothing = np.zeros(len(values), dtype=np.bool_)
    if not len(values):
        return nothing, nothing
    negative = data[starts] == ord("-")
    head = starts + negative
    last = starts + lengths - 1
    digits = lengths - negative
    # A lone '-' has its head outside the value; its last byte is no digit, so it drops out.
    first = data[np.minimum(head, last)]
    likely = _digit(first) & _digit(data[last])
    if not likely.any():
        return nothing, nothing
    bytes_used = data[starts[0] : last[-1] + 1]  # a slice's buffer may hold much else
    content = np.add.reduceat(_BYTE_CLASS.take(bytes_used), starts - starts[0])
    content -= _FOREIGN * negative
    second = data[np.minimum(head + 1, last)]
    whole = likely & (content == 0) & (digits <= 18) & ((first != ord("0")) | (digits == 1))
    decimal = likely & (content == _POINT) & ((first != ord("0")) | (second == ord(".")))
    return whole, decimal


def _digit(byte: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    return (byte - np.uint8(ord("0"))) < 10


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of its text types."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_binary(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of its binary types."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
