"""One short program for each RL library, and `table`, which makes the rows of their results.

A program has another name than its library's module, which it would hide when run as a script.
"""
