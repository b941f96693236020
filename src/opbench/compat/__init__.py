"""Older interfaces kept alive, each thin over the same run."""
