# On a fresh machine, `make demo` or `make test` is enough; the other targets are for daily work.
# ARGS is passed on: make test ARGS="-k doctor", make demo ARGS="layers --budget 30s".

PY := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types reference perf clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup:  ## create .venv with pinned packages (does nothing if nothing changed)
	@PYTHON="$(PYTHON)" scripts/setup.sh

demo: setup  ## a tour of what opbench measures, about two minutes
	.venv/bin/opbench run $(ARGS)

# Two at a time: the tests mostly wait for processes. (Measurements are `make perf`.)
# Bytecode is kept whatever the environment says: the tests start thousands of interpreters, and
# each would compile opbench again. A test whose set-up takes long runs where that was made.
test: export PYTHONDONTWRITEBYTECODE =
test: setup  ## the whole test suite
	$(PY) -m pytest tests/ -n 2 --dist worksteal $(ARGS)

lint: setup  ## ruff
	$(PY) -m ruff check .

types: setup  ## mypy on src/
	$(PY) -m mypy

reference: setup  ## regenerate the tables of docs/cli.md and the keywords of run and ab
	$(PY) docs/build_cli.py

perf: setup  ## measure opbench itself, compared with other tools
	$(PY) -m pytest tests/ -m slow
	$(PY) -m perf $(ARGS)

clean:  ## remove caches and build outputs; .venv and results stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
