"""The picture of the terminal shows the commands of its program and loads nothing."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

from tests.docs.recording import COMMANDS, FILE, shown, without_fonts


def test_the_picture_shows_each_command_and_what_it_printed() -> None:
    picture = FILE.read_text("utf-8")
    ElementTree.fromstring(picture)
    text = unescape(re.sub(r"<[^>]+>", "\n", picture)).replace("\xa0", " ")
    for command in COMMANDS:
        assert f"$ {shown(command)}" in text
    assert re.search(r"confidence\s+(sure|likely|unsure|guess) 0\.\d\d", text)
    assert re.search(r"tables in \.dovetail: \d+ new", text)


def test_the_picture_loads_nothing() -> None:
    picture = FILE.read_text("utf-8")
    assert "url(http" not in picture
    assert "@font-face" not in picture
    assert without_fonts("a @font-face { x: url('http://…') } b") == "a  b"
