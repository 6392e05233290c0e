"""The commands that answer a question with tables: the set that it needs, or a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli import options
from dovetail.cli.output import (
    console,
    note,
    open_catalog,
    print_json,
    print_line,
    print_lines,
    rich_table,
    sureness,
    waits_told,
    write,
)
from dovetail.cli.rows import Form, give
from dovetail.errors import ModelError, UsageError
from dovetail.text import count, sql_line

if TYPE_CHECKING:
    from dovetail.answer.results import Answer
    from dovetail.api.catalog import AskOptions, Catalog
    from dovetail.domain import TableSet


def ask(
    question: options.Question,
    k: options.K = None,
    selector: options.Selector = None,
    llm: options.Model = None,
    no_cache: options.NoCache = False,
    breadth: options.Breadth = None,
    source: options.Source = None,
    look_for: options.LookFor = None,
    sql: options.Sql = False,
    dialect: options.Dialect = None,
    run: Annotated[bool, typer.Option("--run", help="Run that SQL; it can only read.")] = False,
    limit_rows: options.LimitRows = None,
    timeout: options.Timeout = None,
    csv: options.Csv = False,
    parquet: options.Parquet = None,
    output: options.Output = None,
    explain: options.Explain = False,
    dry_run: options.DryRun = False,
    ddl: Annotated[bool, typer.Option("--ddl", help="Print a slice of schema instead.")] = False,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Find the tables that a question needs, and how they join."""
    form = Form(csv, as_json, parquet, output)
    _check(form, run=run, sql=sql, dialect=dialect, ddl=ddl)
    opened = open_catalog(
        catalog,
        llm=llm,
        llm_cache=False if no_cache else None,
        query_seconds=timeout,
        query_rows=limit_rows,
    )
    for line in opened.notes.warnings:
        note(line)
    asked: AskOptions = {
        "k": k,
        "selector": selector,
        "breadth": breadth,
        "sources": source,
        "looking_for": look_for or (),
    }
    if dry_run:
        requests = opened.preview(question, sql=sql or run, **asked)
        print_json({"question": question, "requests": requests}, output)
        return
    answer, written, failure = None, "", None
    with waits_told():
        result = opened.ask(question, explain=explain, **asked)
        if (sql or run) and result.tables:
            answer, written, failure = _answered(opened, result, run=run, dialect=dialect)
    if as_json:
        more: dict[str, Any] = {"ddl": result.ddl()} if ddl else {}
        more |= {"sql": written} if written else {}
        more |= {"answer": answer.to_dict()} if answer else {}
        print_json(result.to_dict() | more, output)
        _exit_if_nothing_fits(result, failure)
        return
    if answer and form.fills_output:
        note(f"ran {sql_line(written)}")
    else:
        _print_result(result, written, as_ddl=ddl, explain=explain)
    if answer:
        give(answer, form)
    if result.tables or ddl:  # else it is what was printed
        for warning in result.warnings:
            note(warning)
    _exit_if_nothing_fits(result, failure)


def _answered(
    opened: Catalog, result: TableSet, *, run: bool, dialect: str | None
) -> tuple[Answer | None, str, ModelError | None]:
    """The rows of a query where it is run, its SQL, and why there is none: the set is told then."""
    try:
        answer = opened.answer(result) if run else None
        return answer, answer.sql if answer else opened.write_sql(result, dialect=dialect), None
    except ModelError as error:
        return None, "", error


def _check(form: Form, *, run: bool, sql: bool, dialect: str | None, ddl: bool) -> None:
    """Refuse options that say nothing together."""
    if (form.csv or form.parquet) and not run:
        raise UsageError("--csv and --parquet are for rows: add --run")
    if form.csv and form.fills_output and ddl:
        raise UsageError("--csv prints rows alone: leave out --ddl, or add --output")
    if dialect and (run or not sql):
        raise UsageError("--dialect is for SQL that a source runs itself: add --sql, without --run")


