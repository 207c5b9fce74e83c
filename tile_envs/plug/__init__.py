"""Adapters for other libraries, one a module, for language models and for courses.

The project's `README.md` has a table of the reinforcement learning libraries, each with a program
in `benchmarks/libraries/` that runs as it is; `tile_envs/README.md` says what to mind with them.
"""
