"""Keys beyond one column with values: composite, self-referencing, junction tables, names alone."""
