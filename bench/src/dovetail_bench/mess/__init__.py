"""Companies made out of clean databases: what piles look like, with gold that is known."""
