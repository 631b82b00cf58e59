# Needs python3 (3.11 or later), pip and make. Everything made here is ignored by git.
PYTHON ?= python3
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: setup demo test lint check bench paper docs clean

setup: .venv/.ready

# The stamps stand inside .venv, newer than pyproject.toml once the installation is whole.
.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dalenius needs Python 3.11 or later as $(PYTHON); install it, or say: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment: install the package python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) -e ".[test,dev]"
	@touch $@

.venv/.ready-docs: .venv/.ready
	$(PIP) -e ".[docs]"
	@touch $@

demo: setup
	$(BIN)/python -m dalenius.demo

test: setup
	$(BIN)/python -m pytest -m "" -n 2

lint: setup
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

check: lint test

bench: setup
	$(BIN)/python bench/run.py

# The paper's evaluation in full, and with its numbers the page docs/relation-to-the-paper.md.
paper: setup
	$(BIN)/dalenius reproduce --out out/paper
	$(BIN)/python docs/take_numbers.py out/paper

docs: .venv/.ready-docs
	$(BIN)/python -m sphinx --fail-on-warning --quiet -d out/doctrees docs out/docs
	@echo "out/docs/index.html"

clean:
	rm -rf .venv out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
