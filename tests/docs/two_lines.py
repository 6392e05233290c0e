"""docs/two-lines.svg: the offline and the online line, which meet only in the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.docs.drawing import arrow, box, document, text

WIDTH, HEIGHT, MARGIN = 880, 282, 18
START, HIGH = 86, 40
OFFLINE_TOP, CATALOG_TOP, ONLINE_TOP = 26, 104, 182
OFFLINE = (
    "sources", "profile", "declared", "draft", "joins", "families", "embeddings", "index",
    "commit",
)  # fmt: skip
ONLINE = (
    "question", "analyse", "search", "match", "score", "choose", "connect", "doubt", "members",
    "tables",
)  # fmt: skip
# Steps that may be left out, and the online steps that read the catalog.
OPTIONAL = {"families", "embeddings"}
READING = ("analyse", "search", "match", "connect", "doubt", "members")


def two_lines() -> str:
    """Both lines, and the catalog between them."""
    end = WIDTH - MARGIN
    offline = _places(OFFLINE, gap=12)
    online = _places(ONLINE, gap=12)
    last = sum(offline[OFFLINE[-1]]) / 2
    parts = [
        *_line("offline", OFFLINE_TOP, offline),
        *_line("online", ONLINE_TOP, online),
        arrow((last, OFFLINE_TOP + HIGH), (last, CATALOG_TOP)),
        box(START, CATALOG_TOP, end - START, HIGH, "a"),
        text(
            (START + end) / 2, CATALOG_TOP + 25, "Catalog, a folder: the two lines meet only here"
        ),
    ]
    for name in READING:
        middle = sum(online[name]) / 2
        parts.append(arrow((middle, CATALOG_TOP + HIGH), (middle, ONLINE_TOP)))
    note = "Dashed steps may be left out. Online, nothing reads a source; SQL over the set does."
    parts.append(text(START, ONLINE_TOP + HIGH + 34, note, "faint", "start"))
    return document("Two lines, offline and online, meet in the catalog", WIDTH, HEIGHT, parts)


def _places(names: Sequence[str], gap: float) -> dict[str, tuple[float, float]]:
    """Where each step begins and ends, side by side over the whole width."""
    wide = (WIDTH - MARGIN - START - gap * (len(names) - 1)) / len(names)
    starts = [START + number * (wide + gap) for number in range(len(names))]
    return {name: (start, start + wide) for name, start in zip(names, starts, strict=True)}


def _line(title: str, top: float, places: Mapping[str, tuple[float, float]]) -> list[str]:
    middle = top + HIGH / 2
    parts = [text(MARGIN, middle + 4, title, anchor="start", weight=600)]
    before: float | None = None
    for name, (start, end) in places.items():
        style = "plain optional" if name in OPTIONAL else "plain"
        parts += [box(start, top, end - start, HIGH, style)]
        parts += [text((start + end) / 2, middle + 4, name)]
        if before is not None:
            parts.append(arrow((before, middle), (start, middle)))
        before = end
    return parts
