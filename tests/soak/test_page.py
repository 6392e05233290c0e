"""The page on reliability is what the last soak printed."""

from __future__ import annotations

import json
import os
from collections import Counter

from tests.soak.__main__ import KEPT, PAGE, PARTS, page
from tests.soak.figures import figures, stamp, together


def test_the_page_is_that_of_the_figures() -> None:
    kept = json.loads(KEPT.read_text())
    assert PAGE.read_text() == page(kept)
    assert kept.keys() <= PARTS.keys()
    assert not any(part["wrong"] for part in kept.values())
    assert all(part["runs"] for part in kept.values()), "each part says what it was run on"


def test_figures_say_what_they_were_run_on_and_add_up() -> None:
    here = stamp("abcdef12")
    assert here["commit"] == "abcdef12"
    assert f"{os.cpu_count()} cores" in here["machine"]
    one, other = (figures(Counter(a=1), []) for _ in range(2))
    for each, commit in ((one, "1"), (other, "2")):
        each["seconds"], each["runs"] = 1, [stamp(commit)]
        each["measured"] = {"same": "1 MB", "each": f"{commit} MB"}
    assert [run["commit"] for run in together(one, other)["runs"]] == ["1", "2"]
    assert together(one, other)["measured"] == {"same": "1 MB", "each": "1 MB; 2 MB"}
    assert len(together(one, one)["runs"]) == 1
