"""The tables of the pages, each a function of the committed rows."""
