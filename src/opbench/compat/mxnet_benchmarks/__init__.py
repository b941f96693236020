"""The operators of `opbench.ops`, on MXNet unless told otherwise, under the classic suite's names:
`opbench.compat.mxnet_benchmarks.nd` and `opbench.compat.mxnet_benchmarks.gluon`."""
