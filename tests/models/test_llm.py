"""Language models: an endpoint that behaves in every way there is, a real local model, a cache."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

import pytest

from dovetail.called_off import CALLED_OFF, never
from dovetail.errors import DovetailError, ModelError
from dovetail.models.cache import CachedLLM
from dovetail.models.chat import estimate_tokens, parse_json, request_key
from dovetail.models.endpoint import Patience, retry_after
from dovetail.models.openai import OpenAIEmbedder, OpenAILLM
from dovetail.plugins import open_llm
from dovetail.ports import Completion, Json, Message
from dovetail.testing import check_llm
from tests.support.endpoint import KEY, Endpoint, Play, endpoint, fails, says

HELLO = [Message("system", "Be brief."), Message("user", "Hello?")]
# An answer may take long on a busy machine, which is no reason to ask again; where none ever comes,
# less time is given.
PATIENT = Patience(attempts=4, attempt_seconds=30, deadline=90, first_wait=0.01, longest_wait=1.5)
HASTY = replace(PATIENT, attempt_seconds=1.5)
SHAPE = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def model(server: Endpoint, workers: int = 8, patience: Patience = PATIENT) -> OpenAILLM:
    return OpenAILLM("tiny", workers=workers, patience=patience, environ=server.environ)


def test_a_request_says_what_is_asked_and_a_reply_what_it_cost() -> None:
    with endpoint(says("Hi.", usage=(21, 3))) as server:
        reply = model(server).complete(HELLO, max_tokens=50)
    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.cached) == ("Hi.", 21, 3, False)
    assert reply.seconds > 0
    assert server.asked == [
        {
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello?"},
            ],
            "max_tokens": 50,
            "temperature": 0,
            "seed": 42,
        }
    ]
    assert server.keys == [f"Bearer {KEY}"]


def test_tokens_that_are_not_counted_are_estimated() -> None:
    with endpoint(says("Good morning, Anna!", usage=None)) as server:
        reply = model(server).complete(HELLO)
    assert (reply.tokens_in, reply.tokens_out) == (6, 6)


def test_a_shape_is_asked_for_once_and_then_no_more_where_it_is_not_supported() -> None:
    refusal = fails(400, "response_format of type json_schema is not supported")
    with endpoint(refusal, says('{"name": "a"}')) as server:
        llm = model(server)
        assert llm.complete(HELLO, schema=SHAPE).text == '{"name": "a"}'
        llm.complete(HELLO, schema=SHAPE)
    assert ["response_format" in body for body in server.asked] == [True, False, False]
    assert server.asked[0]["response_format"]["json_schema"]["schema"] == SHAPE


def test_a_model_with_other_parameters_is_asked_in_its_way() -> None:
    script = (
        fails(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        fails(400, "'temperature' does not support 0 with this model."),
        says("Hi."),
    )
    with endpoint(*script) as server:
        assert model(server).complete(HELLO, max_tokens=9).text == "Hi."
    assert sorted(server.asked[-1]) == ["max_completion_tokens", "messages", "model", "seed"]
    assert server.asked[-1]["max_completion_tokens"] == 9


@pytest.mark.parametrize(
    "trouble",
    [
        *(fails(status) for status in (408, 409, 429, 500, 502, 503)),
        Play(hangs=True),
        Play(drops=True, body=b'{"choices": []}'),
        Play(body=says("slow").body, between=0.1),
    ],
    ids=["408", "409", "429", "500", "502", "503", "hang", "drop", "drip"],
)
def test_what_may_pass_is_tried_again(trouble: Play) -> None:
    with endpoint(trouble, trouble, says("Hi.")) as server:
        patience = HASTY if trouble.hangs or trouble.between else PATIENT
        assert model(server, patience=patience).complete(HELLO).text == "Hi."
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("play", "words", "calls"),
    [
        (fails(500, "out of memory"), "fails (500: out of memory), 4 attempts", 4),
        (fails(429), "asks to slow down (429), 10 attempts", 10),
        (Play(hangs=True), "did not answer in time, 4 attempts", 4),
        (Play(drops=True, body=b"{}" * 9), "cannot be reached or hangs up, 4 attempts", 4),
        (fails(401, f"Incorrect key: {KEY}"), "refuses the key (401); check OPENAI_API_KEY", 1),
        (fails(403, "sk-not"), "refuses the key (403)", 1),
        (
            fails(404, "no model tiny"),
            "refuses the request (404: no model tiny); check the name",
            1,
        ),
        (fails(400, f"bad {KEY} and Bearer abc"), "(400: bad *** and ***)", 1),
        (Play(status=400, body=b"<html>" + b"x" * 5000), "…); the request is at fault", 1),
        (Play(body=b"<html>Welcome</html>"), "not JSON; check OPENAI_BASE_URL", 1),
        (Play(body=b"[1, 2]"), "not a chat completion", 1),
        (Play(body=b'{"choices": []}'), "not a chat completion", 1),
        (Play(body=b'{"choices": [{"message": {"content": 3}}]}'), "not a chat completion", 1),
        (Play(body=b'{"error": {"message": "overloaded"}}'), "an error: overloaded", 1),
        (Play(body=b'{"error": "for ' + KEY.encode() + b'"}'), "an error: for ***", 1),
        (Play(body=b"[" * 100_000), "not JSON", 1),
    ],
)
def test_what_does_not_pass_is_one_line(play: Play, words: str, calls: int) -> None:
    patience = HASTY if play.hangs else PATIENT
    with endpoint(play) as server, pytest.raises(ModelError) as caught:
        model(server, patience=patience).complete(HELLO)
    message = str(caught.value)
    assert words in message
    assert message.startswith(f"tiny at {server.url.split('/')[2]} ")
    assert KEY not in message
    assert "\n" not in message
    assert len(message) < 500
    assert caught.value.__cause__ is None
    assert len(server.asked) == calls


def test_nothing_listens() -> None:
    with endpoint(says("")) as server:
        pass
    with pytest.raises(ModelError, match=r"cannot be reached.*3 attempts.*check that it runs"):
        model(server).complete(HELLO)


def test_a_spent_budget_is_not_tried_again() -> None:
    body = {"error": {"message": "over quota", "code": "insufficient_quota"}}
    with (
        endpoint(Play(429, json.dumps(body).encode())) as server,
        pytest.raises(ModelError, match=r"429: over quota\); see your plan"),
    ):
        model(server).complete(HELLO)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"retry_after": "0.4"}, 0.4),
        ({"retry_after_ms": "300"}, 0.3),
        ({"retry_after": "3600"}, 1.5),  # capped at the longest wait, and within the deadline
        ({"retry_after": "soon"}, 0.005),
    ],
)
def test_a_server_is_left_alone_as_long_as_it_asks(header: dict[str, str], seconds: float) -> None:
    with endpoint(fails(429, **header), says("Hi.")) as server:
        assert model(server).complete(HELLO).text == "Hi."
    assert seconds <= server.times[1] - server.times[0]


@pytest.mark.parametrize("header", [{}, {"retry_after": "0"}, {"retry_after": "7"}], ids=str)
def test_a_server_that_is_busy_for_a_minute_is_waited_for(
    header: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("dovetail.models.endpoint.time", clock)

    def answer(_: Json) -> Play:
        return fails(429, **header) if clock.now < 60.0 else says("Hi.")

    with endpoint(answer) as server:
        assert model(server, patience=Patience()).complete(HELLO).text == "Hi."
    assert 60.0 <= clock.now < 130.0
    assert len(server.asked) <= 10


class Clock:
    """Time that passes while one sleeps, and only then."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_pause_holds_for_every_caller() -> None:
    with endpoint(fails(429, retry_after="0.6"), says("Hi.")) as server:
        llm = model(server)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(llm.complete, HELLO)
            time.sleep(0.3)
            second = pool.submit(llm.complete, HELLO)
            assert first.result().text == second.result().text == "Hi."
    assert min(server.times[1:]) - server.times[0] >= 0.6


