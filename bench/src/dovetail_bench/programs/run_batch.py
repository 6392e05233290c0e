"""Have recorded requests answered by a model of your own, on a GPU or without.

    python run_batch.py FOLDER --model WEIGHTS [--watch] [--seconds N] [--most N] [--budget TOKENS]
        [--tokenizer FOLDER]

FOLDER holds requests.jsonl, as `--llm replay:FOLDER` writes it or as OpenAI's Batch API takes it.
Replies are appended to responses.jsonl beside it as they end; what is answered there is not asked
again, so a run that was killed goes on where it stopped. WEIGHTS is a folder as transformers saves
it, or a .gguf file (which needs the packages gguf and accelerate; its tokenizer is made anew in
about half a minute, unless --tokenizer names a folder with a saved one). Decoding is greedy, under
the model's chat template. With --watch the weights stay loaded and new requests are answered as
they come, until the file `done` stands in FOLDER or the seconds are over.

Requests are answered in the order of the file, a wave of them at a time; within a wave, those of
like length side by side. An endpoint that takes batches answers the same files faster.

This file needs torch and transformers and nothing else, so that it can be copied to a machine with
a GPU by itself. A `response_format` is not enforced, as transformers has no means to.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUESTS, RESPONSES, DONE = "requests.jsonl", "responses.jsonl", "done"
DEFAULT_MOST = 1_024
# Tokens of a batch, prompts and replies, and conversations in it at most.
BUDGET, BUDGET_ON_GPU, MOST_ROWS = 65_536, 1 << 20, 256
WAVE = 2_048
_PAUSE = 0.5

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A conversation that is to be answered with at most so many tokens."""

    id: str
    messages: tuple[Json, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as the model reads it."""

    id: str
    tokens: tuple[int, ...]
    most: int

    @property
    def length(self) -> int:
        return len(self.tokens) + self.most


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model wrote, its end included; `ended` says that it came to one by itself."""

    text: str
    tokens: tuple[int, ...]
    ended: bool


Respond = Callable[[Sequence[Prompt]], Iterable[tuple[Prompt, Reply]]]
Clock = Callable[[], float]


def read_requests(file: Path, most: int | None = None) -> list[Request]:
    """The requests of a file, each id once; a line that was left unfinished is passed over."""
    found: dict[str, Request] = {}
    for row in _rows(file):
        body = row["body"]
        wanted = int(body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_MOST)
        request = Request(
            str(row["custom_id"]), tuple(body["messages"]), min(wanted, most or wanted)
        )
        found.setdefault(request.id, request)
    return list(found.values())


def answered(file: Path) -> set[str]:
    """The ids that have a good reply; those that failed are asked again."""
    return {
        str(row["custom_id"])
        for row in _rows(file)
        if (row.get("response") or {}).get("status_code") == 200
    }


def batches(prompts: Sequence[Prompt], budget: int) -> list[list[Prompt]]:
    """Prompts of like length side by side, the longest first, as many as the budget allows."""
    made: list[list[Prompt]] = []
    for prompt in sorted(prompts, key=lambda one: (-one.length, one.id)):
        rows = min(MOST_ROWS, budget // made[-1][0].length) if made else 0
        if not made or len(made[-1]) >= rows:
            made.append([])
        made[-1].append(prompt)
    return made


def response(prompt: Prompt, reply: Reply, model: str) -> Json:
    """A line of responses.jsonl, as OpenAI's Batch API gives it."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": reply.text},
        "finish_reason": "stop" if reply.ended else "length",
    }
    usage = {
        "prompt_tokens": len(prompt.tokens),
        "completion_tokens": len(reply.tokens),
        "total_tokens": len(prompt.tokens) + len(reply.tokens),
    }
    body = {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
    return {
        "id": f"batch_req_{prompt.id}",
        "custom_id": prompt.id,
        "response": {"status_code": 200, "request_id": prompt.id, "body": body},
        "error": None,
    }


def answer_all(
    prompts: Sequence[Prompt],
    respond: Respond,
    into: Path,
    *,
    model: str,
    budget: int,
    until: float = float("inf"),
    clock: Clock = time.monotonic,
) -> int:
    """Answer prompts batch by batch; the replies of a batch are on disk when it ends.

    After `until` no more is waited for: what has no reply by then stays unanswered. Returns how
    many were answered.
    """
    done, began = 0, clock()
    _cut_torn_line(into)
    with into.open("ab") as file:
        for batch in batches(prompts, budget):
            for prompt, reply in respond(batch):
                line = json.dumps(response(prompt, reply, model), ensure_ascii=False)
                file.write(line.encode() + b"\n")
                file.flush()
                done += 1
                if clock() > until:
                    return done
            os.fsync(file.fileno())
            print(f"{done} of {len(prompts)} answered, {clock() - began:.0f} s", flush=True)
    return done


class Weights:
    """A causal language model of transformers, in half precision where there is a GPU."""

    def __init__(
        self, path: Path, device: str | None = None, tokenizer: Path | None = None
    ) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if not path.exists():
            raise SystemExit(f"there are no weights at {path}")
        gguf = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
        folder = str(path.parent if gguf else path)
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.budget = BUDGET if self._device == "cpu" else BUDGET_ON_GPU
        precision = torch.float32 if self._device == "cpu" else torch.bfloat16
        saved = (str(tokenizer), {}) if tokenizer else (folder, gguf)
        self._tokenizer = AutoTokenizer.from_pretrained(saved[0], local_files_only=True, **saved[1])
        model = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=precision, **gguf
        )
        self._model = model.to(self._device).eval()
        ends = model.generation_config.eos_token_id
        self._ends = set(ends if isinstance(ends, list) else [ends]) - {None}
        self._ends |= {self._tokenizer.eos_token_id} - {None}
        self.longest = int(getattr(model.config, "max_position_embeddings", 1 << 30))

    def read(self, request: Request) -> Prompt:
        """A request in the model's own words."""
        text = self._tokenizer.apply_chat_template(
            list(request.messages), tokenize=False, add_generation_prompt=True
        )
        tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return Prompt(request.id, tuple(tokens), request.most)

    def respond(self, batch: Sequence[Prompt]) -> Iterator[tuple[Prompt, Reply]]:
        """Answer prompts side by side; half as many where they do not fit into memory."""
        try:
            written = self._generate(batch)
        except self._torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            self._torch.cuda.empty_cache()
            half = len(batch) // 2
            yield from self.respond(batch[:half])
            yield from self.respond(batch[half:])
            return
        for prompt, tokens in zip(batch, written, strict=True):
            yield prompt, self._reply(prompt, tokens)

    def _generate(self, batch: Sequence[Prompt]) -> list[list[int]]:
        """What the model writes greedily after each prompt, padded in front to one length."""
        torch = self._torch
        width = max(len(prompt.tokens) for prompt in batch)
        tokens = torch.zeros((len(batch), width), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, prompt in enumerate(batch):
            tokens[row, width - len(prompt.tokens) :] = torch.tensor(prompt.tokens)
            mask[row, width - len(prompt.tokens) :] = 1
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=tokens.to(self._device),
                attention_mask=mask.to(self._device),
                max_new_tokens=max(prompt.most for prompt in batch),
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                eos_token_id=sorted(self._ends),
                pad_token_id=min(self._ends, default=0),
            )
        written: list[list[int]] = out[:, width:].tolist()
        return written

    def _reply(self, prompt: Prompt, written: Sequence[int]) -> Reply:
        """What was written, to its end or to the most tokens that were asked for."""
        kept = list(written[: prompt.most])
        end = next((at for at, token in enumerate(kept) if token in self._ends), None)
        kept = kept if end is None else kept[: end + 1]
        text = self._tokenizer.decode(kept, skip_special_tokens=True)
        return Reply(text, tuple(kept), end is not None)


def _rows(file: Path) -> Iterator[Json]:
    if not file.exists():
        return
    raw = file.read_bytes()
    for line in raw[: raw.rfind(b"\n") + 1].splitlines():
        if line.strip():
            yield json.loads(line)


def _cut_torn_line(file: Path) -> None:
    if file.exists():
        os.truncate(file, file.read_bytes().rfind(b"\n") + 1)


def _missing(given: argparse.Namespace, too_long: set[str]) -> list[Request]:
    known = answered(given.folder / RESPONSES) | too_long
    asked = read_requests(given.folder / REQUESTS, given.most)
    return [request for request in asked if request.id not in known][: given.limit]


def serve(given: argparse.Namespace, weights: Weights, until: float) -> None:
    """Answer what is not answered yet, wave by wave; with --watch, also what comes later."""
    too_long: set[str] = set()
    while time.monotonic() < until:
        missing = _missing(given, too_long)
        if not missing:
            if not given.watch or (given.folder / DONE).exists():
                return
            time.sleep(_PAUSE)
            continue
        prompts = [weights.read(request) for request in missing[: given.wave]]
        fitting = [prompt for prompt in prompts if prompt.length <= weights.longest]
        unfit = {prompt.id for prompt in prompts if prompt.length > weights.longest}
        if unfit:
            print(f"{len(unfit)} are too long for the model and stay unanswered", flush=True)
        too_long |= unfit
        answer_all(
            fitting,
            weights.respond,
            given.folder / RESPONSES,
            model=given.name or given.model.stem,
            budget=weights.budget,
            until=until,
        )
        if given.limit:
            return


def main() -> None:
    """Load the weights, unless nothing is asked, and answer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="a folder of weights, or a .gguf")
    parser.add_argument("--name", help="what replies call the model [the name of its weights]")
    parser.add_argument("--watch", action="store_true", help="go on with what is asked later")
    parser.add_argument("--seconds", type=float, help="stop after so many, answered or not")
    parser.add_argument("--most", type=int, help="no reply has more tokens, whatever was asked for")
    parser.add_argument("--budget", type=int, help="tokens in the cache")
    parser.add_argument("--tokenizer", type=Path, help="a folder [the one of the weights]")
    parser.add_argument("--wave", type=int, default=WAVE, help="requests taken up at a time")
    parser.add_argument("--limit", type=int, help="answer at most so many requests")
    parser.add_argument("--device", help="where the model runs [cuda where there is one]")
    given = parser.parse_args()
    until = time.monotonic() + (given.seconds or float("inf"))
    known, missing = answered(given.folder / RESPONSES), _missing(given, set())
    print(f"{len(known)} answered before, {len(missing)} to go", flush=True)
    if missing or given.watch:
        weights = Weights(given.model, given.device, given.tokenizer)
        weights.budget = given.budget or weights.budget
        serve(given, weights, until)


if __name__ == "__main__":
    main()
