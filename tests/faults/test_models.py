"""A language model on a bad day: a question has its tables all the same, what was described stays,
and a reply of no use is never served again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dovetail
from dovetail.errors import ModelError, QueryError
from dovetail.models.cache import CachedLLM
from dovetail.models.endpoint import Patience
from dovetail.models.openai import OpenAILLM
from dovetail.settings import Settings
from tests.offline.test_describe import about, asked_about, make, written
from tests.support.command_line import run
from tests.support.endpoint import Answer, Endpoint, Play, endpoint, fails, says
from tests.support.scripted import write_shop

# A catalog without vectors is asked without them.
PLAIN = {"DOVETAIL_EMBEDDER": "none"}
QUESTION = "Which customers in Turin ordered product 7003?"
HASTY = Patience(attempts=2, attempt_seconds=0.3, deadline=90, first_wait=0.01)
PATIENT = Patience(attempts=2, attempt_seconds=30, deadline=90, first_wait=0.01)
LOOK = says('{"look_for": ["customers by town"]}')
CHOICE = says('{"tables": [1], "missing": "", "sure": 0.9}')
LACKING = says('{"tables": [1], "missing": "suppliers", "sure": 0.9}')
# What the endpoint does, and what the set says of it.
TROUBLE = {
    "hangs": (Play(hangs=True), "did not answer in time"),
    "half": (Play(body=CHOICE.body, drops=True), "hangs up"),
    "slow": (fails(429, retry_after="0"), "asks to slow down (429)"),
    "broken": (fails(500, "out of memory"), "fails (500: out of memory)"),
    "locked": (fails(401), "refuses the key (401)"),
    "elsewhere": (Play(body=b"<html>Welcome</html>"), "not JSON"),
    "error": (Play(body=b'{"error": {"message": "overloaded"}}'), "an error: overloaded"),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    folder = tmp_path_factory.mktemp("bad_days")
    source = f"shop={write_shop(folder / 'shop.sqlite')}"
    return dovetail.build(source, into=folder / "catalog", settings=Settings(embedder="none"))


@contextmanager
def serving(folder: Path, *script: Answer) -> Iterator[tuple[Endpoint, CachedLLM]]:
    """An endpoint that plays a script, and a model there whose replies are cached."""
    hasty = any(isinstance(play, Play) and play.hangs for play in script)
    patience = HASTY if hasty else PATIENT
    with endpoint(*script) as server:
        llm = OpenAILLM("tiny", workers=1, patience=patience, environ=server.environ)
        yield server, CachedLLM(llm, folder)


@pytest.mark.parametrize("answered", [0, 1], ids=["look", "choose"])
@pytest.mark.parametrize("name", TROUBLE)
def test_without_its_model_a_question_has_the_set_without_one(
    shop: dovetail.Catalog, tmp_path: Path, name: str, answered: int
) -> None:
    play, words = TROUBLE[name]
    with serving(tmp_path, *[LOOK][:answered], play) as (server, llm):
        found = shop.ask(QUESTION, selector="llm", llm=llm)
    expected = shop.ask(QUESTION, selector="graph")
    assert (found.ids, found.joins) == (expected.ids, expected.joins)
    assert found.confidence == expected.confidence
    told = [one for one in found.to_dict()["warnings"] if one not in expected.warnings]
    assert len(told) == 1
    assert words in told[0]
    assert told[0].endswith("; chosen without a model")
    stages = [entry for entry in found.trace if entry["fallback"]]
    assert [entry["stage"] for entry in stages] == [("look", "select")[answered]]
    least = HASTY.attempts_when_busy if name == "slow" else HASTY.attempts
    assert len(server.asked) <= answered + least, "the next call is not tried where one fails"


def test_where_nothing_fits_it_is_told_that_no_model_was_asked(tmp_path: Path) -> None:
    write_shop(tmp_path / "shop.sqlite")
    strict = Settings(embedder="none", refuse_below=1.0)
    shop = dovetail.build(tmp_path / "shop.sqlite", into=tmp_path / "catalog", settings=strict)
    with serving(tmp_path, fails(401)) as (_, llm):
        found = shop.ask("zzzz qqqq", selector="llm", llm=llm)
    assert not found
    assert "refuses the key (401)" in found.warnings[-1]


def test_the_first_choice_stays_where_the_model_does_not_choose_again(
    shop: dovetail.Catalog, tmp_path: Path
) -> None:
    with serving(tmp_path, LOOK, LACKING, fails(500)) as (_, llm):
        found = shop.ask(QUESTION, selector="llm", llm=llm)
    assert [one.reason[:35] for one in found.tables] == ["selected by the model, candidate 1;"]
    assert found.uncovered == ("suppliers",)
    assert any(one.endswith("; the model did not choose again") for one in found.warnings)


def test_the_command_tells_the_tables_and_what_the_model_did(
    shop: dovetail.Catalog, tmp_path: Path
) -> None:
    asked = ("ask", QUESTION, "-C", str(shop.folder), "--selector", "llm", "--llm", "openai:tiny")
    with endpoint(fails(401)) as server:
        plain = run(*asked, cwd=tmp_path, **PLAIN, **server.environ)
        document = run(*asked, "--json", cwd=tmp_path, **PLAIN, **server.environ)
        sql = run(*asked, "--sql", cwd=tmp_path, **PLAIN, **server.environ)
    assert (plain.returncode, document.returncode) == (0, 0)
    assert "shop::customers" in plain.stdout
    assert "refuses the key (401); check OPENAI_API_KEY; chosen without a model" in plain.stderr
    assert any("refuses the key" in one for one in json.loads(document.stdout)["warnings"])
    assert sql.returncode == 1, "no SQL was written"
    assert "shop::customers" in sql.stdout
    assert sql.stderr.splitlines()[-1].endswith("refuses the key (401); check OPENAI_API_KEY")


def test_what_was_described_before_the_model_failed_stays(tmp_path: Path) -> None:
    for name in "abc":  # a request each
        tables = {f"{name}_{chr(97 + n)}": f"({n}, '{name}{n}')" for n in range(9)}
        make(tmp_path / f"{name}.sqlite", **tables)
    catalog = dovetail.build(*map(str, tmp_path.glob("*.sqlite")), into=tmp_path / "catalog")
    command = ("describe", "-C", str(catalog.folder), "--llm", "openai:tiny", "--quiet")
    with endpoint(about, fails(401)) as server:
        done = run(*command, cwd=tmp_path, DOVETAIL_LLM_WORKERS="1", **server.environ)
    assert done.returncode == 1
    told = "dovetail: 18 tables not described: tiny at"
    assert done.stderr.startswith(told)
    assert done.stderr.endswith("refuses the key (401); check OPENAI_API_KEY\n")
    assert len(written(catalog)) == 9
    with endpoint(about) as server:
        assert run(*command, cwd=tmp_path, **server.environ).returncode == 0
    assert sum(len(asked_about(body)) for body in server.asked) == 18
    assert len(written(catalog)) == 27


def test_a_look_of_no_use_is_asked_for_again(shop: dovetail.Catalog, tmp_path: Path) -> None:
    with serving(tmp_path, says("Let me think."), CHOICE, LOOK) as (server, llm):
        first, second, third = (shop.ask(QUESTION, selector="llm", llm=llm) for _ in range(3))
    assert [found.trace[0]["looked_for"] for found in (first, second, third)] == [
        [], ["customers by town"], ["customers by town"],
    ]  # fmt: skip
    assert (first.trace[0]["fallback"], second.trace[0]["fallback"]) == (1, 0)
    assert third == second
    assert len(server.asked) == 3, "the good replies are kept"


REFUSED = says("```sql\nSELECT nowhere FROM customers\n```")
FAILING = says("```sql\nSELECT CAST('x' || name AS INTEGER) FROM customers\n```")
GOOD = says("```sql\nSELECT count(*) AS n FROM customers\n```")


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ([REFUSED, REFUSED], QueryError),
        ([says("I cannot."), says("Sorry.")], ModelError),
        ([REFUSED, fails(401)], ModelError),
        ([FAILING], QueryError),
    ],
    ids=["no such column", "no SQL", "no repair", "fails when it runs"],
)
def test_sql_of_no_use_is_asked_for_again(
    shop: dovetail.Catalog, tmp_path: Path, script: list[Play], error: type[Exception]
) -> None:
    found = shop.ask("How many customers are there?")
    with serving(tmp_path, *script, GOOD) as (server, llm):
        with pytest.raises(error):
            shop.answer(found, llm=llm)
        assert len(server.asked) == len(script)
        for _ in range(2):
            assert shop.answer(found, llm=llm).rows.to_pylist() == [{"n": 40}]
        assert len(server.asked) == len(script) + 1, "the good reply is kept"


@pytest.mark.parametrize("asked", ["look", "choose", "write"])
def test_the_answer_to_another_request_is_not_taken_for_this_one(
    shop: dovetail.Catalog, tmp_path: Path, asked: str
) -> None:
    """Replies change places on their way; asked again, each is answered."""
    before = {"look": [], "choose": [LOOK], "write": [LOOK, CHOICE]}[asked]
    after = {"look": [LOOK, CHOICE], "choose": [CHOICE], "write": []}[asked]
    for other in {"look": [CHOICE, GOOD], "choose": [LOOK, GOOD], "write": [LOOK, CHOICE]}[asked]:
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        # What cannot be a query goes back to the model once more.
        strange = [other, other] if asked == "write" else [other]
        rest = [CHOICE] if asked == "look" else []
        with serving(place, *before, *strange, *rest) as (_, llm):
            found = shop.ask(QUESTION, selector="llm", llm=llm)
            if asked == "write":
                with pytest.raises(ModelError):
                    shop.answer(found, llm=llm)
            else:
                assert any(entry["fallback"] for entry in found.trace)
        with serving(place, *after, GOOD) as (server, llm):
            found = shop.ask(QUESTION, selector="llm", llm=llm)
            assert not any(entry["fallback"] for entry in found.trace)
            assert found.tables[0].reason.startswith("selected by the model")
            assert shop.answer(found, llm=llm).rows.to_pylist() == [{"n": 40}]
        assert server.asked, "nothing that was kept answers this"


def test_a_repaired_query_is_kept_whole(shop: dovetail.Catalog, tmp_path: Path) -> None:
    found = shop.ask("How many customers are there?")
    with serving(tmp_path, REFUSED, GOOD) as (server, llm):
        for _ in range(2):
            assert shop.answer(found, llm=llm).rows.to_pylist() == [{"n": 40}]
    assert len(server.asked) == 2


def test_a_description_of_no_use_is_asked_for_again(tmp_path: Path) -> None:
    make(tmp_path / "a.sqlite", orders="(1, 'x')", shops="(2, 'y')")
    catalog = dovetail.build(tmp_path / "a.sqlite", into=tmp_path / "catalog")
    useless = [says("PWNED"), says('{"strangers": "x"}')]
    with serving(tmp_path / "replies", *useless, about) as (server, llm):
        assert len(catalog.describe(llm=llm).failed) == 2
        assert catalog.describe(llm=llm).written == 2
    assert len(server.asked) == 3
    (catalog.folder / "descriptions" / "descriptions.jsonl").unlink()
    with serving(tmp_path / "replies", fails(401)) as (server, llm):
        assert catalog.describe(llm=llm).written == 2
    assert server.asked == [], "the good reply is kept"


def test_without_the_cache_the_model_is_asked_whatever_it_said(
    shop: dovetail.Catalog, tmp_path: Path
) -> None:
    command = ["ask", QUESTION, "-C", str(shop.folder), "--llm", "openai:other"]
    command += ["--selector", "llm", "--json"]
    with endpoint(LOOK, CHOICE, LOOK, says('{"tables": [2], "missing": "", "sure": 1}')) as server:
        runs = [
            run(*command, *more, cwd=tmp_path, **PLAIN, **server.environ)
            for more in ([], [], ["--no-cache"], [])
        ]
        asked = len(server.asked)
        previews = [
            json.loads(
                run(*command, "--dry-run", *more, cwd=tmp_path, **PLAIN, **server.environ).stdout
            )
            for more in ([], ["--no-cache"])
        ]
    first, again, anew, after = (
        [t["id"] for t in json.loads(one.stdout)["tables"]] for one in runs
    )
    assert first == again != anew == after, "the newest reply is the one that is kept"
    assert asked == len(server.asked) == 4
    assert [len(one["requests"]) for one in previews] == [0, 1]
