"""The evaluation: datasets, measures and what is measured over them."""
