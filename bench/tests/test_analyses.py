"""Every analysis on runs small enough to be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import NotFoundError, UsageError
from dovetail_bench.errors import DatasetError
from dovetail_bench.reporting.comparison import paired_f1, reference, strata
from dovetail_bench.reporting.join_quality import joinability, read_join_results
from dovetail_bench.reporting.report import make_report
from dovetail_bench.reporting.scored_run import ScoredRun, find_files, read_scored_runs
from dovetail_bench.reporting.selection import (
    depth,
    errors,
    fallbacks,
    selection_performance,
)
from dovetail_bench.reporting.sql_accuracy import (
    answer_errors,
    execution_accuracy,
    paired_execution,
)
from dovetail_bench.reporting.stages import (
    ablation,
    connectors,
    prompt_lengths,
    recovery,
    thresholds,
)
from dovetail_bench.reporting.tabular import BEST, SECOND, Table
from runs import add_answers, asked, candidates, record, write_run

QUESTIONS = [
    asked(1, "ab", "simple"), asked(2, "a", "simple"), asked(3, "abc", "hard"),
    asked(4, "d", "hard"),
]  # fmt: skip
RANKED = {"q1": "abx", "q2": "xay", "q3": "abx", "q4": "xyz"}
STAGED = {"q1": "a+b", "q2": "a+x", "q3": "a+b", "q4": "d"}
TRACES = {
    "q1": [candidates(a=0.9, b=0.2, x=0.5, y=0.1)],
    "q2": [candidates(a=0.8, x=0.7)],
    "q3": [candidates(a=0.9, b=0.6, c=0.3, x=0.2)],
    "q4": [candidates(d=0.4, y=0.3)],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ranking, and a set that was selected and adjusted at a price."""
    ranked = [record(name, tables) for name, tables in RANKED.items()]
    write_run(tmp_path, "dense", QUESTIONS, ranked, k=3, ranks=True)
    staged = [
        record(name, tables, tokens_in=100 * place, tokens_out=10, llm_calls=1, fallback=place == 4)
        for place, (name, tables) in enumerate(STAGED.items(), start=1)
    ]
    write_run(tmp_path, "core-t", QUESTIONS, staged, traces=TRACES, llm="some/model")
    return tmp_path


def measured(folder: Path, *ks: int) -> list[ScoredRun]:
    return read_scored_runs(find_files([folder])[0], ks)


def values(table: Table, label: str) -> dict[str, Any]:
    """The row that begins with a label, or has it second, by column."""
    for row in table.rows:
        if label in [cell.value for cell in row.cells[:2]]:
            names = [column.name for column in table.columns]
            return dict(zip(names, [cell.value for cell in row.cells], strict=True))
    raise KeyError(label)


def about(number: float) -> Any:
    return pytest.approx(number, abs=1e-4)


def test_selection_performance(folder: Path) -> None:
    table = selection_performance(measured(folder))
    row = values(table, "dense@3")
    assert (row["questions"], row["tables"]) == (4, 3)
    assert row["P"] == about(100 * (2 / 3 + 1 / 3 + 2 / 3) / 4)
    assert row["R"] == about(100 * (1 + 1 + 2 / 3) / 4)
    assert row["F1"] == about(100 * (0.8 + 0.5 + 2 / 3) / 4)
    assert row["PR"] == 50
    assert values(table, "core-t@4")["F1"] == about(100 * (1 + 2 / 3 + 0.8 + 1) / 4)
    # Four questions cannot tell two systems apart.
    assert {cell.mark for row in table.rows for cell in row.cells} == {""}
    assert table.ranks[0, 6] == BEST
    assert table.ranks[1, 6] == SECOND


