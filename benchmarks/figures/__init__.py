"""The pictures of the pages, each a function of the committed rows; and the files themselves."""
