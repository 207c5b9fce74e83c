"""Games of agents to look at: in a terminal, in a window, as films, and as a page."""
