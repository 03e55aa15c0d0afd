# On a new machine run `make demo` or `make test`. Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-fast test-oldest coverage attack lint dist-test bench papers docs clean

.venv/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[frames,test]"
	touch $@

.venv/.lint: .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[lint]"
	touch $@

demo: .venv/.ready
	$(BIN)/rankwise demo

test: .venv/.ready
	$(BIN)/python -m pytest -n 2

# A fast subset, under a minute: the folders of the objective, without clusters, pages and processes.
FAST := contracts supervision losses spaces solvers holdout model_selection metrics numerics
test-fast: .venv/.ready
	$(BIN)/python -m pytest -n 2 -m "not slow" $(addprefix tests/,$(FAST))

# The same subset with the oldest versions that pyproject.toml allows, in an environment of its own.
OLDEST := .venv-oldest/bin
.venv-oldest/.ready: pyproject.toml .ci/oldest.txt
	test -x $(OLDEST)/python || $(PYTHON) -m venv .venv-oldest
	$(OLDEST)/python -m pip install --quiet --disable-pip-version-check -c .ci/oldest.txt \
		-e ".[frames,plot,dask,serve,onnx]" polars pytest pytest-xdist hypothesis
	touch $@
test-oldest: .venv-oldest/.ready
	NUMBA_CACHE_DIR=.venv-oldest/compiled $(OLDEST)/python -m pytest -n 2 -m "not slow" \
		$(addprefix tests/,$(FAST) learners io dask)

# All tests, and which lines they run; fails below the floor in pyproject.toml.
coverage: .venv/.ready
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term --cov-report=html:build/coverage

# 2,000 random configurations of all learners against brute force, for a night.
attack: .venv/.ready
	$(BIN)/python -m tests.differential

PROSE := src tests benchmarks examples docs README.md CHANGELOG.md CONTRIBUTING.md pyproject.toml
lint: .venv/.lint
	$(BIN)/ruff check src tests benchmarks examples docs/conf.py docs/draw_home.py
	$(BIN)/ruff format --check src tests benchmarks examples docs/conf.py docs/draw_home.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell $(PROSE)

# The distributions as a user gets them, in an empty environment.
dist-test: .venv/.ready
	.ci/dist-test $(BIN)/python

bench: .venv/.ready
	$(BIN)/python -m benchmarks.speed

# Every table of the papers, about two hours. It resumes; AGAIN=--again computes finished tables again.
papers: .venv/.ready
	$(BIN)/python -m benchmarks.papers $(AGAIN)

# Builds the site in build/site and runs the examples of the gallery; a warning is an error.
docs: .venv/.ready
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site

clean:
	rm -rf .venv .venv-oldest build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache docs/gallery docs/api/generated
