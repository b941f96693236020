"""Carrying out a plan: every group measured, every result stored the moment it is known."""
