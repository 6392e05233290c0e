"""Sources: places that hold tables, all read through DuckDB, never written to."""
