"""Which hard questions are refused? dovetail bench run refusals [--all]

Questions over the brewery of the sample that are hard to refuse, since most of their words are
there, or hard not to refuse, since they say everything in other words (refusal_questions.toml).
`--all` prints each with the probability that there is an answer.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import dovetail
from dovetail.settings import Settings
from dovetail_bench.programs.piles import brewery


def asked(catalog: dovetail.Catalog) -> Iterator[tuple[str, str, str, float]]:
    """Every question: whether it has an answer, its group, its text, and the probability."""
    text = Path(__file__).with_name("refusal_questions.toml").read_text(encoding="utf-8")
    for kind, groups in tomllib.loads(text).items():
        for group, questions in groups.items():
            for question in questions:
                yield kind, group, question, catalog.ask(question).answerable or 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="print every question")
    given = parser.parse_args(arguments)
    bound = Settings().refuse_below
    with tempfile.TemporaryDirectory() as folder:
        found = list(asked(brewery(Path(folder))[0]))
    if given.all:
        for kind, _, question, likely in sorted(found, key=lambda row: row[3]):
            print(f"{likely:.3f} {kind:12s} {question}")
    for kind, group in dict.fromkeys(row[:2] for row in found):
        each = [row[3] for row in found if row[:2] == (kind, group)]
        refused = sum(one < bound for one in each)
        print(f"{kind}, {group}: {refused} of {len(each)} refused")


if __name__ == "__main__":
    main()
