"""CORE-T as the paper has it, and with parts of ours in place of its own."""
