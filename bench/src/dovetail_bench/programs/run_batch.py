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

Requests are answered in the order of the file, a wave of them at a time. Within a wave those that
begin alike are answered together: what they have in common is read once, and a reply that ends
makes room for the next prompt, so that nothing is read twice and no reply waits for a longer one.

This file needs torch and transformers and nothing else, so that it can be copied to a machine with
a GPU by itself. A `response_format` is not enforced, as transformers has no means to.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

REQUESTS, RESPONSES, DONE = "requests.jsonl", "responses.jsonl", "done"
DEFAULT_MOST = 1_024
# Tokens that a cache holds, prompts and replies, and conversations in it at most.
BUDGET, BUDGET_ON_GPU, MOST_SLOTS = 65_536, 1 << 20, 256
WAVE = 8_192
# Prompts are of one kind if they begin with the same tokens; a common beginning shorter than this
# is not worth being read apart.
_KIND, _WORTH_SHARING = 24, 48
# Prompts of one kind stand in one cache if the longest has at most so many times the tokens of the
# shortest.
_LIKE = 2.0
# Prompts are read when this share of the slots is free, and so many tokens at a time.
_REFILL, _READ_AT_ONCE = 1 / 8, 1 << 17
_ALIGNED = 64
_SLOTTED = "slotted"
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


Respond = Callable[[Sequence[Prompt], int], Iterable[tuple[Prompt, Reply]]]
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


def groups(prompts: Sequence[Prompt]) -> list[list[Prompt]]:
    """Prompts that begin alike and are of like length, the longest first.

    The order of groups is that of their first prompts, so what was asked first is answered first.
    """
    kinds: dict[tuple[int, ...], list[Prompt]] = {}
    for prompt in prompts:
        kinds.setdefault(prompt.tokens[:_KIND], []).append(prompt)
    place = {prompt.id: at for at, prompt in enumerate(prompts)}
    found: list[list[Prompt]] = []
    for kind in kinds.values():
        longest = 0
        for prompt in sorted(kind, key=lambda one: (-one.length, one.id)):
            if longest > _LIKE * prompt.length or not longest:
                found.append([])
                longest = prompt.length
            found[-1].append(prompt)
    return sorted(found, key=lambda group: min(place[prompt.id] for prompt in group))