def test_dates_to_wait_for() -> None:
    assert retry_after({"retry-after": formatdate(1030, usegmt=True)}, now=1000.0) == 30.0
    assert retry_after({"retry-after": formatdate(900, usegmt=True)}, now=1000.0) == 0.0
    for text in ("", "-3", "nan", "1e9", "Thu, 99 Foo", "9" * 40):
        assert retry_after({"retry-after": text}, now=0.0) is None


def test_waits_grow_and_end_with_the_deadline() -> None:
    patience = Patience(attempts=50, deadline=1.0, first_wait=0.1, longest_wait=0.4)
    with endpoint(fails(503)) as server, pytest.raises(ModelError, match=r"attempts in \d s; see"):
        model(server, patience=patience).complete(HELLO)
    waits = [after - before for before, after in pairwise(server.times)]
    assert 2 <= len(waits) <= 8
    assert sum(waits) < 2.0
    for wait, least in zip(waits, [0.05, 0.1, *[0.2] * 8], strict=False):
        assert wait >= least


def test_so_many_calls_at_once_and_no_more() -> None:
    with endpoint(says("Hi.", before=0.2)) as server:
        llm = model(server, workers=3)
        with ThreadPoolExecutor(6) as pool:
            assert [reply.text for reply in pool.map(llm.complete, [HELLO] * 6)] == ["Hi."] * 6
    assert server.most_at_once == 3


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "set OPENAI_API_KEY"),
        ({"OPENAI_BASE_URL": "localhost:8000", "OPENAI_API_KEY": KEY}, "is not a URL"),
        ({"OPENAI_BASE_URL": "http://[::1", "OPENAI_API_KEY": KEY}, "is not a URL"),
        ({"OPENAI_BASE_URL": f"http://me:{KEY}@host/v1"}, "a key belongs in OPENAI_API_KEY"),
        ({"OPENAI_BASE_URL": f"http://host/v1?key={KEY}"}, "a key belongs in OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": KEY + "\nX: y"}, "signs that no key has"),
        ({"OPENAI_API_KEY": KEY + "é"}, "signs that no key has"),
    ],
)
def test_a_wrong_environment_is_named_without_its_secrets(
    environ: dict[str, str], words: str
) -> None:
    with pytest.raises(DovetailError, match=words) as caught:
        OpenAILLM("tiny", workers=1, environ=environ)
    assert KEY not in str(caught.value)


