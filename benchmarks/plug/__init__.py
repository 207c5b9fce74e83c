"""Measures of the libraries that the environments plug into: training for real, then playing."""
