"""Programs that measure and train, each `python -m dovetail_bench.programs.NAME`."""
