"""Boards of 2 to 4 rows and columns, packed into integers: tables, steps, compiled loops."""
