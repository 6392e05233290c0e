"""The laboratory's own prompts: those of the paper, of its rivals, and earlier ones of ours."""

# Where `read_prompt` finds them.
PROMPTS = __name__
