"""Environments: interpreters with pinned packages, built ones, and commits of a project."""
