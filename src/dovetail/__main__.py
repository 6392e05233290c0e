"""`python -m dovetail` is the command line."""

from dovetail.cli import main

main()
