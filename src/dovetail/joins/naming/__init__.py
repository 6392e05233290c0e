"""What the names of tables and columns say about joins."""
