"""The operators of `opbench.ops`, on MXNet unless told otherwise, under the classic suite's names:
`opbench.mxnet_benchmarks.nd` and `opbench.mxnet_benchmarks.gluon`."""
