"""Measures of speed: environments beside other packages, n-tuple networks, Stable-Baselines3."""
