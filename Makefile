# A thin layer: every target is one visible command. README.md says what to expect.
PYTHON ?= python3
ARGS   ?=
BIN    := .venv/bin

.PHONY: setup lab test test-fast test-all site demo bench clean

setup: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) autograder/bootstrap.py

lab: setup
	$(BIN)/course lab $(ARGS)

test: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "not thorough" $(ARGS)

test-fast: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "not slow" $(ARGS)

test-all: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(ARGS)

site: setup
	$(BIN)/course site $(ARGS)

demo: setup
	$(BIN)/course demo $(ARGS)

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf .venv .colab .pytest_cache .mypy_cache .ruff_cache demo site
