"""n-tuple networks: values of boards as sums of table entries, learned by playing."""
