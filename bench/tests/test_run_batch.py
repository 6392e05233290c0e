"""programs/run_batch.py: requests in, responses out, nothing twice; once with real weights."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import PendingError
from dovetail.plugins import open_llm
from dovetail.ports import Message
from dovetail_bench.programs.run_batch import (
    Prompt,
    Reply,
    answer_all,
    answered,
    batches,
    read_requests,
    response,
)

SCRIPT = Path(__file__).parents[1] / "src" / "dovetail_bench" / "programs" / "run_batch.py"


def prompts(*lengths: int, most: int = 10) -> list[Prompt]:
    return [Prompt(f"r{at}", tuple(range(length)), most) for at, length in enumerate(lengths)]


def shout(batch: Sequence[Prompt]) -> Iterator[tuple[Prompt, Reply]]:
    for prompt in batch:
        yield prompt, Reply(f"{len(prompt.tokens)}!", (1, 2), ended=True)


def test_what_dovetail_writes_down_is_read_and_what_is_written_is_a_reply(tmp_path: Path) -> None:
    """Both sides of the file format are real: the replay model asks, and reads its answer."""
    ask = [Message("system", "Be brief."), Message("user", "How many ü?")]
    with pytest.raises(PendingError):
        open_llm(f"replay:{tmp_path}").complete(ask, max_tokens=33)
    (request,) = read_requests(tmp_path / "requests.jsonl")
    assert request.most == 33
    assert [turn["content"] for turn in request.messages] == ["Be brief.", "How many ü?"]
    prompt = Prompt(request.id, (1, 2, 3), request.most)
    answer_all([prompt], shout, tmp_path / "responses.jsonl", model="m", budget=100)
    found = open_llm(f"replay:{tmp_path}").complete(ask, max_tokens=33)
    assert (found.text, found.tokens_in, found.tokens_out) == ("3!", 3, 2)


def test_a_response_is_one_of_the_batch_api() -> None:
    (prompt,) = prompts(4)
    line = response(prompt, Reply("SELECT", tuple(range(10)), ended=False), "qwen")
    assert (line["custom_id"], line["error"]) == ("r0", None)
    assert line["response"]["status_code"] == 200
    assert line["response"]["body"] == {
        "object": "chat.completion",
        "model": "qwen",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "SELECT"},
                "finish_reason": "length",
            }
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 10, "total_tokens": 14},
    }


def test_a_batch_is_of_like_length_and_within_the_budget() -> None:
    made = batches(prompts(6, 90, 5, 7), 120)
    assert [[prompt.id for prompt in batch] for batch in made] == [["r1"], ["r3", "r0", "r2"]]
    assert [len(batch) for batch in batches(prompts(*[6] * 13), 100)] == [6, 6, 1]
    assert [len(batch) for batch in batches(prompts(500), 100)] == [1]
    assert batches([], 100) == []


def test_what_is_answered_is_not_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "responses.jsonl"
    three = prompts(3, 2, 1)
    answer_all(three[:2], shout, file, model="m", budget=1)
    failed = {"custom_id": "r2", "response": {"status_code": 500, "body": {}}}
    with file.open("a") as stream:
        stream.write(json.dumps(failed) + "\n" + '{"custom_id": "r9", "resp')
    assert answered(file) == {"r0", "r1"}  # what failed or was torn off is asked again
    answer_all(three[2:], shout, file, model="m", budget=1)
    assert answered(file) == {"r0", "r1", "r2"}
    ids = [json.loads(line)["custom_id"] for line in file.read_text().splitlines()]
    assert ids == ["r0", "r1", "r2", "r2"]
    assert answered(tmp_path / "nothing") == set()


def test_replies_before_a_failure_are_kept(tmp_path: Path) -> None:
    def fail(batch: Sequence[Prompt]) -> Iterator[tuple[Prompt, Reply]]:
        for prompt, reply in shout(batch):
            if prompt.id == "r1":
                raise MemoryError
            yield prompt, reply

    with pytest.raises(MemoryError):
        answer_all(prompts(9, 5, 1), fail, tmp_path / "out", model="m", budget=1)
    assert answered(tmp_path / "out") == {"r0"}


def test_after_the_time_is_over_nothing_more_is_waited_for(tmp_path: Path) -> None:
    ticks = iter(range(100))
    done = answer_all(
        prompts(9, 8, 7, 6),
        shout,
        tmp_path / "out",
        model="m",
        budget=1,
        until=1.5,
        clock=lambda: float(next(ticks)),
    )
    assert (done, answered(tmp_path / "out")) == (2, {"r0", "r1"})


def test_a_request_that_is_there_twice_is_asked_once(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "?"}], "max_completion_tokens": 7}
    line = json.dumps({"custom_id": "a", "body": body}) + "\n"
    (tmp_path / "requests.jsonl").write_text(line + "\n" + line + line[:20])
    (request,) = read_requests(tmp_path / "requests.jsonl")
    assert (request.id, request.most) == ("a", 7)
    (request,) = read_requests(tmp_path / "requests.jsonl", most=5)
    assert request.most == 5


TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def write_weights(folder: Path) -> None:
    """A random model of a few thousand weights, with a tokenizer of single bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {sign: at for at, sign in enumerate([*alphabet, "<end>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>", chat_template=TEMPLATE
    )
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": len(vocabulary), "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 200, "eos_token_id": len(vocabulary) - 1,
    }  # fmt: skip
    Qwen2ForCausalLM(Qwen2Config(**sizes)).save_pretrained(folder)


WITH_WEIGHTS = pytest.mark.skipif(
    not (find_spec("transformers") and find_spec("torch")),
    reason="torch and transformers are not installed: no weights can be run",
)


def plain(weights: Path, content: str, most: int) -> list[int]:
    """The slow twin: what transformers itself generates greedily for one message alone."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(weights, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(weights)
    said = tokenizer(f"<user>{content}<assistant>", return_tensors="pt", add_special_tokens=False)
    out = model.generate(**said, do_sample=False, max_new_tokens=most)
    return [int(token) for token in out[0, said["input_ids"].shape[1] :]]


@WITH_WEIGHTS
@pytest.mark.parametrize("budget", [1, 300, 10_000])
def test_replies_are_those_of_transformers_itself(tmp_path: Path, budget: int) -> None:
    """Padding in front and other conversations beside it change no token."""
    from dovetail_bench.programs.run_batch import Request, Weights

    write_weights(tmp_path)
    weights = Weights(tmp_path, "cpu")
    beginning = "Here is a table, and here is a question about it, as ever: "
    texts = [beginning + "x" * (at % 5) + str(at) for at in range(9)] + ["short", "other"]
    asked = [
        weights.read(Request(str(at), ({"role": "user", "content": text},), 4 + 3 * at))
        for at, text in enumerate(texts)
    ]
    found = {}
    for batch in batches(asked, budget):
        for prompt, reply in weights.respond(batch):
            found[int(prompt.id)] = list(reply.tokens)
    assert found == {at: plain(tmp_path, text, 4 + 3 * at) for at, text in enumerate(texts)}


@WITH_WEIGHTS
def test_what_is_answered_or_too_long_is_not_asked_again_by_the_program(tmp_path: Path) -> None:
    write_weights(tmp_path / "weights")
    texts = ["a", "how many tables are there?", "x" * 60, "too long " * 40]
    lines = [
        json.dumps(
            {
                "custom_id": f"r{at}",
                "body": {"messages": [{"role": "user", "content": text}], "max_tokens": 5 + at},
            }
        )
        for at, text in enumerate(texts)
    ]
    (tmp_path / "requests.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "done").touch()
    command = [sys.executable, str(SCRIPT), str(tmp_path), "--model", str(tmp_path / "weights")]
    command += ["--device", "cpu", "--watch", "--seconds", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "0 answered before, 4 to go" in done.stdout
    assert "1 are too long for the model and stay unanswered" in done.stdout
    rows = map(json.loads, (tmp_path / "responses.jsonl").read_text().splitlines())
    found = {row["custom_id"]: row["response"]["body"]["usage"] for row in rows}
    assert set(found) == {"r0", "r1", "r2"}
    assert found["r0"]["prompt_tokens"] == len("<user>a<assistant>")
    assert 1 <= found["r0"]["completion_tokens"] <= 5
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "3 answered before, 1 to go" in done.stdout
