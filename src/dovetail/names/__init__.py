"""What the names of tables and columns say: their words, parts, markers, and what they refer to."""
