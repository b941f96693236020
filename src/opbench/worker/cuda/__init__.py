"""The GPU as seen from the child that uses it: how long it works, its clocks and power."""
