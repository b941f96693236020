"""Running cases: environments and their workers, the plan, the sampling, the progress."""
