"""What questions cost an agent over MCP: dovetail bench run agent sample FOLDER=CATALOG …

The agent speaks to `dovetail mcp` as agents do, over standard input and output. With `--llm` a
language model plays it: it sees the server's instructions and tools, and says which to call, at
most `--calls` times; a query that has rows ends a question. `--llm replay:DIR` writes down what is
to be answered, and `--save FILE` keeps the calls that were made. `--recorded FILE` makes these
again, whatever comes back. Without either a script plays: it calls `find_tables` with the question,
and `run_sql` with the skeleton that it is given. Of each pile (`asked_piles.py`) as many questions
are asked as `--questions` says, evenly drawn from those that can be answered.

Counted are calls and tokens, taken as a quarter of the characters of all arguments and results.
`told` is how often all tables of an accepted set were in the set that was found, `rows` how often
a query had rows, `solved` how often that query read all tables of an accepted set. `once` is
the cost of the list of tools. Questions that wait for replies are counted and left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import dovetail
from dovetail.errors import PendingError
from dovetail.models.chat import parse_json
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Message
from dovetail.prompts import read_prompt
from dovetail.text import fenced
from dovetail_bench.programs.asked_piles import Pile, pile
from dovetail_bench.programs.company import Asked
from dovetail_bench.prompts import PROMPTS

_CHARACTERS = 4  # of a token, about


@dataclass(frozen=True, slots=True)
class Turn:
    """A call of a tool, and what came back: as text, and as data where it is no complaint."""

    tool: str
    arguments: Mapping[str, Any]
    text: str
    result: Mapping[str, Any]


Call = tuple[str, Mapping[str, Any]]
# What an agent does after some turns over a question: the next call, or None to stop.
Agent = Callable[[str, Sequence[Turn]], Call | None]


@dataclass(slots=True)
class Course:
    """What happened over one question."""

    question: str
    turns: list[Turn] = field(default_factory=list)
    told: bool = False
    rows: bool = False
    solved: bool = False

    @property
    def tokens(self) -> int:
        return sum(_characters(turn) for turn in self.turns) // _CHARACTERS


def _characters(turn: Turn) -> int:
    return len(json.dumps(turn.arguments, ensure_ascii=False)) + len(turn.text)


def scripted(question: str, turns: Sequence[Turn]) -> Call | None:
    """The agent without a model."""
    if not turns:
        return "find_tables", {"question": question}
    skeleton = turns[0].result.get("skeleton")
    return ("run_sql", {"sql": skeleton}) if skeleton and len(turns) == 1 else None


@dataclass(frozen=True, slots=True)
class Played:
    """The agent that a language model plays; a reply that is no call ends a question."""

    llm: LLM
    calls: int
    instructions: str
    tools: Sequence[Mapping[str, Any]]

    def __call__(self, question: str, turns: Sequence[Turn]) -> Call | None:
        if len(turns) >= self.calls:
            return None
        messages = read_prompt("agent", PROMPTS).fill(
            calls=str(self.calls),
            instructions=fenced(self.instructions),
            tools=fenced("\n".join(json.dumps(tool, ensure_ascii=False) for tool in self.tools)),
            question=question,
        )
        for turn in turns:
            call = {"tool": turn.tool, "arguments": turn.arguments}
            messages += (
                Message("assistant", json.dumps(call, ensure_ascii=False)),
                Message("user", turn.text),
            )
        reply = parse_json(self.llm.complete(messages).text)
        match reply:
            case {"tool": str(tool), "arguments": dict(arguments)}:
                return tool, arguments
        return None


def recorded(file: Path) -> Agent:
    """The agent that makes the calls of a recording, by the question and how many there were."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        calls = {row["question"]: row["calls"] for row in map(json.loads, lines)}

    def again(question: str, turns: Sequence[Turn]) -> Call | None:
        made = calls.get(question, [])
        return (made[len(turns)][0], made[len(turns)][1]) if len(turns) < len(made) else None

    return again


def save(courses: Sequence[Course], file: Path) -> None:
    """Keep the calls that were made, a line for each question."""
    with lzma.open(file, "wt", encoding="utf-8") as stream:
        for one in courses:
            calls = [(turn.tool, turn.arguments) for turn in one.turns]
            row = {"question": one.question, "calls": calls}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


