"""How many tokens the two selection prompts have, and how far our estimate of tokens is off.

    dovetail bench run prompts DATA [DATA ...] [--k 10] [--limit 200] [--tokenizer FILE.gguf]

Prompts are those that `core-t` sends, system and user, less the marks of a chat template; replies
are written from the gold: the right tables, and no thoughts. Every corpus gives so many questions,
evenly spaced. Without a tokenizer all is by the estimator of `dovetail.models.chat`; each one that
is named (the vocabulary of a GGUF file, by llama.cpp) counts the same texts, and is what the
estimate is held against, also on prose and code of ours.
"""

from __future__ import annotations

import argparse
import json
import secrets
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.models.chat import estimate_tokens
from dovetail.ports import Completion, Json, Message
from dovetail.retrieve.core_t import CoreTRetriever
from dovetail.retrieve.core_t_options import CoreTOptions
from dovetail.retrieve.opening import searcher_of
from dovetail.retrieve.registry import FULL
from dovetail.retrieve.select_llm import FORMS, SelectOptions
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.questions import Question

ROOT = Path(__file__).resolve().parents[4]
ESTIMATE = "estimate"
# What the paper's selection takes, in and out, with Qwen2.5-7B.
PAPER = {"spider_dev": 5_800, "bird_dev": 8_100, "mmqa": 6_300, "beaver": 11_100}

Count = Callable[[str], int]


@dataclass
class Listener:
    """A model that keeps what it is asked and selects nothing."""

    model_id: str = "listener"
    asked: list[str] = field(default_factory=list)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 1024,
        logprobs: bool = False,
    ) -> Completion:
        del schema, max_tokens, logprobs
        self.asked.append("\n".join(message.content for message in messages))
        return Completion("", 0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt, and the reply that would be right."""

    prompt: str
    reply: str


def open_tokenizer(file: Path) -> Count:
    """The tokens of a text by the vocabulary in a GGUF file."""
    import xllamacpp

    key = secrets.token_hex(32)
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_parallel, params.verbosity, params.warmup = 256, 1, 0, False
    params.api_keys, params.cors_origins = [key], "http://localhost"
    server = xllamacpp.Server(params)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def count(text: str) -> int:
        body = {"content": text, "add_special": False, "parse_special": False}
        request = urllib.request.Request(
            f"{server.listening_address}/tokenize", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return len(json.load(response)["tokens"])

    return count


def asked_of(dataset: Dataset, form: str, k: int, limit: int) -> list[Asked]:
    """What a model would be sent and should reply, for questions from all over a corpus."""
    settings = Settings()
    searcher = searcher_of(dataset.catalog(settings), settings)
    listener = Listener()
    options = CoreTOptions(k, select=SelectOptions(form), adjustment="none")
    retriever = CoreTRetriever(searcher, listener, options)
    found = []
    for question in spaced(dataset.questions(), limit):
        retriever.retrieve(question.text)
        ranked = [one.id for one in searcher.search(question.text, k)]
        right = [ranked.index(table) + 1 for table in question.gold if table in ranked]
        found.append(Asked(listener.asked[-1], reply(form, right)))
    return found


def spaced(questions: Sequence[Question], limit: int) -> Sequence[Question]:
    """So many of the questions, evenly spaced: those of one database stand together."""
    count = min(limit, len(questions))
    return [questions[len(questions) * place // count] for place in range(count)]


def reply(form: str, tables: Sequence[int]) -> str:
    """The shortest reply of a prompt's shape that names some tables."""
    if form != FULL:
        return json.dumps({"tables": tables})
    group = {"group_index": 1, "table_indices": tables}
    return json.dumps({"thoughts": "", "groups": [group], "selected_group_index": 1})


def size_lines(name: str, texts: Mapping[str, Sequence[Asked]], counts: Mapping[str, Count]) -> str:
    """The rows of a corpus: a prompt, who counts, and the means."""
    lines = []
    for form, listed in texts.items():
        for counter, count in counts.items():
            into = sum(count(one.prompt) for one in listed) / len(listed)
            out = sum(count(one.reply) for one in listed) / len(listed)
            paper = f"1/{PAPER[name] / (into + out):.1f}" if name in PAPER else ""
            cells = (name, form, counter, f"{into:,.0f}", f"{out:.0f}", paper)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def error_lines(texts: Mapping[str, Sequence[str]], counts: Mapping[str, Count]) -> str:
    """By kind of text and tokenizer, the estimate as a share of the true count."""
    lines = []
    for kind, listed in texts.items():
        guess = sum(map(estimate_tokens, listed))
        shares = [
            f"{guess / sum(map(count, listed)):.2f}"
            for counter, count in counts.items()
            if counter != ESTIMATE
        ]
        lines.append(f"| {' | '.join([kind, str(len(listed)), *shares])} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--k", type=int, default=10, help="candidates")
    parser.add_argument("--limit", type=int, default=200, help="questions of each corpus")
    parser.add_argument("--tokenizer", type=Path, action="append", default=[], help="GGUF files")
    given = parser.parse_args(arguments)
    counts: dict[str, Count] = {ESTIMATE: estimate_tokens}
    counts |= {file.stem: open_tokenizer(file) for file in given.tokenizer}
    kinds: dict[str, list[str]] = {f"{form} prompts": [] for form in FORMS}
    print("| corpus | prompt | counted by | in | out | of the paper's |\n|---|---|---|---|---|---|")
    for data in given.data:
        dataset = open_dataset(data)
        texts = {form: asked_of(dataset, form, given.k, given.limit) for form in FORMS}
        print(size_lines(dataset.name, texts, counts), flush=True)
        for form, listed in texts.items():
            kinds[f"{form} prompts"] += [one.prompt for one in listed]
    if len(counts) == 1:
        return
    kinds["English prose"] = _read("docs/guide.md", "docs/architecture.md", "docs/joins.md")
    kinds["Python"] = _read("src/dovetail/retrieve/*.py")
    names = [name for name in counts if name != ESTIMATE]
    print(f"\n| estimate / true | texts | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    print(error_lines(kinds, counts))


def _read(*patterns: str) -> list[str]:
    files = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))]
    return [file.read_text("utf-8") for file in files]


if __name__ == "__main__":
    main()
