"""Older interfaces kept alive, each thin over the same run.

The modules in `addresses/` are imported as if they were in `opbench` itself: `opbench.ops`,
`opbench.mxnet_benchmarks`, `opbench.patching_hook`.
"""
