"""Texts of several languages and encodings, short as files of five rows are: read, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import SourceError
from dovetail.sources.text_encoding import as_utf8

JAPANESE = (
    "番号,名前\n{n},顧客{n}\n",
    "社員番号,氏名,部署\n{n},田中太郎,営業\n{n},鈴木花子,総務\n",
    "都市,備考\n東京,配送は午前中にお願いします\n大阪,カタログを送付\n名古屋,在庫なし\n",
)
CHINESE = (
    "编号,姓名\n{n},客户{n}\n",
    "编号,姓名\n1,王小明\n2,李娜\n3,张伟\n",
    "城市,备注\n北京,请在上午送货\n上海,已寄出目录\n广州,没有库存\n",
)
TAIWANESE = ("編號,姓名\n{n},客戶{n}\n", "城市,備註\n台北,請在上午送貨\n高雄,已寄出目錄\n")
KOREAN = (
    "번호,이름\n{n},고객{n}\n",
    "도시,메모\n서울,오전에 배송해 주세요\n부산,카탈로그 발송\n대구,재고 없음\n",
)
WESTERN = (
    "no,name\n{n},Müller\n{n},Smith\n",
    "no,name\n1,Muller\n2,Nuñez\n",
    "no,note\n1,“5 €”\n",
)
SAMPLES = [
    (encoding, text)
    for encodings, texts in (
        (("shift_jis", "euc_jp"), JAPANESE),
        (("gbk",), CHINESE),
        (("big5",), TAIWANESE),
        (("euc_kr",), KOREAN),
        (("cp1252",), WESTERN),
        (("utf-8",), (*JAPANESE, *CHINESE, *KOREAN, *WESTERN)),
    )
    for encoding in encodings
    for text in texts
]


def read(folder: Path, content: bytes) -> str:
    (folder / "given.csv").write_bytes(content)
    as_utf8(str(folder / "given.csv"), str(folder / "read.csv"))
    return (folder / "read.csv").read_bytes().decode("utf-8")


@pytest.mark.parametrize("rows", [5, 40])
@pytest.mark.parametrize(("encoding", "text"), SAMPLES)
def test_a_short_text_is_read_as_it_was_written(
    encoding: str, text: str, rows: int, tmp_path: Path
) -> None:
    head, line = text.split("\n", 1)
    written = head + "\n" + "".join(line.replace("{n}", str(n)) for n in range(1, rows + 1))
    assert read(tmp_path, written.encode(encoding)) == written


def test_a_broken_byte_of_utf8_is_western(tmp_path: Path) -> None:
    text = "no,name\n1,Müller\n2,Jürgen\n3,café\n4,Åse\n"
    assert read(tmp_path, text.encode().replace("é".encode(), b"\xe9")) == text


@pytest.mark.parametrize(
    "text", ["ｺｰﾄﾞ,ﾒｲ\n1,ﾀﾅｶ\n2,ｽｽﾞｷ\n".encode("cp932"), "№,Клиент\n1,Иван\n".encode("cp1251")]
)
def test_what_its_bytes_do_not_tell_is_to_be_said(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="--csv encoding=NAME"):
        read(tmp_path, text)
