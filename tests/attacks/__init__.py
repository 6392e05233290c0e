"""Attacks from outside, a file for each kind: every one of them succeeded once."""
