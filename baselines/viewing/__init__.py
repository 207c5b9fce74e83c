"""Games and learning curves to look at."""
