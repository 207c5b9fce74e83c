"""Other libraries as clients of the environments."""
