"""What an update did, for whoever called it from Python."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from dovetail import notebook
from dovetail.offline import summary

if TYPE_CHECKING:
    from dovetail.api.catalog import Catalog


@dataclass(frozen=True, slots=True, repr=False)
class UpdateSummary(summary.UpdateSummary):
    """What an update did, with the catalog ready to be asked.

    `added`, `changed` and `dropped` are ids of tables; `retained` are tables that could not be
    read now and stay as they were; `unchanged` counts the rest. `skipped` says what could not be
    read and why, and `note` what search has to go without, if anything. `purposes` is there if a
    language model was asked for them; `stages` has the seconds of each stage. `redeclared` are
    tables with the same contents, whose declared keys or comments are others than before, and
    `notices` lines on keys that a source did not tell, and on what of a dbt project was used.

    >>> import dovetail
    >>> summary = dovetail.update(["shop.sqlite"], into="shop")
    >>> summary
    <UpdateSummary shop: 6 tables added>
    >>> summary.skipped, len(summary.catalog)
    ((), 6)
    """

    catalog: Catalog

    @classmethod
    def of(cls, done: summary.UpdateSummary, catalog: Catalog) -> UpdateSummary:
        """A summary with the catalog as the caller holds it."""
        told = {each.name: getattr(done, each.name) for each in fields(done)}
        return cls(**told | {"catalog": catalog})

    def __repr__(self) -> str:
        counts = {
            "added": len(self.added),
            "changed": len(self.changed),
            "dropped": len(self.dropped),
            "retained": len(self.retained),
            "unchanged": self.unchanged,
        }
        told = [
            f"{notebook.count(number, 'table')} {what}" for what, number in counts.items() if number
        ]
        told += [f"{len(self.skipped)} skipped"] if self.skipped else []
        return f"<UpdateSummary {self.catalog.folder}: {', '.join(told) or 'no tables'}>"
