"""Which values are codes: made up to tell things apart, and no words, numbers, dates or times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from math import log

_CODE = re.compile(
    r"[^@\s]+@[^@\s]+\.[^@\s.]+|«.+»"  # an address of mail, or what is masked
    # or no date or time, no word, and five letters and digits, three of them digits; or six, two
    r"|(?!\d{1,4}[-/.:]\d{1,2}([-/.:]\d{1,4})?([ T].*)?$)(?!.*[^\W\d_]{5})"
    r"((?=(\W*\w){5})(?=(\D*\d){3})|(?=(\W*\w){6})(?=(\D*\d){2})).*"
)
# Nats that a digit and a letter tell, and that a value must tell beyond how many values there are.
_DIGIT, _LETTER, _BEYOND = 2.3, 1.8, 3.0
_SHORT_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])(?!.*[^\W\d_]{7})(?!.*\W.*\W.*\W)\S{4,}")
# Letters of one case that are no word: of one length, or with a hyphen between.
_CAPITALS = re.compile(r"(?=.{2,8}$)([A-Z]{1,4}(-[A-Z]{1,4})?|[a-z]{1,3}-[a-z]{1,4}|[A-Z]{5})")
# Of so many values capitals of one length are no chance.
_SEVERAL = 10


def are_codes(texts: Sequence[str], distinct: int) -> bool:
    """Whether some of a column's distinct values are codes, or addresses of mail.

    >>> are_codes(["EMP-00817", "EMP-03352"], 400), are_codes(["north", "south"], 4)
    (True, False)
    >>> are_codes(["FRA", "LIS", "TFS"], 64), are_codes(["FRA", "LIS", "PORTO"], 64)
    (True, False)
    """
    if distinct >= _SEVERAL and (all(map(_CAPITALS.fullmatch, texts)) and len(texts) > 1):
        return all("-" in text for text in texts) or len(set(map(len, texts))) == 1
    return all(map(_CODE.fullmatch, texts)) or (
        all(map(_SHORT_CODE.fullmatch, texts)) and _told(texts) > _BEYOND + log(distinct)
    )


def _told(texts: Sequence[str]) -> float:
    """The nats that one of some codes tells, by its digits and letters after what all begin with.

    >>> round(_told(["ARC01", "BCN02"]), 1), round(_told(["C001", "C002"]), 1)
    (10.0, 2.3)
    """
    ends = zip(min(texts), max(texts), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    rest = [text[same:] for text in texts] if len(texts) > 1 else texts
    digits = sum(char.isdigit() for text in rest for char in text)
    letters = sum(char.isalpha() for text in rest for char in text)
    return (_DIGIT * digits + _LETTER * letters) / len(rest)