def test_fallbacks_are_counted_by_why(tmp_path: Path) -> None:
    whys = {"q1": "it is cut", "q2": "it has no group", "q3": "it is cut"}
    traces = {
        name: [{"stage": "select", "fallback": 1, "reason": f"of no use, {why}: all stay"}]
        for name, why in whys.items()
    }
    found = [record(question.id, "a", fallback=question.id in whys) for question in QUESTIONS]
    write_run(tmp_path, "core-t", QUESTIONS, found, traces={**traces, "q4": [candidates(a=0.5)]})
    rows = [[cell.value for cell in row.cells] for row in fallbacks(measured(tmp_path)).rows]
    assert rows == [
        ["core-t@4", "of no use, it is cut", 2, 50.0],
        ["core-t@4", "of no use, it has no group", 1, 25.0],
    ]


def test_an_empty_set_has_no_table_too_many(tmp_path: Path) -> None:
    write_run(tmp_path, "core-t", QUESTIONS[:1], [record("q1", "")])
    row = values(errors(measured(tmp_path)), "core-t@4")
    assert (row["recall"], row["precision"]) == (1, 0)


def test_a_table_without_a_source_is_none_of_a_source(tmp_path: Path) -> None:
    """An empty `source` matched any table once: such a table is one too many, and none of gold."""
    found = record("q1", "a")
    nowhere = replace(found, tables=tuple(replace(each, source="") for each in found.tables))
    write_run(tmp_path, "core-t", [asked(1, "a")], [nowhere])
    row = values(errors(measured(tmp_path)), "core-t@4")
    assert (row["recall"], row["precision"]) == (1, 1)


def test_a_threshold_is_told_in_a_table_of_its_own(tmp_path: Path) -> None:
    sets = {"core-t:paper": ("a+bx", "a"), "core-t:paper+0.7": ("a+b", "a")}
    for name, found in sets.items():
        rows = zip(("q1", "q2"), found, strict=True)
        records = [record(*row, tokens_in=100, llm_calls=1) for row in rows]
        write_run(tmp_path, name, QUESTIONS[:2], records, dataset="bird_dev")
    table = thresholds(measured(tmp_path))
    row = values(table, "core-t:paper+0.7@4, no purposes")
    assert (row["threshold"], row["tables"], row["F1"]) == (0.7, 1.5, 100)
    assert (row["other sets %"], row["p"]) == (50, 1)
    usual = values(table, "core-t:paper@4, no purposes")
    assert (usual["threshold"], usual["other sets %"], usual["p"]) == (0.5, 0, None)
    assert values(table, "CORE-T, 0.7")["tables"] == 3.9, "the first of the published models"
    (chapter,) = make_report([tmp_path])
    shown = {each.name: [row.cells[0].value for row in each.rows] for each in chapter.filled}
    assert "core-t:paper+0.7@4, no purposes" in shown["thresholds"]
    assert "core-t:paper+0.7@4, no purposes" not in shown["errors"], "no best of several settings"


def test_a_threshold_alone_is_no_sweep(tmp_path: Path) -> None:
    write_run(tmp_path, "core-t:paper", QUESTIONS[:1], [record("q1", "a")])
    assert "core-t:paper+0.7" in thresholds(measured(tmp_path)).missing


def test_prompts_are_told_by_the_shortest_the_median_and_the_longest(tmp_path: Path) -> None:
    lengths = zip(QUESTIONS, (100, 300, 200, 500), strict=True)
    records = [record(each.id, "a", tokens_in=count, llm_calls=1) for each, count in lengths]
    write_run(tmp_path, "core-t:paper", QUESTIONS, records, dataset="bird_dev")
    write_run(tmp_path, "react:paper", QUESTIONS, records, dataset="bird_dev")
    table = prompt_lengths(measured(tmp_path))
    row = values(table, "core-t:paper@4, no purposes")
    assert list(row.values())[1:] == [4, 100, 250, 500]
    assert sum(not each.published for each in table.rows) == 1, "one prompt a question"
    assert [cell.value for cell in table.rows[1].cells] == ["CORE-T", 1534, 3916, 6710, 12860]


