"""Warnings of results: what is true of a whole run, and each kind that is left to its cases."""