def test_an_endpoint_without_a_key_gets_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with endpoint(says("Hi.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        llm = open_llm("openai:org/tiny:free")
        assert llm.complete(HELLO).text == "Hi."
    assert llm.model_id == "openai:org/tiny:free"
    assert server.keys == ["Bearer none"]
    assert server.asked[0]["model"] == "org/tiny:free"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt", "llm 'gpt' is not known; there are: local, openai"),
        ("", "llm '' is not known"),
        ("openai:", "needs the name of a model"),
        ("local:", "there is no model at (no path); name a GGUF file"),
    ],
)
def test_a_name_that_means_nothing_is_refused(name: str, words: str) -> None:
    with pytest.raises(DovetailError) as caught:
        open_llm(name)
    assert words in str(caught.value)


def test_no_client_is_loaded_before_a_model_is_opened() -> None:
    modules = "{'openai', 'httpx2', 'json_repair', 'xllamacpp'} & set(sys.modules)"
    code = f"import sys, dovetail.cli, dovetail.plugins, dovetail.models.cache; print({modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_no_workers_are_too_few() -> None:
    with pytest.raises(DovetailError, match="set llm_workers to 1 or more"):
        open_llm("openai:some", workers=0)


def test_the_contract_holds_for_an_endpoint() -> None:
    with endpoint(lambda body: says("word " * min(body["max_tokens"], 3))) as server:
        check_llm(lambda: model(server))


