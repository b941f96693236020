# On a fresh machine, `make demo` or `make test` is enough; the other targets are for daily work.
# ARGS is passed on: make test ARGS="-k doctor", make demo ARGS="layers --budget 30s".
# SYSTEM_PACKAGES=no installs no package of the system.

PY := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types reference docs wheel perf clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup:  ## create .venv with pinned packages (does nothing if nothing changed)
	@PYTHON="$(PYTHON)" SYSTEM_PACKAGES="$(SYSTEM_PACKAGES)" scripts/setup.sh

# What only the tests need of the system; asked for once per .venv.
.venv/opbench-test-packages: scripts/system_packages.sh | setup
	@SYSTEM_PACKAGES="$(SYSTEM_PACKAGES)" scripts/system_packages.sh tests
	@touch $@

demo: setup  ## a tour of what opbench measures, about two minutes
	.venv/bin/opbench run $(ARGS)
	@command -v opbench >/dev/null || echo "To put opbench on the path of this shell: . .venv/bin/activate"

# Three at a time, on two cores too: the tests mostly wait for processes. (Measurements are `make perf`.)
# Bytecode is kept whatever the environment says: the tests start thousands of interpreters, and
# each would compile opbench again. A test whose set-up takes long runs where that was made.
test: export PYTHONDONTWRITEBYTECODE =
test: setup .venv/opbench-test-packages  ## the whole test suite
	$(PY) -m pytest tests/ -n 3 --dist worksteal $(ARGS)

lint: setup  ## ruff
	$(PY) -m ruff check .

types: setup  ## mypy on src/ and perf/
	$(PY) -m mypy

reference: setup  ## regenerate the tables of docs/cli.md, the keywords of run and ab, the figures of the README
	$(PY) docs/build_cli.py
	$(PY) docs/build_figures.py

docs: setup  ## build the documentation as a site: build/site/index.html
	@$(PY) -c 'import mkdocs' 2>/dev/null || $(PY) -m pip install --quiet -e '.[docs]' -c constraints.txt
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict
	@echo "build/site/index.html; with search: python3 -m http.server --directory build/site"

wheel: setup  ## build the package: dist/*.whl and dist/*.tar.gz
	$(PY) -m build

perf: setup  ## measure opbench itself, compared with other tools
	$(PY) -m pytest tests/ -m slow
	$(PY) -m perf $(ARGS)

clean:  ## remove caches and build outputs; .venv and results stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
