"""Raw samples of real pairs that intervals and verdicts are judged on.

`python -m perf.holdout FILE` measures them; the files under `data/` are measured once and kept. One
half of the pairs is there to tune on, the other only to judge (`pairs`). `python -m perf
calibration` judges both, each by the same rules (`judge`).
"""
