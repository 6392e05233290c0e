"""Have recorded requests answered by a model of your own, on a GPU or without.

    python run_batch.py FOLDER --model WEIGHTS [--budget TOKENS] [--limit N] [--device NAME]

FOLDER holds requests.jsonl, as `--llm replay:FOLDER` writes it or as OpenAI's Batch API takes it.
Replies are appended to responses.jsonl beside it; what is answered there is not asked again, so a
run that was killed goes on where it stopped. WEIGHTS is a folder as transformers saves it, or a
.gguf file (which needs the packages gguf and accelerate). Decoding is greedy, under the model's
chat template.

This file needs torch and transformers and nothing else, so that it can be copied to a machine with
a GPU by itself. A `response_format` is not enforced, as transformers has no means to.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

REQUESTS, RESPONSES = "requests.jsonl", "responses.jsonl"
DEFAULT_BUDGET = 65_536
DEFAULT_MOST = 1_024
# Most replies are shorter than this. Those that go on are gone on with together at the end, so that
# a batch does not wait for the longest reply in it.
FIRST_TURN = 192
_GROUPED = "grouped"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A conversation that is to be answered with at most so many tokens."""

    id: str
    messages: tuple[Json, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as the model reads it, with what it has written so far."""

    id: str
    tokens: tuple[int, ...]
    most: int
    written: tuple[int, ...] = ()

    @property
    def read(self) -> tuple[int, ...]:
        return self.tokens + self.written

    @property
    def left(self) -> int:
        return self.most - len(self.written)

    @property
    def length(self) -> int:
        return len(self.tokens) + self.most


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model wrote, its end included; `ended` says that it came to one by itself."""

    text: str
    tokens: tuple[int, ...]
    ended: bool


Respond = Callable[[Sequence[Prompt], int], list[Reply]]


def read_requests(file: Path) -> list[Request]:
    """The requests of a file, each id once; a line that was left unfinished is passed over."""
    found: dict[str, Request] = {}
    for row in _rows(file):
        body = row["body"]
        most = int(body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_MOST)
        found.setdefault(
            str(row["custom_id"]), Request(str(row["custom_id"]), tuple(body["messages"]), most)
        )
    return list(found.values())


def answered(file: Path) -> set[str]:
    """The ids that have a good reply; those that failed are asked again."""
    return {
        str(row["custom_id"])
        for row in _rows(file)
        if (row.get("response") or {}).get("status_code") == 200
    }


def batches(
    prompts: Sequence[Prompt], budget: int, turn: int = DEFAULT_MOST
) -> Iterator[list[Prompt]]:
    """Prompts of like length together, the longest first: what does not fit shows at once.

    A batch is filled up to `budget` tokens, prompts and padding and up to `turn` more tokens of
    reply counted; a prompt that is longer by itself is a batch of its own.
    """
    length = {prompt.id: len(prompt.read) + min(turn, prompt.left) for prompt in prompts}
    batch: list[Prompt] = []
    longest = 0
    for prompt in sorted(prompts, key=lambda prompt: (-length[prompt.id], prompt.id)):
        longest = max(longest, length[prompt.id])
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch, longest = [], length[prompt.id]
        batch.append(prompt)
    if batch:
        yield batch


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
    prompts: Sequence[Prompt], respond: Respond, into: Path, *, model: str, budget: int
) -> None:
    """Answer prompts batch by batch; a batch is on disk before the next one begins."""
    done, began = 0, time.monotonic()
    _cut_torn_line(into)
    with into.open("ab") as file:
        waiting = list(prompts)
        for turn in (FIRST_TURN, max((prompt.most for prompt in prompts), default=0)):
            unfinished: list[Prompt] = []
            for batch in batches(waiting, budget, turn):
                for prompt, reply in zip(batch, respond(batch, turn), strict=True):
                    if not reply.ended and len(reply.tokens) < prompt.most:
                        unfinished.append(replace(prompt, written=reply.tokens))
                        continue
                    line = json.dumps(response(prompt, reply, model), ensure_ascii=False)
                    file.write(line.encode() + b"\n")
                    done += 1
                file.flush()
                os.fsync(file.fileno())
                seconds = time.monotonic() - began
                print(f"{done} of {len(prompts)} answered, {seconds:.0f} s", flush=True)
            waiting = unfinished


