"""Attacks of the kinds that once succeeded, as many variants of each as wished, by seed.

A kind is opened over a folder and gives cases: each says how it ended, and what is wrong with
that, or nothing. Files with changed bytes have variants of their own (`hostile_files`).
"""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from dovetail.errors import DovetailError
from tests.support.kinds.access import agents, tokens, visible
from tests.support.kinds.bodies import places
from tests.support.kinds.case import Kind, WaitsError, not_for_ever
from tests.support.kinds.endpoints import endless_replies
from tests.support.kinds.files import writes
from tests.support.kinds.pipes import no_files
from tests.support.kinds.prompts import limits, prompts
from tests.support.kinds.queries import conditions
from tests.support.kinds.sockets import addresses, callers_gone
from tests.support.kinds.texts import endless, literals
from tests.support.lies import lies
from tests.support.questions import too_much

KINDS: Mapping[str, Callable[[Path], Kind]] = {
    "files that lie": lies,
    "who may see: tokens": tokens,
    "who may see: replies": visible,
    "who may see: agents": agents,
    "slots given back": places,
    "limits on both sides": limits,
    "questions for too much": too_much,
    "text that is not data": prompts,
    "text that takes for ever": endless,
    "literals that are kept": literals,
    "files we write": writes,
    "pipes and other things": no_files,
    "callers who have gone": callers_gone,
    "addresses": addresses,
    "replies without an end": endless_replies,
    "queries of many conditions": conditions,
}


def attack(folder: Path, seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """So many variants of every kind; how they ended, and what is wrong."""
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for name, opened in KINDS.items():
        place = folder / name.replace(" ", "_").replace(":", "")
        place.mkdir()
        kind, draw = opened(place), random.Random(f"{seed} {name}")
        for _ in range(count):
            try:
                with not_for_ever():
                    how, problem = kind(draw)
            except WaitsError:
                how, problem = "waits", "".join(traceback.format_exc(limit=-4).split("\n"))
            except DovetailError as error:
                how, problem = "error", f"{type(error).__name__}: {error}"
            outcomes[f"{name}: {how}"] += 1
            wrong += [f"{name}: {problem}"] if problem else []
    return outcomes, wrong
