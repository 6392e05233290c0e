"""Embedders (`embed_*`) and language models (`llm_*`), each behind its Protocol in `ports`."""
