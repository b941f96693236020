"""What Python users call: run, ab, selftest, load, and the objects a notebook shows."""
