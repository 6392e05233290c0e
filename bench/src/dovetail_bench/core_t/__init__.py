"""CORE-T as the paper has it."""
