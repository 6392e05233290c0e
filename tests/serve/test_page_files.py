"""The page's files: served to anybody, with a policy that lets nothing else in."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from dovetail.serve import bundle
from dovetail.serve.guarded import Access, Caller, Guarded, Metrics, RequestLimits, is_page

FOLDER = Path(bundle.__file__).parent / "page"


def client() -> TestClient:
    app = FastAPI(openapi_url=None)
    bundle.add_page(app)
    access = Access({"0" * 64: Caller("reader")})
    app.add_middleware(Guarded, access=access, limits=RequestLimits(), metrics=Metrics(), log=False)
    return TestClient(app)


def test_the_page_needs_no_token_and_its_policy_is_strict() -> None:
    asked = client()
    reply = asked.get("/")
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    script = asked.get("/page/page.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["content-encoding"] == "gzip"
    plain = asked.get("/page/page.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == script.text
    again = asked.get("/page/page.js", headers={"if-none-match": script.headers["etag"]})
    assert again.status_code == 304


def test_the_bundles_have_every_module_once_and_every_style() -> None:
    text = bundle.script("app")
    for file in FOLDER.glob("*.js"):
        assert text.count(f"const ${file.stem} = ") == 1, file
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)
    style = client().get("/page/page.css").text
    for file in FOLDER.glob("*.css"):
        assert file.read_text("utf-8") in style, file


def test_nothing_beside_the_page_is_served() -> None:
    asked = client()
    for path in (
        "/page/../rest.py",
        "/page/%2e%2e/rest.py",
        "/page/",
        "/page/none.js",
        "/page/app.js",
    ):
        assert asked.get(path).status_code in (401, 404), path
    assert not is_page("/pages")
    assert asked.get("/api/v1/tables").status_code == 401


def test_every_file_that_is_named_is_there_and_nothing_comes_from_elsewhere() -> None:
    for file in FOLDER.iterdir():
        text = file.read_text("utf-8").replace("http://www.w3.org/", "")
        assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacentHTML|\beval\(", text), (
            file
        )
        for named in re.findall(r'(?:href|src)="page/([\w.]+)"', text):
            assert client().get(f"/page/{named}").status_code == 200, (file.name, named)
    page = (FOLDER / "index.html").read_text("utf-8")
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", page)
