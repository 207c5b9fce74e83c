"""Pictures and windows."""
