"""Which encoding a text file is in, and the same text in UTF-8.

A file says it by its first bytes, its user says it (`--csv encoding=…`), or its bytes tell. Text of
Europe is mostly ASCII with single other bytes in it, and is read as Windows-1252, of which Latin-1
is a part. Text of East Asia is pairs of bytes, and each of its encodings keeps the common
characters in one range: the encoding is recognised by how much of the text lies in it. Where the
same bytes lie in several, it is the one in which they are the characters that people write most.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import shutil
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
# What a file may take when it is written again: a share of the disk that is free, and of a packed
# one so many times its size, or so many bytes where that is more.
_SHARE_OF_DISK, _MOST_PACKED, _LEAST_ROOM = 0.25, 200, 1 << 30
# The range of the common characters of an encoding, as bytes. The characters of Korean lie in a
# part of the range of Chinese, so Korean comes first and must be nearly all of the text.
_COMMON = (
    ("cp949", re.compile(rb"[\xb0-\xc8][\xa1-\xfe]|\xa1[\xa1-\xfe]"), 0.95),
    ("cp932", re.compile(rb"[\x81-\x83\x88-\x97][\x40-\x7e\x80-\xfc]"), 0.6),
    ("euc_jp", re.compile(rb"[\xa4\xa5\xb0-\xcf][\xa1-\xfe]|[\xa1\xa3][\xa1-\xfe]"), 0.8),
    ("gb18030", re.compile(rb"[\xb0-\xd7][\xa1-\xfe]|[\xa1\xa3][\xa1-\xfe]"), 0.8),
    ("big5", re.compile(rb"[\xa1\xa4-\xc6][\x40-\x7e\xa1-\xfe]"), 0.8),
)
# What people write most in each: of Japanese, kana are added.
_FREQUENT = {
    "euc_jp": frozenset(
        "一二三四五六七八九十百千万円年月日時分人名前番号社員客顧様氏住所都道府県市区町村電話国本田中"
        "山川木林森村井上下野原藤佐鈴高橋伊渡辺小大加吉松清斎和石島美太郎子花次会株式有限営業部課総"
        "務開発経理製品商注文在庫数量金額合計価格店東京阪横浜神名古屋札幌福岡備考男女性別生学校入出荷"
        "売買送付連絡先担当者責任事新旧区分類種登録更状態済未完了請求書支払税込内外今回後午郵便"
    ) | frozenset(map(chr, range(0x3041, 0x30FF))),
    "gb18030": frozenset(
        "一二三四五六七八九十百千万的是不了在有人这个上们来到时大地为子中你说生国年着就那和要她出也得里"
        "后自以会家可下而过天去能对小多然于心学么之都好看起发当没成只如事把还用第样道想作种开美总从无情"
        "己面最女但现前些所同日手又行意动方期它头经长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲"
        "其进此话常与活正感见明问力理尔点文几定本公特做外孩相西果走将月实向声车全信重机工物气每并别真打"
        "编号姓客户订单产品数量价格金额城市地址电话邮箱备注状态类型日期时间北京海广州深圳南省区县镇路街"
        "王李张刘陈杨赵黄周吴徐孙胡朱林何郭马罗伟芳娜秀英敏静丽强军洋勇艳杰娟涛超处未完送货寄库存请"
    ),
    "cp949": frozenset(
        "이다는의에가을를은고하한지로사도서기어자리시대나인그해있것수정일원부전주상제들성보과장만"
        "구국조공동비스와게라년마아여유소면화관경으선무신세적회생모치간번호름객고품문금액량가격"
        "김박최강윤임오안송황홍민준영현철희수진우혜은미순숙울산광천충북남별점매출재없음오후배달요"
    ),
}  # fmt: skip
# The letters and marks of Europe beyond ASCII: nearly all such bytes of a text in Windows-1252 are
# among these, and few stand in longer rows.
_EUROPEAN = re.compile(
    rb"[\xc0-\xff\x80\x85\x8a\x8c\x8e\x91-\x97\x99\x9a\x9c\x9e\xa0\xa7\xa9\xab\xae\xb0\xb2-\xb5\xb7\xbb\xbd]"
)
_OTHERS = ("cp932", "big5")
_NEARLY_ALL, _FEW = 0.9, 0.2
# The share of a run of other bytes that reads as UTF-8 where it is that.
_RUN_READ = 0.75
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
    shares, written = dict[str, float](), dict[str, float]()
    for name, common, least in _COMMON:
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            continue
        characters = [each for each in text if not each.isascii()]
        share = sum(_is_common(each, name, common) for each in characters) / len(characters)
        if share < least:
            continue
        if name in _FREQUENT:
            often = sum(each in _FREQUENT[name] for each in characters) / len(characters)
            korean = name == "cp949" and len(set(characters)) >= _ENOUGH
            if often or korean or name == "gb18030":
                written[name] = often
                shares[name] = share
        else:
            shares[name] = share
    if written:
        best = max(written, key=written.__getitem__)
        shares = {name: share for name, share in shares.items() if name in (best, *_OTHERS)}
    return max(shares, key=shares.__getitem__, default="cp1252" if apart else "")


def _is_common(character: str, encoding: str, common: re.Pattern[bytes]) -> bool:
    return common.fullmatch(character.encode(encoding)) is not None


def as_utf8(
    file: str, to: str, *, encoding: str = "", certain: bool = True, one_line_end: bool = False
) -> None:
    """Write a text file again in UTF-8, and if asked to with one kind of line end.

    `encoding` is what somebody says of the file; if that is not `certain`, only where the bytes do
    not tell a mark, UTF-8 or an encoding of East Asia. In UTF-8 with a few other bytes between,
    those are Windows-1252. A packed file may be a thousand times as large when it is not: one that
    would take too much of the disk is refused, and leaves nothing there.
    """
    errors = "strict"
    if not (encoding and certain):
        with pa.input_stream(file) as stream:
            marked = marked_encoding(bytes(stream.read(4)))
        if marked != "utf-8":
            encoding = marked
        else:
            encoding, errors = _of_foreign_bytes(file, encoding)
    plain = codecs.getincrementaldecoder(encoding)(errors)
    decode = io.IncrementalNewlineDecoder(plain, translate=True) if one_line_end else plain
    try:
        room = _room(file, to)
        with open(to, "wb") as out:
            for chunk in _chunks(file):
                room -= out.write(decode.decode(chunk).encode())
                if room < 0:
                    raise _too_large(to)
            out.write(decode.decode(b"", final=True).encode())
    except UnicodeDecodeError as error:
        raise SourceError(
            f"does not read as {encoding} ({error.reason}); say what it is: "
            "dovetail index FILE --csv encoding=NAME"
        ) from None
    except OSError as error:
        raise SourceError(f"cannot be written as UTF-8 to {to}: {error}") from None


def _room(file: str, to: str) -> int:
    """How many bytes a file may have when it is written again."""
    free = shutil.disk_usage(os.path.dirname(to) or ".").free
    packed = os.stat(file).st_size
    return min(int(free * _SHARE_OF_DISK), max(_MOST_PACKED * packed, _LEAST_ROOM))


def _too_large(to: str) -> SourceError:
    """The error that a file takes too much room, of which what was written is given back."""
    os.truncate(to, 0)
    return SourceError(
        "is no UTF-8, and written as it would take too much of the disk; unpack it and write it "
        "as UTF-8, or make room where temporary files are kept (TMPDIR)"
    )


def _of_foreign_bytes(file: str, declared: str) -> tuple[str, str]:
    """The encoding of a file without a mark, and how its decoder takes errors.

    What somebody says of it counts where the bytes look like any text of Europe.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    for chunk in _chunks(file):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            return _of_chunk(chunk, declared)
    return "utf-8", _WESTERN


def _of_chunk(chunk: bytes, declared: str) -> tuple[str, str]:
    """The same by the first part of a file that is not UTF-8."""
    last = chunk.rfind(b"\n")
    whole_lines = chunk[:last] if last > 0 else chunk
    if _mostly_utf8(whole_lines):
        return "utf-8", _WESTERN
    encoding = recognised(whole_lines)
    if declared and encoding in ("", "cp1252"):
        return declared, "strict"
    if not encoding:
        raise SourceError(
            "is neither UTF-8 nor in an encoding that its bytes tell; say which it is: "
            "dovetail index FILE --csv encoding=NAME (cp1251, koi8-r, …)"
        )
    return ("utf-8", _WESTERN) if encoding == "cp1252" else (encoding, "strict")


def _mostly_utf8(content: bytes) -> bool:
    """Whether most runs of what is not ASCII read as UTF-8, as few of Chinese or Japanese do:
    there pairs of bytes do by chance, and not all bytes of a word."""
    runs = _RUN.findall(content)
    read = [len(run.decode("utf-8", "ignore").encode()) for run in runs]
    most = sum(len(run) for run, n in zip(runs, read, strict=True) if n >= _RUN_READ * len(run))
    return most > sum(map(len, runs)) / 2


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
