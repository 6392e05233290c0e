"""Retrievers: a question to the set of tables it needs."""
