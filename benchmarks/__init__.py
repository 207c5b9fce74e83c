"""Benchmarks: the list of experiments, their runner, the committed rows, the pages made of them."""
