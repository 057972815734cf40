# Two commands for newcomers: `make demo` and `make test`. Both set up everything they need in .venv.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-slow test-real lint format gallery bench clean

setup: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: setup
	$(BIN)/scuff demo --out out/demo

test: setup lint
	$(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder  # short files with long tests come last otherwise

test-slow: setup
	$(BIN)/python -m pytest -n auto -m slow

test-real: setup
	SCUFF_DATA=$(DATA) $(BIN)/python -m pytest tests/results/test_real_*.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

gallery: setup
	rm -rf docs/gallery
	$(BIN)/scuff gallery docs/gallery

bench: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	$(BIN)/python benchmarks/corruptions_cpu.py
	$(BIN)/python benchmarks/syn2nat_cpu.py
	$(BIN)/python benchmarks/separation.py
	$(BIN)/python benchmarks/augment.py
	$(BIN)/python benchmarks/validity.py
	$(BIN)/python benchmarks/cluster.py

clean:
	rm -rf .venv out build dist
