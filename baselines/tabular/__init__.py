"""Agents that keep what they learn in tables."""
