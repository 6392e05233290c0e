"""Table families: tables that are one logical table, found from names, columns and contents."""
