"""Runs made into tables and plots: a function per analysis, a module per form of the page."""