def test_letters_name_what_a_row_is_significantly_better_than(tmp_path: Path) -> None:
    questions = [asked(number, "a") for number in range(30)]
    for name, found in (("exact", "a"), ("loose", "axyz"), ("twin", "a")):
        write_run(tmp_path, name, questions, [record(q.id, found) for q in questions])
    table = selection_performance(measured(tmp_path))
    f1 = [column.name for column in table.columns].index("F1")
    marks = {row.cells[1].value: row.cells[f1].mark for row in table.rows}
    assert marks == {"exact@4": "b", "loose@4": "", "twin@4": "b"}
    assert table.ranks[0, f1] == table.ranks[2, f1] == BEST
    assert table.ranks[1, f1] == SECOND


def test_a_ranking_is_cut(folder: Path) -> None:
    table = depth(measured(folder, 1, 2))
    assert [row.cells[0].value for row in table.rows] == ["dense@1", "dense@2", "dense@3"]
    assert values(table, "dense@1")["PR"] == 0
    assert values(table, "dense@1")["P"] == 50
    assert values(table, "dense@2")["PR"] == 50


def test_published_rows_stand_beside_ours_with_their_models(tmp_path: Path) -> None:
    write_run(tmp_path, "dense", QUESTIONS, [record("q1", "ab")], dataset="bird_dev", k=15)
    table = selection_performance(measured(tmp_path))
    (row,) = [
        row for row in table.rows
        if row.published.endswith("Llama-3.1-8B-Instruct") and row.cells[1].value == "CORE-T"
    ]  # fmt: skip
    shown = {column.name: cell.value for column, cell in zip(table.columns, row.cells, strict=True)}
    told = {
        name: value for name, value in shown.items() if value is not None and "tokens" not in name
    }
    assert (told.pop(""), told.pop("system")) == ("", "CORE-T")
    assert told == {"questions": 1534, "tables": 4.1, "P": 50.0, "F1": 62.3, "PR": 90.0}
    assert row.runs == ()
    # Best is told among measured rows alone: 100 on one question, and there is only one row.
    assert table.ranks == {}


def test_paired_f1(folder: Path) -> None:
    runs = measured(folder)
    best = reference(runs)
    row = values(paired_f1(runs, best), "core-t@4, dense@3")
    assert row["ΔF1"] == about(100 * (0.2 + 1 / 6 + 2 / 15 + 1) / 4)
    assert (row["won"], row["lost"], row["questions"]) == (4, 0, 4)
    # Of 16 ways to choose the signs, two are as extreme.
    assert row["p"] == pytest.approx(2 / 16, abs=0.02)
    assert row["winner"] == "tie"
    assert reference(runs, "dense").label == "dense@3"
    with pytest.raises(NotFoundError, match=r"no run 'jar' of toy; there are: core-t@4, dense@3"):
        reference(runs, "jar")


@pytest.mark.parametrize(
    ("against", "others"),
    [("core-t", ["steiner@4", "graph@4"]), ("graph", ["core-t@4", "steiner@4"])],
)
def test_a_published_system_is_held_against_published_ones_first(
    tmp_path: Path, against: str, others: list[str]
) -> None:
    for name in ("core-t", "graph", "steiner"):
        write_run(tmp_path, name, QUESTIONS, [record(each.id, "a") for each in QUESTIONS])
    runs = measured(tmp_path)
    table = paired_f1(runs, reference(runs, against))
    assert [row.cells[0].value for row in table.rows] == [f"{against}@4, {one}" for one in others]


def test_strata(folder: Path) -> None:
    runs = measured(folder)
    table = strata(runs, reference(runs))
    assert [column.name for column in table.columns[1:]] == [
        "simple (2)", "hard (2)", "1 gold (2)", "2 gold (1)", "3 gold (1)", "significant",
    ]  # fmt: skip
    row = values(table, "dense@3")
    assert row["simple (2)"] == about(65)
    assert row["1 gold (2)"] == about(25)
    assert row["3 gold (1)"] == about(200 / 3)
    assert row["significant"] == "0 of 5"