def common_beginning(prompts: Sequence[Prompt]) -> int:
    """How many tokens all prompts begin with; each has at least one token beyond them."""
    columns = zip(*(prompt.tokens[:-1] for prompt in prompts), strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def slots_for(group: Sequence[Prompt], budget: int) -> int:
    """How many conversations of a group go on side by side."""
    longest = max(prompt.length for prompt in group)
    return max(1, min(MOST_SLOTS, len(group), budget // longest))


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
    """Answer prompts group by group; a reply is on disk as soon as it has ended.

    After `until` no more is waited for: what has no reply by then stays unanswered. Returns how
    many were answered.
    """
    done, began = 0, clock()
    _cut_torn_line(into)
    with into.open("ab") as file:
        for group in groups(prompts):
            for prompt, reply in respond(group, slots_for(group, budget)):
                line = json.dumps(response(prompt, reply, model), ensure_ascii=False)
                file.write(line.encode() + b"\n")
                file.flush()
                done += 1
                if clock() > until:
                    return done
            os.fsync(file.fileno())
            print(f"{done} of {len(prompts)} answered, {clock() - began:.0f} s", flush=True)
    return done


class SlotCache:
    """Keys and values of conversations side by side; the column of a token is its position.

    The model calls `update` for each layer. While prompts are read, `slots` says where they go and
    `shared` holds the keys and values that all begin with; while replies are written, `slots` is
    None and `positions` says where each conversation stands.
    """

    def __init__(self, torch: Any, slots: int, width: int) -> None:
        self._torch = torch
        self._size = slots, -(-width // _ALIGNED) * _ALIGNED
        self._keys: list[Any] = []
        self._values: list[Any] = []
        self.shared: list[tuple[Any, Any]] = []
        self.slots: Any = None
        self.positions: Any = None
        self.width = 0

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        return 0  # positions are always told

    def update(self, key: Any, value: Any, layer: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        if self.slots is None and self.positions is None:  # the common beginning, read by itself
            self.shared.append((key, value))
            return key, value
        if layer == len(self._keys):
            shape = (self._size[0], key.shape[1], self._size[1], key.shape[3])
            self._keys.append(key.new_zeros(shape))
            self._values.append(value.new_zeros(shape))
        keys, values = self._keys[layer], self._values[layer]
        if self.slots is None:
            at = self._torch.arange(len(keys), device=key.device)
            keys[at, :, self.positions] = key[:, :, 0]
            values[at, :, self.positions] = value[:, :, 0]
            return keys[:, :, : self.width], values[:, :, : self.width]
        if self.shared:
            rows = len(self.slots), -1, -1, -1
            begun = (part.expand(rows) for part in self.shared[layer])
            key, value = (
                self._torch.cat(pair, 2) for pair in zip(begun, (key, value), strict=True)
            )
        keys[self.slots, :, : key.shape[2]] = key
        values[self.slots, :, : value.shape[2]] = value
        return key, value

    def keep(self, slots: Any) -> None:
        """Give the other slots up."""
        self._keys = [keys[slots] for keys in self._keys]
        self._values = [values[slots] for values in self._values]


@dataclass(slots=True)
class _Row:
    """A conversation in its slot, and what was written so far."""

    prompt: Prompt
    written: list[int] = field(default_factory=list)

    def over(self, ends: set[int]) -> bool:
        return self.written[-1] in ends or len(self.written) >= self.prompt.most


class Weights:
    """A causal language model of transformers, in half precision where there is a GPU."""

    def __init__(
        self, place: Path, device: str | None = None, tokenizer: Path | None = None
    ) -> None:
        import torch
        from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer

        if not place.exists():
            raise SystemExit(f"there are no weights at {place}")
        AttentionInterface.register(_SLOTTED, self._attention)
        gguf = {"gguf_file": place.name} if place.suffix == ".gguf" else {}
        folder = str(place.parent if gguf else place)
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.budget = BUDGET if self._device == "cpu" else BUDGET_ON_GPU
        precision = torch.float32 if self._device == "cpu" else torch.bfloat16
        saved = (str(tokenizer), {}) if tokenizer else (folder, gguf)
        self._tokenizer = AutoTokenizer.from_pretrained(saved[0], local_files_only=True, **saved[1])
        model = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=precision, **gguf
        )
        model.set_attn_implementation(_SLOTTED)
        self._model = model.to(self._device).eval()
        ends = model.generation_config.eos_token_id
        self._ends = set(ends if isinstance(ends, list) else [ends]) - {None}
        self._ends |= {self._tokenizer.eos_token_id} - {None}
        self.longest = int(getattr(model.config, "max_position_embeddings", 1 << 30))
        self._mask: Any = None

    def read(self, request: Request) -> Prompt:
        """A request in the model's own words."""
        text = self._tokenizer.apply_chat_template(
            list(request.messages), tokenize=False, add_generation_prompt=True
        )
        tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return Prompt(request.id, tuple(tokens), request.most)

    def respond(self, group: Sequence[Prompt], slots: int) -> Iterator[tuple[Prompt, Reply]]:
        """Answer prompts, so many side by side; where they do not fit into memory, half as many."""
        waiting = {prompt.id: prompt for prompt in group}
        while waiting:
            try:
                for row in self._decode(list(waiting.values()), slots):
                    del waiting[row.prompt.id]
                    yield row.prompt, self._reply(row)
            except self._torch.OutOfMemoryError:
                if slots == 1:
                    raise
                slots //= 2
                self._torch.cuda.empty_cache()

    def _decode(self, group: Sequence[Prompt], slots: int) -> Iterator[_Row]:
        """The conversations of a group as they end."""
        shared = common_beginning(group)
        if len(group) < 2 or shared < _WORTH_SHARING:
            shared = 0
        cache = SlotCache(self._torch, slots, max(prompt.length for prompt in group))
        if shared:
            self._run(cache, [group[0].tokens[:shared]], 0)
        waiting = deque(group)
        rows: list[_Row | None] = [None] * slots
        while waiting or any(rows):
            free = [slot for slot, row in enumerate(rows) if row is None]
            if waiting and len(free) >= max(1, _REFILL * len(rows)):
                fresh = {slot: waiting.popleft() for slot in free[: len(waiting)]}
                for slot, row in self._begin(cache, fresh, shared):
                    rows[slot] = row
            else:
                self._go_on(cache, rows)
            for slot, current in enumerate(rows):
                if current and current.over(self._ends):
                    yield current
                    rows[slot] = None
            live = [slot for slot, row in enumerate(rows) if row]
            if not waiting and live and len(live) <= len(rows) // 2:
                with self._torch.inference_mode():
                    cache.keep(self._torch.tensor(live, device=self._device))
                rows = [rows[slot] for slot in live]

    def _begin(
        self, cache: SlotCache, fresh: dict[int, Prompt], shared: int
    ) -> Iterator[tuple[int, _Row]]:
        """Read prompts into their slots and write the first token of each reply."""
        slots = list(fresh)
        widest = max(len(prompt.tokens) for prompt in fresh.values()) - shared
        at_once = max(1, min(_READ_AT_ONCE, self.budget) // widest)
        for start in range(0, len(slots), at_once):
            part = slots[start : start + at_once]
            cache.slots = self._torch.tensor(part, device=self._device)
            tokens = self._run(cache, [fresh[slot].tokens[shared:] for slot in part], shared)
            for slot, token in zip(part, tokens, strict=True):
                yield slot, _Row(fresh[slot], [token])
        cache.slots = None

    def _go_on(self, cache: SlotCache, rows: Sequence[_Row | None]) -> None:
        """Write one more token of every reply; slots that are free write into nothing."""
        torch = self._torch
        at = [len(row.prompt.tokens) + len(row.written) - 1 if row else 0 for row in rows]
        cache.positions = torch.tensor(at, device=self._device)
        cache.width = -(-(max(at) + 1) // _ALIGNED) * _ALIGNED
        columns = torch.arange(cache.width, device=self._device)
        self._mask = (columns <= cache.positions[:, None])[:, None, None]
        last = torch.tensor([[row.written[-1] if row else 0] for row in rows])
        tokens = self._forward(cache, last, cache.positions[:, None], torch.zeros(len(rows)))
        cache.positions, self._mask = None, None
        for row, token in zip(rows, tokens, strict=True):
            if row:
                row.written.append(token)

    def _run(self, cache: SlotCache, texts: Sequence[Sequence[int]], shared: int) -> list[int]:
        """Read texts that follow `shared` tokens; padding stands behind, where nobody looks."""
        torch = self._torch
        width = max(map(len, texts))
        tokens = torch.zeros((len(texts), width), dtype=torch.long)
        for row, text in enumerate(texts):
            tokens[row, : len(text)] = torch.tensor(text)
        positions = torch.arange(shared, shared + width, device=self._device)
        columns = torch.arange(shared + width, device=self._device)
        self._mask = (columns <= positions[:, None])[None, None] if shared else None
        last = torch.tensor([len(text) - 1 for text in texts])
        return self._forward(cache, tokens, positions.expand(len(texts), -1), last)

    def _forward(self, cache: SlotCache, tokens: Any, positions: Any, last: Any) -> list[int]:
        """The likeliest token after the `last` one of each row."""
        torch = self._torch
        with torch.inference_mode():
            found = self._model.get_decoder()(
                input_ids=tokens.to(self._device),
                # Any mask of four dimensions is handed through; `_attention` knows the right one.
                attention_mask=torch.zeros((1, 1, 1, 1), device=self._device),
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
            ).last_hidden_state
            rows = torch.arange(len(tokens), device=self._device)
            ends = found[rows, last.long().to(self._device)]
            likeliest: list[int] = self._model.get_output_embeddings()(ends).argmax(-1).tolist()
        return likeliest

    def _attention(
        self, module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **given: Any
    ) -> tuple[Any, None]:
        """Attention as transformers has it, but one token more does not copy keys for every head.

        Where several heads share keys, the heads stand in for tokens: the keys, which are most of
        what a long prompt takes up, are then read once as they are.
        """
        from torch.nn.functional import scaled_dot_product_attention
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        del attention_mask
        batch, heads, tokens, width = query.shape
        shared = getattr(module, "num_key_value_groups", 1)
        if tokens > 1 or shared == 1:
            out, _ = sdpa_attention_forward(module, query, key, value, self._mask, **given)
            return out, None
        together = query.reshape(batch, heads // shared, shared, width)
        out = scaled_dot_product_attention(
            together, key, value, attn_mask=self._mask, scale=given.get("scaling")
        )
        return out.reshape(batch, 1, heads, width), None

    def _reply(self, row: _Row) -> Reply:
        text = self._tokenizer.decode(row.written, skip_special_tokens=True)
        return Reply(text, tuple(row.written), row.written[-1] in self._ends)


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
