"""The inverted index from values to columns, in segments that are written once."""
