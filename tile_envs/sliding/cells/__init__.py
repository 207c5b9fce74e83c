"""Boards of any size, a byte a cell: steps, compiled loops."""
