"""How `ask` does on the questions of a company's pile: dovetail bench run company FOLDER -C CATALOG

FOLDER has `questions.json`: a question (`q`) with the sets of tables that an expert accepts
(`gold`, a list of sets; or `g` with others in `alt`), none for one that cannot be answered. Where a
`logical.json` is beside it, tables are called by the names it gives to them (`physical`,
`logical`); else by their own names without folders. With `--llm replay:FOLDER` questions that wait
for replies are counted and left out: have their requests answered, and run it again.

F1, perfect sets and questions with all tables found are of those that can be answered, against the
nearest accepted set; `offered` is how often all tables were among those that the model was shown.
A question that cannot be answered counts as refused where the set is empty, or its confidence below
0.3; of the others, empty sets are refused, and with those of little confidence doubted. Of the
foreign keys that the sources declare, those are counted that join evidence finds, above 0.5.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import dovetail
from dovetail.catalog.generation import EVIDENCE
from dovetail.domain import TableId, TableSet
from dovetail.errors import PendingError
from dovetail.joins.edges import StoredEdges
from dovetail.joins.graph import JOINABLE
from dovetail_bench.measures import Score, score

_REFUSED = 0.3
_EXTENSION = re.compile(r"\.(csv|jsonl?|parquet|xlsx)$")
_PART = re.compile(r"/(part-|\w+=|\d+$)[^/]*$")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the sets that are accepted, and its kind."""

    id: str
    text: str
    accepted: Sequence[frozenset[str]]
    kind: str

    @property
    def answerable(self) -> bool:
        return any(self.accepted)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question got: the nearest score, whether refused, all tables offered, and the cost."""

    asked: Asked
    names: frozenset[str]
    score: Score
    refused: bool
    offered: bool
    confidence: float
    calls: int
    tokens: int


def read_questions(folder: Path, names: Names) -> list[Asked]:
    """The questions of a pile."""
    rows = json.loads((folder / "questions.json").read_text("utf-8"))
    return [
        Asked(
            id=str(row.get("id", number)),
            text=row.get("q") or row["question"],
            accepted=[frozenset(map(names.gold, one)) for one in _accepted(row)],
            kind=str(row.get("kind", row.get("k", ""))),
        )
        for number, row in enumerate(rows, start=1)
    ]


def _accepted(row: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """The sets that a row of the file accepts, by the key that it has for them."""
    if "gold_tables" in row:
        return [row["gold_tables"]]
    return row.get("gold") or [row["g"], *row.get("alt", ())]


class Names:
    """What the questions of a pile call its tables."""

    def __init__(self, folder: Path) -> None:
        file = folder / "logical.json"
        rows = json.loads(file.read_text("utf-8")) if file.is_file() else []
        self._logical: dict[str, str] = {}
        for row in rows:
            path = _EXTENSION.sub("", row["physical"].replace(":", "/")).casefold()
            self._logical[_without_parts(path)] = row["logical"]

    def gold(self, name: str) -> str:
        """What a table is called that an expert takes: a file without its folders and parts."""
        return name if self._logical else _without_parts(name.rpartition(":")[2]).rpartition("/")[2]

    def of(self, table: TableId) -> str:
        """The name of a table."""
        source = table.source.rstrip("/").rpartition("/")[2]
        own = _EXTENSION.sub("", table.name)
        if not self._logical:
            return _without_parts(own).rpartition("/")[2]
        paths = (own, f"{source}/{own}", f"{source}.duckdb/{own}", f"{source}.sqlite/{own}")
        for path in paths:
            while path:
                if path.casefold() in self._logical:
                    return str(self._logical[path.casefold()])
                path = path.rpartition("/")[0]
        return str(table)

    def of_all(self, tables: Sequence[TableId]) -> frozenset[str]:
        """The names of tables."""
        return frozenset(map(self.of, tables))


def _without_parts(path: str) -> str:
    """The path of a dataset, of which partitions are parts."""
    while _PART.search(path):
        path = _PART.sub("", path)
    return path


def outcome(catalog: dovetail.Catalog, asked: Asked, names: Names, **options: Any) -> Outcome:
    """Ask a question, and hold the set against what is accepted."""
    found = catalog.ask(asked.text, **options)
    got = names.of_all(found.ids)
    confidence = 0.0 if found.confidence is None else found.confidence
    scores = [score(got, wanted) for wanted in asked.accepted if wanted]
    shown = names.of_all(_shown(found, catalog))
    return Outcome(
        asked=asked,
        names=got,
        score=max(scores, key=lambda one: one.f1, default=Score(0, 0, 0, False, len(got))),
        refused=not got or confidence < _REFUSED,
        offered=any(wanted <= shown for wanted in asked.accepted),
        confidence=confidence,
        calls=_total(found, "llm_calls"),
        tokens=_total(found, "tokens_in") + _total(found, "tokens_out"),
    )


def _shown(found: TableSet, catalog: dovetail.Catalog) -> list[TableId]:
    """The candidates that were chosen among, with the members of their families."""
    families = catalog.families()
    shown = []
    for entry in found.trace:
        listed: Any = entry.get("candidates", ())
        for row in listed:
            table = catalog[row["table"]].id
            family = families.of(table)
            shown += list(family.tables) if family else [table]
    return shown


def _total(found: TableSet, name: str) -> int:
    values: list[Any] = [entry.get(name, 0) for entry in found.trace]
    return sum(values)


def summary(outcomes: Sequence[Outcome]) -> Mapping[str, float]:
    """The measures over the questions of a pile."""
    own = [one for one in outcomes if one.asked.answerable]
    others = [one for one in outcomes if not one.asked.answerable]
    sets = [one.score for one in own]
    return {
        "answerable": len(own),
        "f1": round(mean(one.f1 for one in sets), 4),
        "perfect": round(mean(one.f1 == 1 for one in sets), 4),
        "all_found": round(mean(one.recall == 1 for one in sets), 4),
        "offered": round(mean(one.offered for one in own), 4),
        "refused_though_answerable": sum(not one.names for one in own),
        "doubted_though_answerable": sum(one.refused for one in own),
        "unanswerable": len(others),
        "refused": sum(one.refused for one in others),
        "calls_median": median(one.calls for one in outcomes),
        "tokens_median": median(one.tokens for one in outcomes),
        "tokens_mean": round(mean(one.tokens for one in outcomes), 1),
    }


def hidden_keys(catalog: dovetail.Catalog) -> Mapping[str, int]:
    """How many keys are declared, and how many of them are found while they are hidden."""
    evidence = StoredEdges.read(catalog.reader.part(EVIDENCE))
    found = {(e.left, e.right, frozenset(e.columns)) for e in evidence if e.score > JOINABLE}
    declared = {
        (e.left, e.right, frozenset(e.columns))
        for e in catalog.join_graph().edges
        if "declared" in e.evidence
    }
    return {"declared_keys": len(declared), "found_hidden": len(declared & found)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-C", "--catalog", required=True)
    parser.add_argument("--llm", help="a model; without one, graph chooses")
    parser.add_argument("--selector", help="graph, llm or auto")
    parser.add_argument("--k", type=int, help="candidates [as many as the selector takes]")
    parser.add_argument("--phrases", type=Path, help="JSON: what to look for, by question id")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true", help="each set that is not perfect")
    given = parser.parse_args(arguments)
    names = Names(given.folder)
    looking_for = json.loads(given.phrases.read_text("utf-8")) if given.phrases else {}
    outcomes: list[Outcome] = []
    waiting = 0
    with dovetail.open(given.catalog) as catalog:
        for asked in read_questions(given.folder, names):
            options: dict[str, Any] = {"llm": given.llm, "selector": given.selector, "k": given.k}
            if asked.id in looking_for:
                options["looking_for"] = looking_for[asked.id]
            try:
                outcomes.append(outcome(catalog, asked, names, **options))
            except PendingError:
                waiting += 1
        keys = hidden_keys(catalog)
    if not outcomes:
        print(f"{waiting} questions wait for replies")
        return
    measured = {**summary(outcomes), "waiting": waiting, **keys}
    lines = [f"{name:26} {value}" for name, value in measured.items()]
    print(json.dumps(measured) if given.json else "\n".join(lines))
    if given.verbose:
        for one in outcomes:
            right = one.score.f1 == 1 if one.asked.answerable else one.refused
            if not right:
                print(json.dumps(asdict(one), default=sorted, ensure_ascii=False))


if __name__ == "__main__":
    main()
