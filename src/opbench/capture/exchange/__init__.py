"""Captures from other tools' traces, and back: ExecutionTrace (Chakra) and Chrome traces."""
