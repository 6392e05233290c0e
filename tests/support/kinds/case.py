"""What a kind of attack is made of: cases by seed, and what stands in what nobody may see."""

from __future__ import annotations

import random
from collections.abc import Callable

from dovetail.settings import Settings

PLAIN = Settings(embedder="none")
Case = tuple[str, str]
Draw = random.Random
Kind = Callable[[Draw], Case]
# Stands in every name, value and note that a token must not see, and in every literal.
HIDDEN = "zebra"
