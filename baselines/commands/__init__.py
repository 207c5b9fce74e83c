"""The commands of `python -m baselines`, one a file."""
