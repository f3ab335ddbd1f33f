"""Experiments: the paper's tables and figures, for any data set."""
