"""programs/hybrid.py: the rows that come of given confidences and scores."""

from __future__ import annotations

from dovetail_bench.measures import score
from dovetail_bench.programs.hybrid import Free, Measured, above, curve, table
from dovetail_bench.reporting.model_calls import Mixture

RIGHT, HALF, WRONG = score(["a"], ["a"]), score(["a", "b"], ["a"]), score(["b"], ["a"])
MEASURED = Measured(
    "mine",
    Mixture(
        sure=[0.3, 0.6, 0.96, 0.99],
        free=[WRONG, HALF, RIGHT, RIGHT],
        paid=[RIGHT, RIGHT, RIGHT, WRONG],
        tokens=[400, 400, 400, 400],
    ),
    waiting=2,
    free=[Free(0.3, WRONG), Free(0.6, HALF), Free(0.96, RIGHT), Free(0.99, RIGHT)],
)


def test_the_curve_goes_from_never_to_always() -> None:
    rows = {row[0]: row[1:] for row in curve(MEASURED, 0.95)}
    assert "mine: 4 with a reply, 2 without" in rows
    assert rows["never"] == ["0", "100", "66.7 @ 75.0", "0"]
    assert rows["below 0.5"] == ["25", "75", "91.7 @ 100.0", "100"]
    assert rows["below 0.95 (the setting)"] == ["50", "50", "100.0 @ 100.0", "200"]
    assert rows["always"] == ["100", "0", "75.0 @ 75.0", "400"]
    # The F1 of asking always is exceeded by asking the least sure question alone.
    assert rows["for equal F1: below 0.600 (fitted)"] == ["25", "75", "91.7 @ 100.0", "100"]


def test_how_right_the_graph_is_above_a_bound() -> None:
    rows = list(above(MEASURED))
    assert rows[0] == ["mine (4)", "0", "100", "66.7 @ 75.0", "50"]
    assert rows[-1] == ["mine (4)", "0.98", "25", "100.0 @ 100.0", "100"]
    assert table(("a", "b"), [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
