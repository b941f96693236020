"""What a run will do, before anything runs: options, groups, baseline, budget, policy."""
