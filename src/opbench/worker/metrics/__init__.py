"""One file per metric: `DESCRIBE`, and `block(session, n)` or `measure(session, options)`.

`DESCRIBE` is a plain dict with the fields of `opbench.result.Metric` but its name, which is that of
the file; the runner finds the files by listing this folder. A sampled metric answers `block`: one
value per call of a block of n, with the noise observed meanwhile. Any other answers `measure`, with
what it found by the name of the metric:
`{"results": {"memory": {"samples": [4096, 4096], "detail": {"source": "…"}}}}`; the detail is
optional.
"""