def grouped_attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **given: Any
) -> tuple[Any, None]:
    """Attention as transformers has it, but one token more does not copy keys for every head.

    Where several heads share keys, the heads stand in for tokens: the keys, which are most of what
    a long prompt takes up, are then read once as they are.
    """
    from torch.nn.functional import scaled_dot_product_attention
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    groups = getattr(module, "num_key_value_groups", 1)
    batch, heads, tokens, width = query.shape
    if tokens > 1 or groups == 1:
        out, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **given)
        return out, None
    together = query.reshape(batch, heads // groups, groups, width)
    out = scaled_dot_product_attention(
        together, key, value, attn_mask=attention_mask, scale=given.get("scaling")
    )
    return out.reshape(batch, 1, heads, width), None


class Weights:
    """A causal language model of transformers, in half precision where there is a GPU."""

    def __init__(self, place: Path, device: str | None = None) -> None:
        import torch
        from transformers import (
            AttentionInterface,
            AttentionMaskInterface,
            AutoModelForCausalLM,
            AutoTokenizer,
        )
        from transformers.masking_utils import sdpa_mask

        AttentionInterface.register(_GROUPED, grouped_attention)
        AttentionMaskInterface.register(_GROUPED, sdpa_mask)
        if not place.exists():
            raise SystemExit(f"there are no weights at {place}")
        gguf = {"gguf_file": place.name} if place.suffix == ".gguf" else {}
        folder = str(place.parent if gguf else place)
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        precision = torch.float32 if self._device == "cpu" else torch.bfloat16
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **gguf)
        self._model = AutoModelForCausalLM.from_pretrained(
            folder,
            local_files_only=True,
            dtype=precision,
            attn_implementation=_GROUPED,
            **gguf,
        )
        self._model.to(self._device).eval()
        ends = self._model.generation_config.eos_token_id
        self._ends = set(ends if isinstance(ends, list) else [ends]) - {None}
        self._ends |= {self._tokenizer.eos_token_id} - {None}
        self.longest = int(getattr(self._model.config, "max_position_embeddings", 1 << 30))

    def read(self, request: Request) -> Prompt:
        """A request in the model's own words."""
        text = self._tokenizer.apply_chat_template(
            list(request.messages), tokenize=False, add_generation_prompt=True
        )
        tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return Prompt(request.id, tuple(tokens), request.most)

    def respond(self, batch: Sequence[Prompt], turn: int) -> list[Reply]:
        """Let a batch go on for so many tokens; one that does not fit into memory is halved."""
        try:
            return self._respond(batch, turn)
        except self._torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
        self._torch.cuda.empty_cache()
        half = len(batch) // 2
        return self.respond(batch[:half], turn) + self.respond(batch[half:], turn)

    def _respond(self, batch: Sequence[Prompt], turn: int) -> list[Reply]:
        torch = self._torch
        from transformers import GenerationConfig

        width = max(len(prompt.read) for prompt in batch)
        padding = min(self._ends) if self._ends else 0
        tokens = torch.full((len(batch), width), padding, dtype=torch.long)
        mask = torch.zeros((len(batch), width), dtype=torch.long)
        for row, prompt in enumerate(batch):  # on the left, so that all replies begin together
            tokens[row, width - len(prompt.read) :] = torch.tensor(prompt.read)
            mask[row, width - len(prompt.read) :] = 1
        # Weights may come with sampling and penalties of their own; greedy means none of them.
        greedy = GenerationConfig(
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            max_new_tokens=max(min(turn, prompt.left) for prompt in batch),
            eos_token_id=sorted(self._ends) or None,
            pad_token_id=padding,
            cache_implementation="static",
            disable_compile=True,
        )
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=tokens.to(self._device),
                attention_mask=mask.to(self._device),
                generation_config=greedy,
            )
        rows = out[:, width:].tolist()
        return [self._reply(prompt, row) for prompt, row in zip(batch, rows, strict=True)]

    def _reply(self, prompt: Prompt, tokens: Sequence[int]) -> Reply:
        """What was written up to its end, or as much of it as was asked for."""
        end = next((at for at, token in enumerate(tokens) if token in self._ends), None)
        ended = end is not None and end < prompt.left
        kept = tokens[: prompt.left] if end is None or not ended else tokens[: end + 1]
        written = (*prompt.written, *kept)
        text = self._tokenizer.decode(written, skip_special_tokens=True)
        return Reply(text, written, ended)


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


def main() -> None:
    """Answer what is not answered yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="a folder of weights, or a .gguf")
    parser.add_argument("--name", help="what replies call the model [the name of its weights]")
    parser.add_argument("--budget", type=int, default=DEFAULT_BUDGET, help="tokens in a batch")
    parser.add_argument("--limit", type=int, help="answer at most so many requests")
    parser.add_argument("--device", help="where the model runs [cuda where there is one]")
    given = parser.parse_args()
    into = given.folder / RESPONSES
    known = answered(into)
    missing = [each for each in read_requests(given.folder / REQUESTS) if each.id not in known]
    print(f"{len(known)} answered before, {len(missing)} to go", flush=True)
    if not missing:
        return
    weights = Weights(given.model, given.device)
    prompts = [weights.read(request) for request in missing[: given.limit]]
    fitting = [prompt for prompt in prompts if prompt.length <= weights.longest]
    if len(fitting) < len(prompts):
        print(f"{len(prompts) - len(fitting)} are too long for the model and stay unanswered")
    name = given.name or given.model.stem
    answer_all(fitting, weights.respond, into, model=name, budget=given.budget)


if __name__ == "__main__":
    main()
