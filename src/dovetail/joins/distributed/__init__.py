"""Passes over the values of a catalog's columns, made by the workers of an engine."""
