"""Recorded Python calls as cases."""
