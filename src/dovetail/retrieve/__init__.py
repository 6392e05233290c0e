"""From a question to the set of tables: one module per way of choosing it."""
