"""The catalog: the directory in which the two lines meet. `docs/catalog.md` describes it."""
