"""Exact inclusion dependencies: which columns' values all occur in another column."""
