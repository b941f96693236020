"""Comparisons for people and for other programs."""
