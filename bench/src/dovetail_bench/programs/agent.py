"""What questions cost an agent over MCP: dovetail bench run agent sample FOLDER=CATALOG …

An agent that follows the server's instructions is played, the same each time and without a model:
it calls `find_tables` with the question, and `run_sql` with the skeleton that it is given. It
speaks to `dovetail mcp` as agents do, over standard input and output. Of each pile
(`asked_piles.py`) as many questions are asked as `--questions` says, evenly drawn from those that
can be answered. With `--phrases FILE` it also says what it is looking for: JSON, a list of phrases
by question.

Counted are calls and tokens, taken as a quarter of the characters of all arguments and results.
`tables` is how often all tables of an accepted set were told, `rows` how often the query then had
rows: what a model that mends the query begins with. `once` is the cost of the list of tools.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import dovetail
from dovetail_bench.programs.asked_piles import Pile, pile
from dovetail_bench.programs.company import Asked

_CHARACTERS = 4  # of a token, about


@dataclass(slots=True)
class Costs:
    """What one question took so far, and what came of it."""

    question: str
    calls: int = 0
    characters: int = 0
    tables: bool = False
    rows: bool = False

    @property
    def tokens(self) -> int:
        return self.characters // _CHARACTERS

    async def call(self, client: Client, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool; a complaint is a result without anything."""
        result = await client.call_tool(tool, arguments)
        self.calls += 1
        told = [getattr(part, "text", "") for part in result.content]
        self.characters += len(json.dumps(arguments, ensure_ascii=False)) + sum(map(len, told))
        return {} if result.is_error else result.structured_content or {}


async def played(
    asked: Pile, questions: Sequence[Asked], phrases: Mapping[str, list[str]]
) -> tuple[int, list[Costs]]:
    """The tokens of the list of tools, and what each question of a pile took."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "dovetail", "mcp", "-C", str(asked.catalog)]
    )
    async with Client(server) as client:
        tools = await client.list_tools()
        once = sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools.tools)
        costs = [await _solve(client, asked, one, phrases.get(one.text, [])) for one in questions]
    return once // _CHARACTERS, costs


async def _solve(client: Client, asked: Pile, question: Asked, looking_for: list[str]) -> Costs:
    costs = Costs(question.text)
    given = {"looking_for": looking_for} if looking_for else {}
    found = await costs.call(client, "find_tables", question=question.text, **given)
    told = [table["id"] for table in found.get("tables", ())]
    with dovetail.open(asked.catalog) as catalog:
        names = asked.names.of_all([catalog[table].id for table in told])
    costs.tables = any(wanted <= names for wanted in question.accepted if wanted)
    if skeleton := found.get("skeleton"):
        rows = await costs.call(client, "run_sql", sql=skeleton)
        costs.rows = bool(rows.get("rows"))
    return costs


def drawn(questions: Sequence[Asked], wanted: int) -> list[Asked]:
    """So many of the questions that can be answered, evenly spread over the file."""
    able = [one for one in questions if one.answerable]
    return [able[at * len(able) // wanted] for at in range(min(wanted, len(able)))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="agent", description=__doc__)
    parser.add_argument("piles", nargs="+", type=pile, help="sample, or FOLDER=CATALOG")
    parser.add_argument("--questions", type=int, default=10, help="how many of each pile")
    parser.add_argument("--phrases", type=Path, help="JSON: what to look for, by question")
    parser.add_argument("-v", "--verbose", action="store_true", help="each question")
    options = parser.parse_args()
    phrases = json.loads(options.phrases.read_text("utf-8")) if options.phrases else {}
    costs: list[Costs] = []
    once = 0
    for asked in options.piles:
        questions = drawn(asked.questions, options.questions)
        once, spent = asyncio.run(played(asked, questions, phrases))
        costs += spent
    if options.verbose:
        for one in costs:
            print(f"{one.calls} {one.tokens:6,} {one.tables:d} {one.rows:d}  {one.question}")
    tokens = sorted(one.tokens for one in costs)
    summary = {
        "questions": len(costs),
        "tables": sum(one.tables for one in costs),
        "rows": sum(one.rows for one in costs),
        "both": sum(one.tables and one.rows for one in costs),
        "calls_most": max(one.calls for one in costs),
        "tokens_median": tokens[len(tokens) // 2],
        "tokens_most": tokens[-1],
        "once": once,
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
