"""Engines: where the per-table offline work runs."""
