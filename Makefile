# Needs python3 (3.11 or later), pip and make. Everything made here is ignored by git.
PYTHON ?= python3
BIN    := .venv/bin
# Tests begin hundreds of processes: whatever one of them compiles is kept for the others.
unexport PYTHONDONTWRITEBYTECODE
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: setup demo test nightly test-extras lint check fuzz bench paper docs pictures dist package cover prove verify-page clean

setup: .venv/.ready

# The stamps stand inside .venv, newer than pyproject.toml once the installation is whole. Installing compiles the kernels.
KERNELS = hatch_build.py src/dalenius/numerics/kernels.c src/dalenius/numerics/tree.c
.venv/.ready: pyproject.toml constraints.txt $(KERNELS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dalenius needs Python 3.11 or later as $(PYTHON); install it, or say: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment: install the package python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) -e ".[test,dev]"
	@$(BIN)/python -m compileall -q src  # the command starts in half the time, also where no bytecode is written
	@touch $@

.venv/.ready-docs: .venv/.ready
	$(PIP) -e ".[docs]"
	@touch $@

demo: setup
	$(BIN)/python -m dalenius.demo

# Two workers, each with one thread: linear algebra that takes more would have them wait for each other. REST=1 leaves
# out what `make cover` runs.
test: setup
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not extras and not nightly" -n 2 \
	  $(if $(REST),$(addprefix --ignore=tests/verifier/,$(COVERED)))

# What takes too long for every change: every test, with more examples of each property, then the fuzzer.
nightly: setup .venv-extras/.ready
	HYPOTHESIS_PROFILE=nightly OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not extras" -n 2
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-extras/bin/python -m pytest -m "nightly and extras" $(EXTRAS)
	$(MAKE) fuzz

# Optional packages in an environment of their own, and Debian's chromium, which is installed where that is possible.
.venv-extras/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-extras
	@echo '*' > .venv-extras/.gitignore
	.venv-extras/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ".[test,extras-test]"
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  timeout 120 apt-get -o Acquire::http::Pipeline-Depth=0 update -qq && timeout 300 apt-get -o Acquire::http::Pipeline-Depth=0 install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "there is no chromium, and it cannot be installed here: tests of pages in a browser are skipped" >&2
	@touch $@

# Only files that have such tests are collected, which takes longer than most of them.
EXTRAS = $(shell grep -rl --include='*.py' 'mark\.extras' tests)
test-extras: .venv-extras/.ready
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-extras/bin/python -m pytest -m "extras and not nightly" -n 2 $(EXTRAS)

lint: setup
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

check: lint test

# Attacks on soundness, for a night: make fuzz CASES=100000 SEED=1. With `make bench` done before, brackets of random
# problems are held against SCIP's too by: PYTHONPATH=tests .venv-bench/bin/python -m fuzz differential
CASES ?= 10000
SEED  ?= 0
fuzz: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz --cases $(CASES) --seed $(SEED)

# Peers live in an environment of their own; one that cannot be installed is named in the results and left out.
.venv-bench/.ready: pyproject.toml bench/requirements.txt
	$(PYTHON) -m venv .venv-bench
	@echo '*' > .venv-bench/.gitignore
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e .
	@grep -v '^#' bench/requirements.txt | while read -r peer; do \
	  .venv-bench/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" || echo "without $$peer" >&2; done
	@touch $@

# All parts take tens of minutes and renew bench/RESULTS.md; QUICK=1 takes minutes and writes to out/bench/quick;
# ONLY=capacity (certified, figure, capacity, rate, growth, startup, processes, lists, releases) runs one part; RUNS=3 takes the least of three.
bench: .venv-bench/.ready
	.venv-bench/bin/python bench/run.py $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(RUNS),--runs $(RUNS))

# The paper's evaluation in full, and with its numbers docs/relation-to-the-paper.md and docs/paper-map.md.
paper: setup
	$(BIN)/dalenius reproduce --out out/paper
	$(BIN)/python docs/take_numbers.py out/paper

