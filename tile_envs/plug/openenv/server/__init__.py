"""The server of the environment folder."""
