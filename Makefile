# Each target sets up what it needs in .venv and runs; nothing but Python 3.11+ and make has to be there.
# The same as plain commands stands in README.md.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# torch takes 5 GB with its GPU libraries on Linux: TEST_EXTRAS=test does without, and skips the tests of `train`.
TEST_EXTRAS ?= test,train
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test bench lint format clean

demo: $(VENV)/.core
	$(BIN)/python cli.py demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile

bench: $(VENV)/.test
	$(BIN)/python -m tests.bench

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/sqlfluff lint sql

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Leadhouse needs Python 3.11 or later, found %d.%d: make PYTHON=python3.11" % sys.version_info[:2])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(PIP) -e '.[$(TEST_EXTRAS)]'
	$(PIP) --no-deps imgaug==0.4.0
	touch $@

$(VENV)/.lint: $(VENV)/.core
	$(PIP) -e '.[lint]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .ruff_cache
