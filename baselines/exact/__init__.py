"""Exact results: tic-tac-toe and small sliding games, walked through completely."""
