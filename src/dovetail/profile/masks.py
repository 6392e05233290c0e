"""Where cells enter a catalog as text: which of them are masked, and that none does without values.

Detectors find e-mail addresses, phone numbers, cards and accounts, national ids and secrets in what
would be shown of a column: its examples, its ends and the sampled rows. A mask stands in the place
of each, and of all that a column holds whose name a pattern denies. Value hashes are of the cells
themselves, so that joins and search do not depend on what is masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from dovetail.domain import Column, Kind
from dovetail.domain.tables import NUMBERS, TIMES, mask
from dovetail.names.codes import are_codes
from dovetail.names.words import words

Row = tuple[str | None, ...]
EMAIL, PHONE, CARD, NATIONAL_ID, SECRET = "e-mail", "phone", "card", "national id", "secret"
DENIED, CODE = "masked", "code"
# Nothing shorter is personal by its form.
_SHORTEST = 6
_SIGNS = re.compile(r"[^0-9A-Z]")
# Words in a column's name that say what its values are, where these have no form of their own, and
# how such a value reads at least.
_NAMED = {
    SECRET: (
        frozenset({"password", "passwd", "pwd", "passphrase", "passwort", "secret", "apikey",
                   "token", "salt"}),
        re.compile(r"\S+"),
    ),
    PHONE: (
        frozenset({"phone", "telephone", "mobile", "tel", "fax", "telefon", "telefono", "handy"}),
        re.compile(r"[+(]?\d(?:[ ()./-]*\d){5,}"),
    ),
    NATIONAL_ID: (
        frozenset({"ssn", "nino", "cpf", "nif", "dni", "nie", "pesel", "personnummer", "bsn",
                   "aadhaar", "cpr", "nir"}),
        re.compile(r"(?=(?:\D*\d){6})[\w ./-]{8,20}"),
    ),
}  # fmt: skip


def _luhn(text: str) -> bool:
    """Whether the digits of a text end in the check digit of cards, and may be a card's.

    >>> _luhn("4111 1111 1111 1111"), _luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = _SIGNS.sub("", text)
    doubled = (int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits)))
    known = re.match(r"4|5[1-5]|2[2-7]|6|3[0-8]", digits)
    return known is not None and sum(map(sum, map(divmod, doubled, [10] * len(digits)))) % 10 == 0


def _mod97(text: str) -> bool:
    """Whether a text is an IBAN by its check digits.

    >>> _mod97("GB82 WEST 1234 5698 7654 32"), _mod97("GB83 WEST 1234 5698 7654 32")
    (True, False)
    """
    plain = _SIGNS.sub("", text)
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _lettered(text: str) -> bool:
    """Whether the last letter is the one that a Spanish number's digits give.

    >>> _lettered("12345678Z"), _lettered("12345678A")
    (True, False)
    """
    number = int(text[:-1].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == text[-1]


# What is masked wherever it stands in a text, and what it must fulfil besides its form.
_DETECTORS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool] | None], ...] = (
    (SECRET, re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", re.DOTALL), None),
    (SECRET, re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bxox[abprs]-[\w-]{10,}"
                        r"|\b[sr]k[-_][\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), None),
    (SECRET, re.compile(r"\$(?:2[abxy]|argon2\w{1,2}|scrypt|[156])\$\S{8,}"), None),
    (SECRET, re.compile(r"(?<=://)[^\s:/@]{1,64}:[^\s/@]{1,64}(?=@)"), None),
    (EMAIL, re.compile(r"[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), None),
    (CARD, re.compile(r"\b[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), _mod97),
    (CARD, re.compile(r"(?<![\w.-])\d(?:[ -]?\d){13,18}(?![\w.-])"), _luhn),
    (NATIONAL_ID, re.compile(r"\b(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}\b"), None),
    (NATIONAL_ID, re.compile(r"\b[A-CEGHJ-PR-TW-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]\b"
                             r"|\b[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]\b"
                             r"|\b\d{3}\.\d{3}\.\d{3}-\d\d\b"), None),
    (NATIONAL_ID, re.compile(r"\b(?:\d{8}|[XYZ]\d{7})[A-Z]\b"), _lettered),
    (NATIONAL_ID, re.compile(r"\b[0-3]\d[01]\d{3}[-+A]\d{3}[0-9A-Y]\b"), None),
    (PHONE, re.compile(r"(?<![\w.])(?:\+[1-9]|00[1-9]\d{0,2}[ /-])(?:[ ()./-]{0,3}\d){7,13}"
                       r"(?![\w.])"), None),
    (PHONE, re.compile(r"(?<![\w.-])(?:\(\d{2,5}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\w.-])"), None),
)  # fmt: skip


class Masks:
    """What a catalog may show of cells: masked where a detector or a pattern says so, or nothing.

    >>> Masks(detect=True).text("remark", "write to ann@example.org")
    'write to «e-mail»'
    >>> Masks(detect=True, columns=["*salary*"]).text("base_salary", "4200")
    '«masked»'
    """

    def __init__(
        self, *, detect: bool, columns: Sequence[str] = (), no_values: bool = False
    ) -> None:
        self._detect, self._no_values = detect, no_values
        self._denied = [pattern.casefold() for pattern in columns]

    def column(self, column: Column) -> Column:
        """A column with what may be shown of its examples and ends."""
        profile = column.profile
        if self._no_values:
            texts = profile.examples if profile.kind is Kind.TEXT else ()
            coded = bool(texts) and are_codes(texts, profile.distinct)
            said = (mask(CODE),) if coded else ()
            return replace(
                column, profile=replace(profile, minimum=None, maximum=None, examples=said)
            )
        low, high = (self._end(column, end) for end in (profile.minimum, profile.maximum))
        examples = dict.fromkeys(self.text(column.name, text) for text in profile.examples)
        return replace(
            column, profile=replace(profile, minimum=low, maximum=high, examples=tuple(examples))
        )

    def rows(self, columns: Sequence[str], sample: Sequence[Row]) -> tuple[Row, ...]:
        """Sampled rows with what may be shown of them."""
        if self._no_values:
            return ()
        return tuple(
            tuple(
                cell if cell is None else self.text(name, cell)
                for name, cell in zip(columns, row, strict=True)
            )
            for row in sample
        )

    def text(self, column: str, text: str) -> str:
        """A cell of a column as it may be shown."""
        if any(fnmatchcase(column.casefold(), pattern) for pattern in self._denied):
            return mask(DENIED)
        if not self._detect:
            return text
        said = set(words(column))
        for kind, (named, form) in _NAMED.items():
            if said & named and form.fullmatch(text):
                return mask(kind)
        if len(text) < _SHORTEST:
            return text
        for kind, form, holds in _DETECTORS:
            found = {match[0] for match in form.finditer(text)}
            for each in found if holds is None else filter(holds, found):
                text = text.replace(each, mask(kind))
        return text

    def _end(self, column: Column, end: str | None) -> str | None:
        """The least or the greatest value; none where a number or a time is not to be shown."""
        shown = None if end is None else self.text(column.name, end)
        return None if shown != end and column.profile.kind in (*NUMBERS, *TIMES) else shown