class Talking:
    """Says something else each time, unless it is asked no more."""

    model_id = "talking"

    def __init__(self) -> None:
        self.calls = 0

    def complete(
        self, messages: Sequence[Message], *, schema: Json | None = None, max_tokens: int = 1024
    ) -> Completion:
        del messages, schema, max_tokens
        self.calls += 1
        return Completion(f"reply {self.calls}", 10, 2, 1.25)


def test_the_contract_finds_what_breaks_it() -> None:
    shared = Talking()
    with pytest.raises(AssertionError, match="same words"):
        check_llm(lambda: shared)


def test_a_kept_reply_costs_what_it_once_cost(tmp_path: Path) -> None:
    inner = Talking()
    llm = CachedLLM(inner, tmp_path)
    fresh = llm.complete(HELLO)
    assert llm.model_id == "talking"
    assert fresh == Completion("reply 1", 10, 2, 1.25, cached=False)
    again = CachedLLM(inner, tmp_path).complete(HELLO)
    assert again == Completion("reply 1", 10, 2, 1.25, cached=True)
    others: list[Callable[[], Completion]] = [
        lambda: llm.complete([*HELLO, Message("user", "")]),
        lambda: llm.complete(HELLO, schema=SHAPE),
        lambda: llm.complete(HELLO, max_tokens=7),
    ]
    assert [ask().text for ask in others] == ["reply 2", "reply 3", "reply 4"]
    assert [ask().text for ask in others] == ["reply 2", "reply 3", "reply 4"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"text": 3}', b"\xff\xfe", b"{" * 9000])
def test_a_damaged_reply_is_asked_for_again(damage: bytes, tmp_path: Path) -> None:
    llm = CachedLLM(Talking(), tmp_path)
    llm.complete(HELLO)
    (file,) = tmp_path.glob("*/*.json")
    file.write_bytes(damage)
    assert llm.complete(HELLO) == Completion("reply 2", 10, 2, 1.25, cached=False)
    assert llm.complete(HELLO).text == "reply 2"


def test_a_folder_that_cannot_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    llm = CachedLLM(Talking(), tmp_path / "file" / "cache")
    assert [llm.complete(HELLO).text for _ in range(2)] == ["reply 1", "reply 2"]


def test_many_threads_share_a_cache(tmp_path: Path) -> None:
    asks = [[Message("user", str(number % 20))] for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(CachedLLM(Talking(), tmp_path).complete, asks))
    kept = [CachedLLM(Talking(), tmp_path).complete(ask) for ask in asks[:20]]
    assert all(reply.cached for reply in kept)
    assert len(list(tmp_path.rglob("*"))) == len(list(tmp_path.glob("*"))) + 20


def test_the_key_of_a_request_is_pinned() -> None:
    """Records made elsewhere are found by it: it may not change by accident."""
    assert request_key("m", HELLO, None, 5) == (
        "b584009d38d4e30c11b819598cc6905d05f716c124b27a27683023348ffe93a9"
    )
    assert request_key("m", [Message("user", "\ud800")], None, 5) == request_key(
        "m", [Message("user", "?")], None, 5
    )


@pytest.mark.slow
def test_a_real_model_runs_in_this_process(smollm: Path) -> None:
    llm = open_llm(f"local:{smollm}")
    assert llm.model_id.startswith("local:SmolLM2-135M-Instruct.Q4_1.gguf@")
    question = "What is the capital of France? Answer in one word."
    reply = llm.complete([Message("user", question)], max_tokens=8)
    assert "Paris" in reply.text
    assert reply.tokens_in == 42  # of which 30 are the template of the model
    assert estimate_tokens(question) == 13
    assert 1 <= reply.tokens_out <= 8
    again = llm.complete([Message("user", question)], max_tokens=8)
    assert (again.text, again.tokens_out) == (reply.text, reply.tokens_out)
    shaped = llm.complete([Message("user", "Name a city.")], schema=SHAPE, max_tokens=24)
    value = parse_json(shaped.text)
    assert isinstance(value, dict)
    assert isinstance(value["name"], str)


