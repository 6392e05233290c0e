"""The prompts of the systems that are compared with, in words of ours."""
