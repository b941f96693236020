"""Intervals of time in which a device worked."""


def union(spans):
    """Total length of the intervals, overlaps counted once."""
    total, reached = 0, float("-inf")
    for begin, end in sorted(spans):
        if end > reached:
            total += end - max(begin, reached)
            reached = end
    return total
