"""Agents that learn with neural networks, in torch."""
