"""Records the operator calls of a real program: `opbench.record`, `opbench capture`."""
