"""The Python API: open or build a catalog, ask it, and read what it answers.

`import dovetail` offers all of this; these modules are its home.
"""

from dovetail.api.ask_result import AskResult
from dovetail.api.building import build, open, update  # noqa: A004 - as dovetail.open
from dovetail.api.catalog import Catalog
from dovetail.api.update_summary import UpdateSummary

__all__ = ["AskResult", "Catalog", "UpdateSummary", "build", "open", "update"]
