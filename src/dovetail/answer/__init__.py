"""From a set of tables to rows: SQL written, guarded and run where it can only read."""
