"""Short programs for each RL library, and `clients`, which trains and evaluates them for a table.

`python benchmarks/libraries/PROGRAM.py` trains an agent and prints its result.  A program has
another name than its library's module, which it would hide when run as a script.
"""
