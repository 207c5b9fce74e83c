"""Adapters for reinforcement learning libraries that take no Gymnasium environments as they are."""
