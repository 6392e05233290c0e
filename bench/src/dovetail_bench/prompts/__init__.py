"""The laboratory's own prompts: the paper's, and those of other systems."""

# Where `read_prompt` finds them.
PROMPTS = __name__
