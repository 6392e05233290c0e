"""The evaluation: corpora with gold, measures, runs over the public API, and reports of them."""
