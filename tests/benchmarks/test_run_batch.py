"""benchmarks/run_batch.py: requests in, responses out, nothing twice; once with real weights."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from benchmarks.run_batch import (
    FIRST_TURN,
    Prompt,
    Reply,
    answer_all,
    answered,
    batches,
    read_requests,
    response,
)

from dovetail.errors import PendingError
from dovetail.plugins import open_llm
from dovetail.ports import Message

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "run_batch.py"


def prompts(*lengths: int, most: int = 10) -> list[Prompt]:
    return [Prompt(f"r{at}", tuple(range(length)), most) for at, length in enumerate(lengths)]


def shout(batch: Sequence[Prompt], turn: int) -> list[Reply]:
    assert turn > 0
    return [Reply(f"{len(prompt.tokens)}!", (1, 2), ended=True) for prompt in batch]


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


def test_batches_are_of_like_length_and_fit_the_budget() -> None:
    found = [[prompt.id for prompt in batch] for batch in batches(prompts(5, 90, 20, 500, 6), 100)]
    # With ten tokens of reply: 510 alone, 100 alone, then 30 + 16 + 15, padded to 3 x 30.
    assert found == [["r3"], ["r1"], ["r2", "r4", "r0"]]
    assert [len(batch) for batch in batches(prompts(*[6] * 13), 100)] == [6, 6, 1]
    assert list(batches([], 100)) == []


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


def test_batches_before_a_failure_are_kept(tmp_path: Path) -> None:
    def fail(batch: Sequence[Prompt], turn: int) -> list[Reply]:
        if batch[0].id == "r1":
            raise MemoryError
        return shout(batch, turn)

    with pytest.raises(MemoryError):
        answer_all(prompts(9, 5, 1), fail, tmp_path / "out", model="m", budget=1)
    assert answered(tmp_path / "out") == {"r0"}


def test_long_replies_are_gone_on_with_together_at_the_end(tmp_path: Path) -> None:
    """One of three ends early, one late, one never; each is written once, as a whole."""
    ends = {"r0": 3, "r1": FIRST_TURN + 50, "r2": 10**6}
    seen: list[list[tuple[str, int]]] = []

    def count(batch: Sequence[Prompt], turn: int) -> list[Reply]:
        seen.append([(prompt.id, len(prompt.written)) for prompt in batch])
        replies = []
        for prompt in batch:
            stop = min(len(prompt.written) + turn, prompt.most, ends[prompt.id])
            replies.append(Reply(str(stop), tuple(range(stop)), ended=stop == ends[prompt.id]))
        return replies

    file = tmp_path / "responses.jsonl"
    answer_all(prompts(3, 2, 1, most=1_000), count, file, model="m", budget=10**6)
    assert seen == [[("r0", 0), ("r1", 0), ("r2", 0)], [("r1", FIRST_TURN), ("r2", FIRST_TURN)]]
    bodies = [json.loads(line)["response"]["body"] for line in file.read_text().splitlines()]
    said = [
        (body["choices"][0]["finish_reason"], body["usage"]["completion_tokens"]) for body in bodies
    ]
    assert said == [("stop", 3), ("stop", FIRST_TURN + 50), ("length", 1_000)]


def test_a_request_that_is_there_twice_is_asked_once(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "?"}], "max_completion_tokens": 7}
    line = json.dumps({"custom_id": "a", "body": body}) + "\n"
    (tmp_path / "requests.jsonl").write_text(line + "\n" + line + line[:20])
    (request,) = read_requests(tmp_path / "requests.jsonl")
    assert (request.id, request.most) == ("a", 7)


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


@pytest.mark.skipif(
    not (find_spec("transformers") and find_spec("torch")),
    reason="torch and transformers are not installed: no weights can be run",
)
def test_real_weights_answer_the_same_alone_and_together(tmp_path: Path) -> None:
    """The slow twin answers one request at a time; padding must not change a word."""
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
    found = []
    for name, budget in (("alone", "1"), ("together", "4000")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "requests.jsonl").write_text("\n".join(lines) + "\n")
        command = [sys.executable, str(SCRIPT), str(folder), "--model", str(tmp_path / "weights")]
        command += ["--budget", budget, "--device", "cpu"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "0 answered before, 4 to go" in done.stdout
        assert "1 are too long for the model and stay unanswered" in done.stdout
        rows = map(json.loads, (folder / "responses.jsonl").read_text().splitlines())
        found.append({row["custom_id"]: row["response"]["body"] for row in rows})
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "3 answered before, 1 to go" in done.stdout
    assert found[0] == found[1]
    assert set(found[0]) == {"r0", "r1", "r2"}
    usage = found[0]["r0"]["usage"]
    assert usage["prompt_tokens"] == len("<user>a<assistant>")
    assert 1 <= usage["completion_tokens"] <= 5
