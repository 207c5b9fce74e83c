"""Baseline agents for the environments of `tile_envs`, and the judge that makes every table."""
