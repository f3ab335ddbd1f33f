"""Ramify splits coarse labels into finer ones with as few human answers as possible."""
