"""Questions of the phrases that are read of questions, too many of each, with numbers that are too
large or none: whatever a query is made of them, it is given as parts, taken back and can be run."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from fastapi.testclient import TestClient

import dovetail
from dovetail.serve.guarded import Access, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from tests.support.served import NO_MODELS, shop_catalog

_LONGEST = 4_000
_PHRASES = """how many|what is the average|top {n}|the {n} oldest|the most|with more than {n}|
with at least {n}|between {n} and {n}|fewer than {n}|per month|per {c}|each {t}|without {t}|and not|
or|in {v}|named '{v}'|starting with {v}|contains {v}|sorted by {c}|ordered by {c} descending|
since {y}|before {y}-03-31|in {y}|last {n} days|both {v} and {v}|distinct|{n} years old|{n} or more|
the first and last names of|over {n}|of the {t}|whose {c} is {v}|that have no {t}|number of {t}|
total {c}|which {t}|{t}|{c}|{v}|either {v} or {v}|neither {v} nor {v}|not between {n} and {n}|
not more than {n}|above average {c}|{n} times|except {v}|quarter 3 of {y}|pro Monat|mehr als {n}|
ohne {t}""".replace("\n", "").split("|")
_NUMBERS = ("0", "1", "3", "99999999", "1.5", "1.123456789", "1,000", "007", "1" * 31, "9" * 400,
            "9" * 13, "٣", "²", "½", "1e9", "-4")  # fmt: skip
_YEARS = ("2023", "1950", "9999", "0000", "10000")


def too_much(folder: Path) -> Callable[[random.Random], tuple[str, str]]:
    """Each case asks one such question over REST, and gives the parts of its query back."""
    catalog = shop_catalog(folder)
    limits = RequestLimits(per_minute=10**9)
    app = rest_app(LiveCatalog(folder / "catalog", NO_MODELS), Access({}), limits, log=False)
    client = TestClient(app, raise_server_exceptions=False)
    fill = _filler(catalog)

    def case(draw: random.Random) -> tuple[str, str]:
        phrases = [fill(draw) for _ in range(draw.choice((1, 2, 4, 8, 30, 120)))]
        question = " ".join(phrases * draw.choice((1, 1, 1, 20, 300)))[:_LONGEST]
        asked = client.post("/api/v1/ask", json={"question": question, "explain": True})
        if asked.status_code != 200:
            return "not answered", f"{asked.status_code}: {question[:300]}"
        found = asked.json()
        tables = [table["id"] for table in found["tables"]]
        if not tables:
            return "nothing fits", ""
        given = {"question": question, "tables": tables, "parts": found["parts"]}
        back = client.post("/api/v1/query", json=given)
        if back.status_code != 200:
            return "parts are not taken back", f"{back.text[:200]}: {question[:300]}"
        run = client.post("/api/v1/answer", json={"sql": found["skeleton"]})
        parsed = run.status_code == 200 or "parse" not in run.text
        return "a query and its parts", "" if parsed else f"{run.text[:200]}: {question[:300]}"

    return case


def _filler(catalog: dovetail.Catalog) -> Callable[[random.Random], str]:
    """A phrase with names and cells of a catalog."""
    tables = [table.name for table in catalog.ids]
    columns = [column for table in catalog for column in table.columns]
    cells = [cell for column in columns for cell in column.profile.examples]

    def fill(draw: random.Random) -> str:
        return draw.choice(_PHRASES).format(
            t=draw.choice(tables),
            c=draw.choice(columns).name,
            v=draw.choice(cells),
            n=draw.choice(_NUMBERS),
            y=draw.choice(_YEARS),
        )

    return fill
