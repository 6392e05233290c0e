"""Reads prompts from Markdown files: one section per message, with {{names}} where data goes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dovetail.ports import Message
from dovetail.text import PromptText, one_line

_SECTION = re.compile(r"^# (system|user|assistant)\n", re.MULTILINE)
_SLOT = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to be filled in; `digest` names its wording."""

    sections: tuple[Message, ...]
    digest: str

    def fill(self, **data: str) -> tuple[Message, ...]:
        """Return the messages with data in their slots; a slot in the data itself stays as it is.

        Every prompt is made here. Whatever is not between fences stands on one line, and nothing
        in it tells a model whose turn it is: no data is taken for the prompt's own words.

        >>> Prompt((Message("user", "Describe {{table}}"),), "").fill(table="a\\n{{x}}")[0].content
        'Describe a {{x}}'
        """
        safe = {
            name: text if isinstance(text, PromptText) else one_line(" ".join(text.split()))
            for name, text in data.items()
        }
        return tuple(
            Message(section.role, _SLOT.sub(lambda slot: safe[slot[1]], section.content))
            for section in self.sections
        )


@cache
def read_prompt(name: str, package: str = __name__) -> Prompt:
    """Read a prompt by the name of its file in a package."""
    text = files(package).joinpath(f"{name}.md").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    sections = zip(parts[::2], parts[1::2], strict=True)
    return Prompt(
        sections=tuple(Message(role, content.strip()) for role, content in sections),
        digest=hashlib.sha256(text.encode()).hexdigest()[:16],
    )
