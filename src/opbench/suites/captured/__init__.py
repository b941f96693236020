"""Captured calls as definitions: what `opbench capture` wrote, made ready to run."""