def test_strata_are_corrected_for_their_number(tmp_path: Path) -> None:
    """Of one stratum 6 of 6 go one way (p = 1/32), which is not enough where there are two."""
    one = [asked(number, "a") for number in range(6)]
    two = [*one, *(asked(number, "ab") for number in range(6, 12))]
    for name, questions in (("alone", one), ("both", two)):
        folder = tmp_path / name
        good = [record(q.id, "a" if len(q.gold) == 1 else "ab") for q in questions]
        poor = [record(q.id, "ax" if len(q.gold) == 1 else "ab") for q in questions]
        write_run(folder, "good", questions, good)
        write_run(folder, "poor", questions, poor)
    marks = {}
    for name in ("alone", "both"):
        runs = measured(tmp_path / name)
        row = strata(runs, reference(runs, "good")).rows[1]
        marks[name] = [cell.mark for cell in row.cells[1:-1]]
    assert marks == {"alone": ["*"], "both": ["", ""]}


def test_ablation(folder: Path) -> None:
    row = values(ablation(measured(folder)), "core-t@4")
    assert row["search F1"] == about(100 * (3 * 2 / 3 + 6 / 7) / 4)
    assert (row["search PR"], row["search tables"]) == (100, 3)
    assert row["select F1"] == about(100 * (2 / 3 + 1 + 0.5 + 1) / 4)
    assert (row["select PR"], row["select tables"]) == (50, 1)
    assert row["adjust F1"] == about(100 * (1 + 2 / 3 + 0.8 + 1) / 4)
    assert (row["adjust PR"], row["adjust tables"]) == (75, 1.75)


def test_a_row_says_which_part_a_published_system_runs_without(tmp_path: Path) -> None:
    records = [record(name, tables) for name, tables in RANKED.items()]
    for name in ("jar", "rear", "rear:some/cross-encoder", "core-t:paper", "dense"):
        write_run(tmp_path, name, QUESTIONS, records, embedder="minilm")
    labels = [one.label for one in measured(tmp_path)]
    assert labels == [
        "core-t:paper@4, no purposes",
        "dense@4",
        "jar@4, no sub-questions",
        "rear@4, no cross-encoder, no purposes",
        "rear:some/cross-encoder@4, no purposes",
    ]


def test_gold_tables_dropped_and_recovered(folder: Path) -> None:
    row = values(recovery(measured(folder)), "core-t@4")
    assert list(row.values())[1:] == [50, 2, 4, 100, 50]


def test_connectors_dropped_and_recovered(folder: Path) -> None:
    """Half of the gold has a relevance of at most 0.6: b in q1, b and c in q3, d in q4."""
    table = connectors(measured(folder), 0.5)
    row = values(table, "core-t@4")
    assert list(row.values())[1:] == [about(200 / 3), 2, 3, 100, 50]
    assert "core-t@4 0.600" in table.note


def test_what_a_question_costs_stands_beside_its_row(folder: Path) -> None:
    table = selection_performance(measured(folder))
    row = values(table, "core-t@4")
    assert (row["calls"], row["tokens in"], row["tokens out"]) == (1, 250, 10)
    assert row["fallback %"] == 25
    assert values(table, "dense@3")["tokens in"] is None
    low, high = map(float, row["F1 95%"].split(" to "))
    assert low < row["F1"] < high


def test_published_tokens_are_means_per_question(tmp_path: Path) -> None:
    write_run(tmp_path, "dense", QUESTIONS, [record("q1", "ab")], dataset="bird_dev")
    row = values(selection_performance(measured(tmp_path)), "CORE-T")
    assert (row["tokens in"], row["tokens out"]) == (about(10.8e6 / 1534), about(1.71e6 / 1534))


