"""What the laboratory raises on purpose, beside what the product does."""

from __future__ import annotations

from dovetail.errors import DovetailError


class DatasetError(DovetailError):
    """Questions, gold or runs of a benchmark cannot be used as they are."""
