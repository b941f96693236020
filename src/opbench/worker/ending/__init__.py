"""How what a command started ends with it: descendants, orphans among them, and temporary files."""
