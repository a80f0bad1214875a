# The front door. Every target makes what it needs in .venv first; nothing else is needed but Python 3.11+.
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept whatever the shell says: without it every process compiles numpy, scipy and numba again, for a second.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test slow lint bench search docs release clean

help:
	@echo "make demo   profile embedded data, print a table, write a picture and a report"
	@echo "make test   run the tests"
	@echo "make slow   run the heavy tests too long for every day: clusters, large clouds, the paper in full"
	@echo "make lint   ruff and mypy"
	@echo "make bench  measure the speed contract"
	@echo "make search look for numbers outside their stated error, in 20,000 random cases: about 15 minutes"
	@echo "make docs   build the documentation site into docs/_build/html, and check its links"
	@echo "make release  build wheel and sdist, install them in clean environments, and test what was installed"

# What the demo needs: heatess itself, and matplotlib for the picture.
.venv/demo-ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[plot]"
	@touch $@

# What developers need besides.
.venv/ready: .venv/demo-ready
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --no-compile --editable . --group dev
	@touch $@

demo: .venv/demo-ready
	$(BIN)/heatess demo

test: .venv/ready
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow" $(ARGS)

slow: .venv/ready
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m slow --durations=40 $(ARGS)

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python benchmarks/run.py

search: .venv/ready
	$(BIN)/python tests/certainty/search.py $(ARGS)

.venv/docs-ready: .venv/ready
	$(BIN)/python -m pip install --quiet --no-compile --group docs
	@touch $@

docs: .venv/docs-ready
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo "The site is docs/_build/html/index.html."

release:
	tests/release/check.sh $(ARGS)

clean:
	rm -rf .venv .venv-bridges docs/_build docs/gallery docs/reference/generated heatess-demo heatess-paper .mypy_cache .pytest_cache .ruff_cache .hypothesis
