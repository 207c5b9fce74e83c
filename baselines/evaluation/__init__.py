"""Evaluation, sampled and exact, and its rows."""
