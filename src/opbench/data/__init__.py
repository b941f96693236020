"""Data that comes with opbench. Every file states where it is from."""
