"""Questions asked of results: comparisons, factors, history."""
