"""Exact evaluation: small games, solved completely."""
