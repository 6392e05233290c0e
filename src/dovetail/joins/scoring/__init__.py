"""How likely a pair of columns is a foreign key and its key."""
