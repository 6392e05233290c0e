"""The offline line: sources → sample + profile → Catalog. Nothing here knows a question."""
