"""Embedders and language models, each behind its seam in ports.py."""
