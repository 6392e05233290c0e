"""The catalog: the directory in which the two lines meet. `docs/catalog.md` describes it."""

from dovetail.catalog.reader import CatalogReader

__all__ = ["CatalogReader"]
