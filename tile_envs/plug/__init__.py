"""Adapters for reinforcement learning libraries, one a module.

`README.md` has a table of the libraries, each with a program in `benchmarks/libraries/` that runs
as it is; `tile_envs/README.md` says what to mind with them.
"""
