"""Retrievers for other frameworks: the set of tables that a question needs, in their own types."""
