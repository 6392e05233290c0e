"""How much noise does join evidence bear? Edges of a clean corpus, with noise added kind by kind.

    dovetail bench run noise [--seed 1] [--json]

The corpus is the bundled sample, with the noise that it comes with mended; the joins planted in it
are known. Noise is put into the referencing columns (duplicates into the tables referred to), from
1% to 20% of the rows; what is noisy at 5% is noisy at 10% too. Every corpus is written, indexed and
scored anew.

hard  a candidate is an exact inclusion dependency on a strictly unique column
soft  as shipped

recall     planted joins with an edge above 0.5, and none better between the tables that is wrong;
           only of those whose values the kind of noise can touch
precision  edges of one column between two tables above 0.5 that are true
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import dovetail
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.columns import Thresholds
from dovetail.joins.evidence import work_out
from dovetail.sample.render import write_parquet
from dovetail_bench.programs.noise_kinds import KINDS, Corpus, add_noise, clean_corpus, touched
from dovetail_bench.programs.planted_joins import ACCEPTED, PLANTED, Column, Reference, references

LEVELS = (0, 1, 2, 5, 10, 15, 20)


def edges_of_corpus(corpus: Corpus) -> dict[str, list[JoinEdge]]:
    """Write, index and score a corpus; its edges of one column between two tables."""
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for domain, tables in corpus.items():
            sources.append(Path(folder) / domain)
            sources[-1].mkdir()
            for name, table in tables.items():
                write_parquet(sources[-1] / f"{name}.parquet", table)
        catalog = dovetail.build(*map(str, sources), into=Path(folder) / "catalog")
        soft = work_out(catalog.reader)
        hard = work_out(catalog.reader, thresholds=Thresholds(rows=1.0, unique=1.0))
    return {"hard": [edge for edge in _simple(hard) if _exact(edge)], "soft": _simple(soft)}


def _exact(edge: JoinEdge) -> bool:
    """Whether an edge is a hard one, whatever soft evidence comes to let through."""
    return edge.evidence["row_containment"] == 1 and edge.evidence["uniqueness"] == 1


def _simple(edges: Iterable[JoinEdge]) -> list[JoinEdge]:
    return [
        edge
        for edge in edges
        if edge.score > 0.5 and len(edge.columns) == 1 and edge.left != edge.right
    ]


@dataclass(frozen=True, slots=True)
class Measured:
    """How well the edges of a noisy corpus agree with what was planted."""

    kind: str
    percent: int
    evidence: str
    planted: int
    recall: float
    precision: float


def measure(
    edges: Iterable[JoinEdge], asked: Sequence[Reference], true: Collection[frozenset[Column]]
) -> tuple[float, float]:
    """Recall of the references asked for, and precision of all edges."""
    scored = [(_ends(edge), edge.score) for edge in edges]
    scores: dict[frozenset[Column], float] = {}
    wrong: dict[frozenset[tuple[str, str]], float] = {}
    for ends, score in scored:
        scores[ends] = max(score, scores.get(ends, 0.0))
        if ends not in true:
            wrong[_tables(ends)] = max(score, wrong.get(_tables(ends), 0.0))
    found = sum(
        scores.get(each.ends, 0.0) > wrong.get(_tables(each.ends), 0.0)
        for each in asked
        if each.ends in scores
    )
    right = sum(ends in true for ends, _ in scored)
    return found / len(asked), right / len(scored) if scored else 1.0


def _ends(edge: JoinEdge) -> frozenset[Column]:
    def column(table: TableId, name: str) -> Column:
        return Column(Path(table.source).name, table.name, name)

    ((left, right),) = edge.columns
    return frozenset((column(edge.left, left), column(edge.right, right)))


def _tables(ends: frozenset[Column]) -> frozenset[tuple[str, str]]:
    return frozenset((each.domain, each.table) for each in ends)


def measure_all(seed: int) -> list[Measured]:
    """Every kind at every level, hard and soft."""
    planted = references(PLANTED)
    true = {each.ends for each in [*planted, *references(ACCEPTED)]}
    corpus = clean_corpus(planted, seed)
    clean = edges_of_corpus(corpus)
    results = []
    for kind in KINDS:
        asked = touched(corpus, planted, kind)
        for percent in LEVELS:
            noisy = add_noise(corpus, planted, kind, percent / 100, seed) if percent else corpus
            for evidence, edges in (edges_of_corpus(noisy) if percent else clean).items():
                recall, precision = measure(edges, asked, true)
                results.append(Measured(kind, percent, evidence, len(asked), recall, precision))
    return results


def markdown(results: Sequence[Measured]) -> str:
    """The figures as a table: recall / precision."""
    at = {(each.kind, each.evidence, each.percent): each for each in results}
    lines = [
        f"| noise | joins | evidence | {' | '.join(f'{level}%' for level in LEVELS)} |",
        f"|---|---|---|{'---|' * len(LEVELS)}",
    ]
    for kind in KINDS:
        for evidence in ("hard", "soft"):
            row = [at[kind, evidence, level] for level in LEVELS]
            cells = " | ".join(f"{_short(e.recall)} / {_short(e.precision)}" for e in row)
            head = f"{kind} | {row[0].planted}" if evidence == "hard" else " | "
            lines.append(f"| {head} | {evidence} | {cells} |")
    return "\n".join(lines)


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0") if share < 1 else "1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="which cells are noisy")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    results = measure_all(options.seed)
    if options.json:
        print(json.dumps([asdict(each) for each in results], indent=1))
    else:
        print(markdown(results))


if __name__ == "__main__":
    main()
