"""Join evidence: which columns of a catalog fit together, and how surely."""
