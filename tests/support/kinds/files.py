"""What is written, among links that somebody laid there."""

from __future__ import annotations

import os
from pathlib import Path

from dovetail import state
from dovetail.atomic import UNFINISHED, replace_file
from dovetail.models.cache import CachedLLM
from dovetail.notes.file import put_entry, read_entries
from dovetail.ports import Message
from tests.support.kinds.case import Case, Draw, Kind
from tests.support.kinds.prompts import Replies


def writes(folder: Path) -> Kind:
    """Links, soft and hard, by guessed names beside what is written: no other file changes, and
    what is written is there."""
    number = 0
    guesses = ("new", "tmp", "lock", "bak", "0", "1", "part", "~", "swp", str(os.getpid()))

    def case(draw: Draw) -> Case:
        nonlocal number
        number += 1
        place = folder / f"place{number}"
        place.mkdir(mode=0o700)
        victim = place / "victim"
        victim.write_text("mine")
        name = draw.choice(["notes.toml", "manifest.json", "reply", "names.json"])
        target = place / "home/dovetail" / name if name == "names.json" else place / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for guess in draw.sample(guesses, draw.randint(1, len(guesses))):
            form = draw.choice([".{0}.{1}", "{0}.{1}", "{0}{1}", ".{0}{1}", ".{1}.{0}", "{1}"])
            link = target.parent / form.format(name, guess)
            if not os.path.lexists(link) and link != target:
                draw.choice([link.symlink_to, link.hardlink_to])(victim)
        if name == "notes.toml":
            put_entry(target, "terms", "agent", "seller")
            there = [one.key for one in read_entries(target)[0]] == ["agent"]
        elif name == "names.json":
            before = os.environ.get("XDG_STATE_HOME")
            os.environ["XDG_STATE_HOME"] = str(place / "home")
            state.keep(name, {"a": 1})
            there = state.recall(name) == {"a": 1}
            os.environ.pop("XDG_STATE_HOME")
            os.environ |= {"XDG_STATE_HOME": before} if before else {}
        elif name == "reply":
            model = Replies("yes")
            cached = CachedLLM(model, place / "replies")
            there = {cached.complete([Message("user", "hi")]).text for _ in range(2)} == {"yes"}
        else:
            replace_file(target, b"{}")
            there = target.read_bytes() == b"{}"
        left = [one for one in place.rglob("*") if UNFINISHED.fullmatch(one.name)]
        fine = victim.read_text() == "mine" and there and not left
        return name, "" if fine else f"{name}: {sorted(map(str, place.rglob('*')))}"

    return case
