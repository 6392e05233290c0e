"""The page on reliability is what the last soak printed."""

from __future__ import annotations

import json

from tests.soak.__main__ import KEPT, PAGE, PARTS, page


def test_the_page_is_that_of_the_figures() -> None:
    kept = json.loads(KEPT.read_text())
    assert PAGE.read_text() == page(kept)
    assert kept.keys() <= PARTS.keys()
    assert not any(figures["wrong"] for figures in kept.values())
