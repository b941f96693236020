"""The collectives of a captured step, replayed by as many ranks as it had."""
