"""The same inputs for every implementation of a case, and their outputs, as raw files."""
