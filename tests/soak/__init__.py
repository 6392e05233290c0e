"""The soak: bad days by the thousand, each part a module. `make soak` runs them all."""
