"""Clients in other libraries: one module for each library, with `keys` and `rows`."""
