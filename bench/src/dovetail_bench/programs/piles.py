"""How `ask` and joins do on piles of our own, with default settings: dovetail bench run piles

Beside the public corpora: the brewery of the bundled sample, and an insurer with the systems of two
partners. Perfect sets, F1, questions with all tables found, and unanswerable ones refused; where an
analyst would take another set as well, the nearest counts. Of the insurer, whose keys look
different in every system, precision and recall of the edges above 0.5 against the planted joins.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import dovetail
from dovetail.domain import JoinEdge
from dovetail_bench.corpora import write_brewery
from dovetail_bench.corpora.questions import brewery_questions
from dovetail_bench.measures import Score, score
from dovetail_bench.programs.insurer_pile import ACCEPTED, TRUTH, make_pile, write_pile

Asked = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """What is measured over the questions of a pile."""

    questions: int
    perfect: int
    f1: float
    answerable: int
    all_found: int
    unanswerable: int
    refused: int


def measure(catalog: dovetail.Catalog, questions: Sequence[Asked], **options: Any) -> Measured:
    """Ask every question of a pile."""
    scores = [best_score(catalog, row, **options) for row in questions]
    own = [one for one, row in zip(scores, questions, strict=True) if row["tables"]]
    others = [one for one, row in zip(scores, questions, strict=True) if not row["tables"]]
    return Measured(
        questions=len(scores),
        perfect=sum(one.f1 == 1 for one in scores),
        f1=round(mean(one.f1 for one in scores), 3),
        answerable=len(own),
        all_found=sum(one.recall == 1 for one in own),
        unanswerable=len(others),
        refused=sum(one.f1 == 1 for one in others),
    )


def best_score(catalog: dovetail.Catalog, row: Asked, **options: Any) -> Score:
    """The score of the set found, against the nearest of the sets that are accepted."""
    found = {str(one.id) for one in catalog.ask(row["question"], **options).tables}
    if not row["tables"]:
        right = float(not found)
        return Score(right, right, right, not found, len(found))
    return max(
        (score(found, wanted) for wanted in (row["tables"], *row.get("accepted", ()))),
        key=lambda one: one.f1,
    )


def brewery(folder: Path) -> tuple[dovetail.Catalog, list[Asked]]:
    """The brewery's pile, indexed, and its questions."""
    sources = write_brewery(folder)
    catalog = dovetail.build(*(f"{path.name}={path}" for path in sources), into=folder / "catalog")
    questions: list[Asked] = [{**row, "tables": row["gold_tables"]} for row in brewery_questions()]
    return catalog, questions


def insurer(folder: Path) -> tuple[dovetail.Catalog, list[Asked]]:
    """The insurer's pile, indexed, and its questions."""
    catalog = dovetail.build(*write_pile(make_pile(), folder), into=folder / "catalog")
    text = Path(__file__).with_name("insurer_questions.toml").read_text(encoding="utf-8")
    return catalog, tomllib.loads(text)["questions"]


PILES = {"brewery": brewery, "insurer": insurer}


@dataclass(frozen=True, slots=True)
class MeasuredJoins:
    """How the edges above 0.5 do against the truth."""

    precision: float
    recall: float
    missed: tuple[str, ...]
    wrong: tuple[str, ...]


def measure_joins(edges: Iterable[JoinEdge]) -> MeasuredJoins:
    """Hold edges above 0.5 against the truth, by tables and columns, whichever side comes first."""
    truth, accepted = planted(), _written(ACCEPTED)
    found = {join_key(edge) for edge in edges if edge.score > 0.5}
    right = found & (truth | accepted)
    return MeasuredJoins(
        precision=len(right) / max(len(found), 1),
        recall=len(found & truth) / len(truth),
        missed=tuple(sorted(map(_text, truth - found))),
        wrong=tuple(sorted(map(_text, found - right))),
    )


Key = frozenset[tuple[str, tuple[str, ...]]]


def planted() -> set[Key]:
    """The joins that the insurer's pile was made with."""
    return _written(TRUTH)


def join_key(edge: JoinEdge) -> Key:
    """A join by its tables and columns, whichever side comes first."""
    pairs = sorted(edge.columns)
    sides = ((edge.left, [a for a, _ in pairs]), (edge.right, [b for _, b in pairs]))
    return frozenset(
        (f"{table.source}/{table.name.rpartition('/')[2]}", tuple(sorted(names)))
        for table, names in sides
    )


def _written(lines: Mapping[str, str]) -> set[Key]:
    def side(system: str, text: str) -> tuple[str, tuple[str, ...]]:
        home, slash, rest = text.partition("/")
        table, columns = (rest if slash else text).split(".", 1)
        return f"{home if slash else system}/{table}", tuple(sorted(columns.split(",")))

    return {
        frozenset(side(system, part) for part in line.strip().split(" = "))
        for system, text in lines.items()
        for line in text.strip().splitlines()
    }


def _text(key: Key) -> str:
    return " = ".join(f"{table}.{','.join(names)}" for table, names in sorted(key))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--breadth", type=float, help="instead of the default")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    options = {} if given.breadth is None else {"breadth": given.breadth}
    for name, make in PILES.items():
        with tempfile.TemporaryDirectory() as folder:
            catalog, questions = make(Path(folder))
            found = measure(catalog, questions, **options)
            joins = measure_joins(catalog.joins()) if name == "insurer" else None
        if given.json:
            more = {"joins": asdict(joins)} if joins else {}
            print(json.dumps({"pile": name, **asdict(found), **more}))
            continue
        print(
            f"{name}: {found.perfect} of {found.questions} sets perfect, F1 {found.f1:.3f}; all "
            f"tables found for {found.all_found} of {found.answerable}; "
            f"{found.refused} of {found.unanswerable} unanswerable questions refused"
        )
        if joins:
            print(f"joins: precision {joins.precision:.3f}, recall {joins.recall:.3f}")
            print("\n".join([f"missed  {it}" for it in joins.missed]))
            print("\n".join([f"wrong   {it}" for it in joins.wrong]))


if __name__ == "__main__":
    main()
