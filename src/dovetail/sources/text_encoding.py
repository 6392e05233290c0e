"""Which encoding a text file is in, and the same text in UTF-8.

A file says it by its first bytes, its user says it (`--csv encoding=…`), or its bytes tell. Text of
Europe is mostly ASCII with single other bytes in it, and is read as Windows-1252, of which Latin-1
is a part. Text of East Asia is pairs of bytes, and each of its encodings keeps the common
characters in one range: the encoding is recognised by how much of the text lies in it.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator

import pyarrow as pa

from dovetail.errors import SourceError

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHUNK = 1 << 20
# The range of the common characters of an encoding, as bytes. The characters of Korean lie in a
# part of the range of Chinese, so Korean comes first and must be nearly all of the text.
_COMMON = (
    ("cp949", re.compile(rb"[\xb0-\xc8][\xa1-\xfe]|\xa1[\xa1-\xfe]"), 0.95),
    ("cp932", re.compile(rb"[\x81-\x83\x88-\x97][\x40-\x7e\x80-\xfc]"), 0.6),
    ("gb18030", re.compile(rb"[\xb0-\xd7][\xa1-\xfe]|[\xa1\xa3][\xa1-\xfe]"), 0.8),
    ("big5", re.compile(rb"[\xa1\xa4-\xc6][\x40-\x7e\xa1-\xfe]"), 0.8),
)
# The letters and marks of Europe beyond ASCII: nearly all such bytes of a text in Windows-1252 are
# among these, and few stand in longer rows.
_EUROPEAN = re.compile(
    rb"[\xc0-\xff\x80\x85\x8a\x8c\x8e\x91-\x97\x99\x9a\x9c\x9e\xa0\xa7\xa9\xab\xae\xb0\xb2-\xb5\xb7\xbb\xbd]"
)
_NEARLY_ALL, _FEW = 0.9, 0.2
_RUN = re.compile(rb"[\x80-\xff]+")
# Korean is told from Chinese by so many different characters.
_ENOUGH = 8


def marked_encoding(head: bytes) -> str:
    """The encoding that the first bytes of a file announce: 'utf-8' where they do not."""
    return next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")


def recognised(content: bytes) -> str:
    """The encoding of text that is not UTF-8; '' where its bytes do not tell.

    >>> recognised("Käse, Öl".encode("latin-1")), recognised("東京都の顧客".encode("shift_jis"))
    ('cp1252', 'cp932')
    >>> recognised("订单未处理 客户在北京".encode("gbk")), recognised("Клиент".encode("koi8-r"))
    ('gb18030', '')
    """
    runs = _RUN.findall(content)
    beyond = sum(map(len, runs))
    european = len(_EUROPEAN.findall(content)) >= _NEARLY_ALL * beyond
    apart = sum(len(run) > 2 for run in runs) <= _FEW * len(runs)
    if european and apart:
        return "cp1252"
    shares = {}
    for name, common, least in _COMMON:
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            continue
        characters = [each for each in text if not each.isascii()]
        share = sum(_is_common(each, name, common) for each in characters) / len(characters)
        if share >= least:
            shares[name] = share
            if name == "cp949" and len(set(characters)) >= _ENOUGH:
                return name
    shares.pop("cp949", None)
    return max(shares, key=shares.__getitem__, default="cp1252" if apart else "")


def _is_common(character: str, encoding: str, common: re.Pattern[bytes]) -> bool:
    return common.fullmatch(character.encode(encoding)) is not None


def as_utf8(file: str, to: str, *, encoding: str = "", one_line_end: bool = False) -> None:
    """Write a text file again in UTF-8, and if asked to with one kind of line end.

    `encoding` is what somebody says of the file. In UTF-8 with a few other bytes between, those are
    Windows-1252.
    """
    errors = "strict"
    if not encoding:
        with pa.input_stream(file) as stream:
            encoding = marked_encoding(bytes(stream.read(4)))
        if encoding == "utf-8":
            encoding, errors = _of_foreign_bytes(file)
    plain = codecs.getincrementaldecoder(encoding)(errors)
    decode = io.IncrementalNewlineDecoder(plain, translate=True) if one_line_end else plain
    try:
        with open(to, "w", encoding="utf-8", newline="") as out:
            for chunk in _chunks(file):
                out.write(decode.decode(chunk))
            out.write(decode.decode(b"", final=True))
    except UnicodeDecodeError as error:
        raise SourceError(
            f"does not read as {encoding} ({error.reason}); say what it is: "
            "dovetail index FILE --csv encoding=NAME"
        ) from None
    except OSError as error:
        raise SourceError(f"cannot be written as UTF-8 to {to}: {error}") from None


def _of_foreign_bytes(file: str) -> tuple[str, str]:
    """The encoding of a file without a mark, and how its decoder takes errors."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for chunk in _chunks(file):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            return _of_chunk(chunk)
    return "utf-8", _WESTERN


def _of_chunk(chunk: bytes) -> tuple[str, str]:
    """The same by the first part of a file that is not UTF-8."""
    last = chunk.rfind(b"\n")
    whole_lines = chunk[:last] if last > 0 else chunk
    if _mostly_utf8(whole_lines):
        return "utf-8", _WESTERN
    encoding = recognised(whole_lines)
    if not encoding:
        raise SourceError(
            "is neither UTF-8 nor in an encoding that its bytes tell; say which it is: "
            "dovetail index FILE --csv encoding=NAME (cp1251, koi8-r, …)"
        )
    return ("utf-8", _WESTERN) if encoding == "cp1252" else (encoding, "strict")


def _mostly_utf8(content: bytes) -> bool:
    """Whether most of what is not ASCII reads as UTF-8, as little of Chinese or Japanese does."""
    beyond = sum(map(len, _RUN.findall(content)))
    strange = content.decode("utf-8", "replace").count("\ufffd")
    return strange < beyond / 2


def _chunks(file: str) -> Iterator[bytes]:
    with pa.input_stream(file) as stream:
        while chunk := stream.read(_CHUNK):
            yield bytes(chunk)


def _read_western(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    raw = error.object[error.start : error.end]
    try:
        return raw.decode("cp1252"), error.end
    except UnicodeDecodeError:  # five bytes have no character there
        return raw.decode("latin-1"), error.end


_WESTERN = "dovetail-western"
codecs.register_error(_WESTERN, _read_western)
