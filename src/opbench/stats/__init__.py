"""Statistics for benchmark samples: pure functions on numbers.

It is opinionated. A sample is a block of calls; blocks nest in children, children in worker
starts; and the worker start is the unit of replication, because two starts of identical code
differ by more than the blocks of one start suggest. Callers hand over samples with that structure
and get an estimate with an interval, or a comparison with a verdict. Warnings about the data
travel inside what is returned. `pair` is where two results meet: nobody else divides them.
"""