# Every picture of README and docs, by one script, and what pages hold of the code; NAMES="audit curve" draws some of them.
pictures: setup
	$(BIN)/python docs/generated.py
	$(BIN)/python docs/draw.py $(NAMES)

# Sdist, a wheel from it, and the wheel of the verifier by itself. On Linux a wheel with kernels gets the name of the oldest
# system that it runs on, without which no index takes it.
dist: setup
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m build --quiet --wheel --outdir dist packaging/verifier
	@for wheel in dist/dalenius-*-linux_*.whl; do if [ -e "$$wheel" ]; then \
	  PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist "$$wheel" && rm "$$wheel"; fi; done
	@ls dist

# The wheel in a clean environment, used from outside of the checkout; the verifier by itself in another one.
package: dist
	rm -rf out/package
	mkdir -p out/package
	$(PYTHON) -m venv out/package/venv
	out/package/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt dist/dalenius-*.whl
	cd out/package && venv/bin/python ../../tests/package_smoke.py $(if $(wildcard src/dalenius/numerics/_kernels.*),--kernels)
	$(PYTHON) -m venv --without-pip out/package/alone
	$(BIN)/python -m pip --python out/package/alone/bin/python install --quiet --disable-pip-version-check --no-compile -c constraints.txt dist/dalenius_verifier-*.whl
	cd out/package && alone/bin/python ../../tests/verifier_smoke.py

# Branch coverage of the verifier, which must be 100 %, by the quick tests among its own: half a minute of processor.
cover: setup
	mkdir -p out
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -q -m "not extras and not nightly" $(addprefix tests/verifier/,$(COVERED))
	$(BIN)/python -m coverage report
COVERED = test_golden.py test_listed_priors.py test_refusals.py test_saved.py test_rested.py test_process.py test_limits.py kernel/test_contraction.py \
  kernel/test_refusals.py kernel/test_posteriors.py kernel/test_closing.py steps/test_grid.py steps/test_rounding.py \
  steps/test_real_outputs.py special/test_power.py special/test_product_laws.py special/test_attributes.py special/test_decoy.py forms/test_independent.py forms/test_joint.py forms/test_design_reference.py \
  forms/test_refusals.py forms/test_releases.py forms/test_several_releases.py forms/test_rebuilding.py forms/test_symmetric.py forms/test_quick_sums.py

# The theorems in Coq, then the examples: their certificates as files that Coq checks. Debian's packages are installed where that is possible.
prove: setup
	@command -v coqc >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  timeout 120 apt-get -o Acquire::http::Pipeline-Depth=0 update -qq && timeout 300 apt-get -o Acquire::http::Pipeline-Depth=0 install -y -qq --no-install-recommends coq libcoq-interval >/dev/null; } || { \
	  echo "there is no Coq, and it cannot be installed here: install the packages coq and libcoq-interval" >&2; exit 1; }
	mkdir -p out/prove
	cd proofs && coq_makefile -f _CoqProject -o CoqMakefile && $(MAKE) --no-print-directory -f CoqMakefile
	for proof in proofs/examples/*.json; do $(BIN)/dalenius prove $$proof --out out/prove/$$(basename $$proof .json | tr - _).v || exit 1; done
	$(BIN)/python proofs/check.py proofs/Assumptions.v out/prove/*.v

# The page on which a certificate is checked in the browser, from npm's pyodide and python-flint's wheel for it.
verify-page: setup
	$(BIN)/python verify-page/build.py out/verify
	@echo "out/verify/index.html; to look at it: $(BIN)/python -m http.server --directory out/verify --bind 127.0.0.1"

docs: .venv/.ready-docs
	$(BIN)/python -m sphinx --fail-on-warning --quiet -d out/doctrees docs out/docs
	@echo "out/docs/index.html"

clean:
	rm -rf .venv .venv-bench .venv-extras out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f proofs/*.vo* proofs/*.glob proofs/.*.aux proofs/.*.cache proofs/CoqMakefile* proofs/.CoqMakefile*