def search(
    question: options.Question,
    k: Annotated[int, typer.Option("-k", "--k", min=1, metavar="N", help="Tables to list.")] = 10,
    look_for: options.LookFor = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the signals of each score, and why.")
    ] = False,
    catalog: options.Catalog = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Rank the tables of a catalog for a question.

    No language model is asked.
    """
    if not question.strip():
        raise UsageError("the question is empty; say what the tables should be about")
    opened = open_catalog(catalog, embedder=embedder)
    candidates = opened.search(question, k, looking_for=look_for or (), explain=True)
    if as_json:
        rows = [candidate.to_dict() for candidate in candidates]
        print_json({"question": question, "embedder": opened.embedder, "tables": rows})
        return
    if explain:
        for rank, one in enumerate(candidates, start=1):
            print_line(f"{rank}. {one.id}  {one.relevance:.2f}")
            print_line(
                f"   {', '.join(f'{name} {value:.2f}' for name, value in one.signals.items())}"
            )
            for why in one.reasons:
                print_line(f"   {why}")
        return
    listing = rich_table("table", "relevance", "why")
    for one in candidates:
        listing.add_row(str(one.id), f"{one.relevance:.2f}", "; ".join(one.reasons))
    console().print(listing)


def _exit_if_nothing_fits(result: TableSet, failure: ModelError | None) -> None:
    """End as where something is not there: what was asked for, or a model to write SQL."""
    if failure is not None:
        raise failure
    if result.nothing_fits:
        raise typer.Exit(1)


def _print_result(result: TableSet, written: str, *, as_ddl: bool, explain: bool) -> None:
    if as_ddl:
        write(result.ddl())
    else:
        print_set(result)
    if explain:
        print_explanation(result)
    if written:
        print_lines(written)


def print_explanation(result: TableSet) -> None:
    """What a model was asked and said; what decided over each table that `graph` chose, a line
    each, and why the next one stayed out."""
    asked = [stage for stage in result.trace if stage.get("llm_calls")]
    _print_conversation(result.trace, asked)
    explanation: Any = result.explanation
    if explanation is None:
        if not asked:
            note("only sets that graph or a model chose are explained; --json has the trace")
        return
    for one in explanation["tables"]:
        told = f"{one['table']}{_probability(one)}: {_because(one['because'])}"
        print_line(told)
    if suffices := explanation.get("suffices"):
        print_line(f"why it suffices: {suffices}")
    if out := explanation["next"]:
        told = f"not taken: {out['table']}{_probability(out)}: {out['because']}"
        print_line(told)
    for reading in explanation.get("readings", ()):
        print_line(f"another reading{_probability(reading)}: {reading['words']}")


def _print_conversation(trace: Sequence[Mapping[str, Any]], asked: Sequence[Any]) -> None:
    """What a model looked for, was shown and said, in the order of the trace, and what it took."""
    shown: dict[int, str] = {}
    for stage in trace:
        if looked_for := stage.get("looked_for"):
            print_line(f"looked for: {'; '.join(looked_for)}")
        if stage["stage"] == "search":
            shown = {one["number"]: one["table"] for one in stage.get("candidates", ())}
        if "reply" in stage:
            left_out = stage.get("cut", {}).get("left_out", ())
            listed = (f"{at} {table}" for at, table in shown.items() if table not in left_out)
            chosen = (shown.get(at, str(at)) for at in stage["selected"])
            print_line(f"shown: {', '.join(listed)}")
            print_lines(f"said: {stage['reply']}")
            print_line(f"chose: {', '.join(chosen) or 'none'}")
        if missing := stage.get("missing"):
            print_line(f"missing: {missing}")
        if stage.get("fallback"):
            print_line(f"but {stage.get('reason', '')}")
    if asked:
        calls, tokens_in, tokens_out, seconds = (
            sum(stage.get(name, 0) for stage in asked)
            for name in ("llm_calls", "tokens_in", "tokens_out", "seconds")
        )
        print_line(
            f"{count(calls, 'call')} of {asked[0].get('model', 'a model')}: {tokens_in:,} tokens "
            f"in, {tokens_out:,} out, {seconds:.1f} seconds"
        )


def _probability(one: Mapping[str, Any]) -> str:
    return f" ({one['probability']:.2f})" if "probability" in one else ""


def _because(things: Sequence[Mapping[str, Any]]) -> str:
    """The things that decided, each with the probability that there would be without it."""
    if not things:
        return "nothing by itself: each thing that speaks for it could be missing"
    without = [
        f" (without: {thing['without']:.2f})" if "without" in thing else "" for thing in things
    ]
    return "; ".join(f"{thing['words']}{rest}" for thing, rest in zip(things, without, strict=True))


def print_set(result: TableSet) -> None:
    """The tables with why they are in the set, how they join, what else may be meant, and how the
    question was read."""
    screen = console()
    tables = rich_table("table", "score", "stage", "why")
    for chosen in result.tables:
        relevance = chosen.relevance
        sure = f"{relevance:.2f}" if chosen.connects else sureness(relevance)
        tables.add_row(str(chosen.id), sure, chosen.stage, chosen.why)
    if result.tables:
        screen.print(tables)
    else:
        for warning in result.warnings:
            print_line(warning[:1].upper() + warning[1:] + ".")
    if result.joins:
        joins = rich_table("join", "score", "kind")
        for edge in result.joins:
            condition = edge.brief(result.names or None)
            kind = f"{edge.cardinality}, days of a calendar" if edge.by_days else edge.cardinality
            joins.add_row(condition, sureness(edge.score), kind)
        screen.print(joins)
    if result.alternatives:
        others = rich_table("or did you mean", "confidence", "why")
        for other in result.alternatives:
            tables_of = ", ".join(map(str, other.tables))
            others.add_row(tables_of, sureness(other.confidence), other.reason)
        screen.print(others)
    if result.confidence is not None and result.tables:
        screen.print("confidence", sureness(result.confidence))
    _print_reading(result)


def _print_reading(result: TableSet) -> None:
    if result.reading:
        print_line(f"read as: {result.reading}")
    if unread := result.parts.get("open"):
        print_line(f"open: {' '.join(unread)}")
