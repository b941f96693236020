"""Modules that are imported as if they were in `opbench`; `opbench/__init__.py` adds this folder
to its path, so import them from there only, or they are loaded twice."""
