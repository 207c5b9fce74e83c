"""What environments and engines of every game share."""
