"""Older interfaces kept alive, each thin over the same run.

What stands in `addresses/` is imported as if it stood in `opbench` itself: `opbench.ops`,
`opbench.mxnet_benchmarks`, `opbench.patching_hook`.
"""
