# `make demo` and `make test` are all a fresh machine needs; the others are for daily work.
# ARGS is handed on: make test ARGS="-k doctor", make demo ARGS="layers --budget 30s".

PY := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types reference perf clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup:  ## create .venv with everything pinned (nothing to do when nothing changed)
	@PYTHON="$(PYTHON)" scripts/setup.sh

demo: setup  ## a tour of what opbench measures, about two minutes
	.venv/bin/opbench run $(ARGS)

# Two at a time: what is tested here mostly waits for processes. (Measurements are `make perf`.)
test: setup  ## the whole test suite
	$(PY) -m pytest tests/ -n 2 $(ARGS)

lint: setup  ## ruff
	$(PY) -m ruff check .

types: setup  ## mypy on src/
	$(PY) -m mypy

reference: setup  ## write the tables of docs/cli.md and the keywords of run and ab anew
	$(PY) docs/build_cli.py

perf: setup  ## measure the harness itself against its peers
	$(PY) -m pytest tests/ -m slow
	$(PY) -m perf $(ARGS)

clean:  ## remove caches and build outputs; .venv and results stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