@pytest.mark.slow
def test_a_prompt_that_is_too_long_for_the_real_model_is_refused(smollm: Path) -> None:
    with pytest.raises(ModelError, match=r"SmolLM2.*exceeds the available context size"):
        open_llm(f"local:{smollm}").complete([Message("user", "many words " * 20_000)])


def test_files_that_are_no_models(tmp_path: Path, smollm: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no model at .*name a GGUF file"):
        open_llm(f"local:{tmp_path / 'absent.gguf'}")
    torn = tmp_path / "torn.gguf"
    torn.write_bytes(smollm.read_bytes()[:100_000])
    with pytest.raises(ModelError, match=r"cannot load .*torn.gguf; check"):
        open_llm(f"local:{torn}").complete(HELLO)


@pytest.mark.parametrize(
    "begins",
    [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 500 Oh\r\nContent-Length: 99999\r\n\r\n", b"HTTP/1.1 2"],
    ids=["headers", "error", "status"],
)
def test_who_drips_without_end_is_waited_for_until_the_deadline(begins: bytes) -> None:
    hung_up: SimpleQueue[bool] = SimpleQueue()

    def drip(taken: socket.socket) -> None:
        with suppress(OSError), taken:
            taken.recv(1 << 16)
            taken.sendall(begins)
            while True:
                taken.sendall(b"1")
                time.sleep(0.01)
        hung_up.put(True)

    def take() -> None:
        with suppress(OSError):
            while True:
                Thread(target=drip, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=take, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}
        patience = replace(HASTY, attempts=2, attempt_seconds=0.3)
        llm = OpenAILLM("tiny", workers=1, patience=patience, environ=environ)
        with pytest.raises(ModelError, match="did not answer in time, 2 attempts"):
            llm.complete(HELLO)
        assert [hung_up.get(), hung_up.get()] == [True, True]  # nothing is read any more


@pytest.mark.parametrize("play", [Play(hangs=True), fails(503, retry_after="3600")], ids=str)
def test_a_model_is_not_waited_for_by_who_has_gone(play: Play) -> None:
    patience = Patience(longest_wait=3_600, deadline=7_200)
    gone = Event()

    def ask() -> Completion:
        CALLED_OFF.set(gone.is_set)
        return llm.complete(HELLO)

    with endpoint(play) as server, ThreadPoolExecutor(3) as pool:
        llm = model(server, workers=1, patience=patience)
        asking = [pool.submit(copy_context().run, ask) for _ in range(3)]  # two wait for a turn
        while not server.asked:
            time.sleep(0.01)
        gone.set()
        for one in asking:
            with pytest.raises(ModelError, match="called off: whoever asked has gone"):
                one.result()
        assert len(server.asked) == 1


def test_embedders_end_with_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Event()
    CALLED_OFF.set(gone.is_set)
    with endpoint(Play(hangs=True)) as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        with ThreadPoolExecutor(1) as pool:
            embedder = OpenAIEmbedder("tiny", patience=Patience(attempts=1, attempt_seconds=3_600))
            asking = pool.submit(copy_context().run, embedder.embed_queries, ["a"])
            while not server.asked:
                time.sleep(0.01)
            gone.set()
            with pytest.raises(ModelError, match="called off"):
                asking.result()
    CALLED_OFF.set(never)


def test_a_forked_process_asks_on_a_loop_of_its_own() -> None:
    with endpoint(says("Hi.")) as server:
        llm = model(server)
        assert llm.complete(HELLO).text == "Hi."
        if (child := os.fork()) == 0:
            os._exit(0 if llm.complete(HELLO).text == "Hi." else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert len(server.asked) == 2
