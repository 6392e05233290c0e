"""Search: a question to a ranked list of tables, without a language model."""
