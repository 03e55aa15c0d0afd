# Two commands on a fresh machine: `make demo` and `make test`. Both set up .venv themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench papers docs clean

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

lint: .venv/.lint
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

bench: .venv/.ready
	$(BIN)/python -m benchmarks.speed

papers: .venv/.ready
	$(BIN)/python -m benchmarks.papers

# The documentation is Markdown: its code blocks are run, its links followed.
docs: .venv/.ready
	$(BIN)/python -m pytest tests/test_docs.py

clean:
	rm -rf .venv build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
