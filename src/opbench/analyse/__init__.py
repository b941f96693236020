"""Questions asked of results: comparisons, factors, roofline, history."""
