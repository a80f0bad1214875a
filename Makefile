# The front door. Every target makes its own environment in .venv first; nothing else is needed but Python 3.11+.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test slow lint bench search docs clean

help:
	@echo "make demo   profile embedded data, print a table, write a picture and a report"
	@echo "make test   run the tests"
	@echo "make slow   run the heavy tests too long for every day: clusters, large clouds, the paper in full"
	@echo "make lint   ruff and mypy"
	@echo "make bench  measure the speed contract"
	@echo "make search look for numbers outside their stated error, in 20,000 random cases: about 20 minutes"
	@echo "make docs   check that the documentation's links and examples hold"

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

demo: .venv/ready
	$(BIN)/heatess demo

test: .venv/ready
	$(BIN)/python -m pytest -q -n auto -m "not slow" $(ARGS)

slow: .venv/ready
	$(BIN)/python -m pytest -q -n auto -m slow

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python benchmarks/run.py

search: .venv/ready
	$(BIN)/python tests/certainty/search.py $(ARGS)

docs: .venv/ready
	$(BIN)/python -m pytest -q tests/test_docs.py

clean:
	rm -rf .venv heatess-demo heatess-paper .mypy_cache .pytest_cache .ruff_cache .hypothesis