async def played(
    asked: Pile, questions: Sequence[Asked], agent: Agent | LLM, calls: int
) -> tuple[int, list[Course], int]:
    """The tokens of the list of tools, what happened over each question, and how many wait."""
    words = ["-m", "dovetail", "mcp", "-C", str(asked.catalog)]
    server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
    courses, waiting = [], 0
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        once = sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools)
        shown = [tool.model_dump(include={"name", "description", "input_schema"}) for tool in tools]
        if not callable(agent):
            agent = Played(agent, calls, client.instructions or "", shown)
        for question in questions:
            try:
                courses.append(await _solve(client, asked, question, agent))
            except PendingError:
                waiting += 1
    return once // _CHARACTERS, courses, waiting


async def _solve(client: Client, asked: Pile, question: Asked, agent: Agent) -> Course:
    course = Course(question.text)
    while not course.rows and (call := agent(question.text, course.turns)):
        tool, arguments = call
        result = await client.call_tool(tool, dict(arguments))
        text = "".join(getattr(part, "text", "") for part in result.content)
        told = {} if result.is_error else result.structured_content or {}
        course.turns.append(Turn(tool, arguments, text, told))
        course.rows = tool == "run_sql" and bool(told.get("rows"))
    with dovetail.open(asked.catalog) as catalog:
        for turn in course.turns:
            if turn.tool == "find_tables":
                ids = [catalog[table["id"]].id for table in turn.result.get("tables", ())]
                course.told |= _accepted(asked, question, ids)
        if course.rows:
            read = catalog.sql(course.turns[-1].arguments["sql"]).tables
            course.solved = _accepted(asked, question, read)
    return course


def _accepted(asked: Pile, question: Asked, tables: Sequence[dovetail.TableId]) -> bool:
    names = asked.names.of_all(tables)
    return any(wanted <= names for wanted in question.accepted if wanted)


def drawn(questions: Sequence[Asked], wanted: int) -> list[Asked]:
    """So many of the questions that can be answered, evenly spread over the file."""
    able = [one for one in questions if one.answerable]
    wanted = min(wanted, len(able))
    return [able[at * len(able) // wanted] for at in range(wanted)]


def summary(courses: Sequence[Course], *, once: int, waiting: int) -> Mapping[str, int]:
    """The figures over all questions."""
    tokens = sorted(one.tokens for one in courses)
    return {
        "questions": len(courses),
        "waiting": waiting,
        "told": sum(one.told for one in courses),
        "rows": sum(one.rows for one in courses),
        "solved": sum(one.solved for one in courses),
        "calls_most": max(len(one.turns) for one in courses),
        "tokens_median": tokens[len(tokens) // 2],
        "tokens_most": tokens[-1],
        "once": once,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="agent", description=__doc__)
    parser.add_argument("piles", nargs="+", type=pile, help="sample, or FOLDER=CATALOG")
    parser.add_argument("--questions", type=int, default=10, help="how many of each pile [10]")
    parser.add_argument("--llm", help="the model that plays; without one, a script does")
    parser.add_argument("--recorded", type=Path, help="the calls that were kept, .jsonl.xz")
    parser.add_argument("--save", type=Path, help="keep the calls here, .jsonl.xz")
    parser.add_argument("--calls", type=int, default=3, help="how many calls it has [3]")
    parser.add_argument("-v", "--verbose", action="store_true", help="each question")
    options = parser.parse_args(arguments)
    agent: Agent | LLM = recorded(options.recorded) if options.recorded else scripted
    agent = open_llm(options.llm) if options.llm else agent
    courses: list[Course] = []
    once = waiting = 0
    for asked in options.piles:
        questions = drawn(asked.questions, options.questions)
        once, ended, left = asyncio.run(played(asked, questions, agent, options.calls))
        courses += ended
        waiting += left
    if not courses:
        print(f"{waiting} questions wait for replies")
        return
    if options.save:
        save(courses, options.save)
    if options.verbose:
        for one in courses:
            print(
                f"{len(one.turns)} {one.tokens:6,} {one.told:d}{one.rows:d}{one.solved:d}", end="  "
            )
            print(one.question)
    print(json.dumps(summary(courses, once=once, waiting=waiting)))


if __name__ == "__main__":
    main()
