"""One file per metric: `DESCRIBE`, and `block(session, n)` or `measure(session, options)`.

`DESCRIBE` is a plain dict with the fields of `opbench.result.Metric`; the runner finds the files
by listing this folder. A sampled metric answers `block`: one value per call of a block of n, with
the noise observed meanwhile. Any other answers `measure`: `{"results": {metric: {value, detail}}}`.
"""
