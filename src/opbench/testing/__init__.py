"""The pytest plugin: benchmarks among tests, measured after them."""