def test_error_classes(folder: Path) -> None:
    row = values(errors(measured(folder)), "core-t@4")
    assert list(row.values())[1:] == [1, 25, 1, 25]


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for embedder in ("minilm", "none"):
        write_run(tmp_path, "dense", QUESTIONS[:1], [record("q1", "ab")], embedder=embedder)
    labels = [one.label for one in measured(tmp_path)]
    assert labels == ["dense@4, embedder minilm", "dense@4, no embedder, embedder none"]


def test_execution_accuracy(folder: Path) -> None:
    runs = measured(folder)
    right = {"core-t": ("", "", "", "syntax"), "dense": ("", "wrong rows", "", "wrong rows")}
    for one in runs:
        add_answers(one.run.path, dict(zip(RANKED, right[one.retriever], strict=True)))
    table = execution_accuracy(measured(folder))
    row = values(table, "core-t@4")
    assert (row["EX"], row["EX multi-table"]) == (75, 100)
    # q1 and q2 are right and fully retrieved, q4 is fully retrieved and wrong.
    assert row["EX perfect"] == 50
    assert row["EX given perfect"] == about(200 / 3)
    row = values(paired_execution(measured(folder)), "core-t@4, dense@3")
    assert (row["ΔEX"], row["won"], row["lost"], row["p"]) == (25, 1, 0, 1)
    add_answers(runs[1].run.path, {"q1": "", "q2": "gold", "q3": "", "q4": "wrong rows"})
    assert values(execution_accuracy(measured(folder)), "dense@3")["questions"] == 3
    assert values(execution_accuracy(measured(folder)), "dense@3")["EX"] == about(200 / 3)
    add_answers(runs[1].run.path, dict(zip(RANKED, right["dense"], strict=True)))
    wrong = answer_errors(measured(folder))
    assert [column.name for column in wrong.columns] == ["system", "right", "syntax", "wrong rows"]
    assert list(values(wrong, "dense@3").values())[1:] == [50, 0, 50]


def test_joinability(tmp_path: Path) -> None:
    pairs = {"pairs": 10, "gold": 2, "accuracy": 0.9, "column_pair": 0.5, "mean_error": 0.1}
    pairs |= {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "auc": 0.75}
    document = {"dataset": "spider_dev", "scoring": "paper", "all": pairs, "within": pairs}
    (tmp_path / "joins.json").write_text(json.dumps(document))
    (tmp_path / "other.json").write_text("[]")
    join_results = read_join_results(find_files([tmp_path])[1], 7)
    assert [one.number for one in join_results] == [7]
    table = joinability(join_results, "spider_dev")
    assert [row.cells[1].value for row in table.rows[:2]] == ["all pairs", "inside databases"]
    assert values(table, "paper")["column pair"] == 50
    published = values(table, "CORE-T")
    assert (published["accuracy"], published["error"]) == (89.1, 0.104)


@pytest.mark.parametrize(
    ("analysis", "needed"),
    [
        (ablation, "traces list the candidates"),
        (recovery, "traces list the candidates"),
        (connectors, "traces list the candidates"),
        (execution_accuracy, "runs with SQL"),
        (paired_execution, "At least two"),
    ],
)
def test_what_cannot_be_told_says_what_it_needs(tmp_path: Path, analysis: Any, needed: str) -> None:
    write_run(tmp_path, "dense", QUESTIONS[:1], [record("q1", "ab")])
    table = analysis(measured(tmp_path))
    assert table.rows == ()
    assert needed in table.missing


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run is there"):
        find_files([tmp_path])
    with pytest.raises(NotFoundError, match="nowhere"):
        find_files([tmp_path / "nowhere"])
    file = write_run(tmp_path, "dense", QUESTIONS, [record("q1", "ab")])
    (beside,) = tmp_path.glob("*.questions.jsonl")
    beside.write_text('{"id": "q1"}\n')
    with pytest.raises(DatasetError, match=r"questions\.jsonl does not read"):
        read_scored_runs([file])
    beside.unlink()
    with pytest.raises(NotFoundError, match="asks nothing twice"):
        read_scored_runs([file])
