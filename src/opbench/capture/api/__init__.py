"""Python calls of a running program, recorded."""
