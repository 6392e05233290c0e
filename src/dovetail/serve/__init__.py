"""Ways in for programs: the same catalog over the Model Context Protocol and REST."""
