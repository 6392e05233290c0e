"""Spans of OpenTelemetry for the stages of an update, questions, queries and calls of models.

There are some if the process that dovetail runs in has loaded OpenTelemetry, as one that exports
spans has: in Python, or `opentelemetry-instrument dovetail …`. Nothing is imported for it.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext


def traced(stage: str, **facts: str | int | float) -> AbstractContextManager[object]:
    """A span around a stage, with neither questions nor values in it; nothing if nobody listens."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return nullcontext()
    opened: AbstractContextManager[object] = trace.get_tracer("dovetail").start_as_current_span(
        f"dovetail.{stage}", attributes={f"dovetail.{name}": fact for name, fact in facts.items()}
    )
    return opened
