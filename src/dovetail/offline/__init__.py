"""The offline line: from sources to a catalog, in `pipeline.py`. Nothing here knows a question."""
