"""One table in, its record out: profiles, value hashes, normal forms and phrases of its columns."""
