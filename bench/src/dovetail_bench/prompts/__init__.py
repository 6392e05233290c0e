"""The laboratory's own prompts: the paper's, those of other systems, and former ones of ours."""

# Where `read_prompt` finds them.
PROMPTS = __name__
