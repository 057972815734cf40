# Two commands for newcomers: `make demo` and `make test`. Each installs what it needs into .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP = $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
# A file of tests stays with one worker, which shares its fixtures; tests/conftest.py puts long files first. There are as
# many workers as cores, so one thread each: more would only wait for each other. Compiled files are kept, whatever the
# environment says: without them every worker and every process that a test starts compiles all over again.
PYTEST = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder

.PHONY: setup demo demo-overlap test test-slow test-oldest test-real lint format docs gallery locks bench clean

setup: .venv/.ready

.venv/bin/pip:
	$(PYTHON) -m venv .venv

.venv/.ready: pyproject.toml constraints.txt | .venv/bin/pip
	$(PIP) -e ".[dev]"
	touch $@ .venv/.demo-ready

.venv/.demo-ready: pyproject.toml constraints.txt | .venv/bin/pip
	$(PIP) -e ".[report]"
	touch $@

demo: .venv/.demo-ready
	$(BIN)/scuff demo --out out/demo

demo-overlap: .venv/.demo-ready
	$(BIN)/scuff demo --out out/demo --overlap

test: setup lint
	$(PYTEST)

test-slow: setup
	$(PYTEST) -m slow

# The oldest versions that pyproject.toml allows, but for torch: its pin in constraints.txt holds here too, since older
# builds are not to be had everywhere. Tests that need further packages (ray, S3, ONNX, a browser) are not run. The oldest
# typer imports names that today's click deprecates.
test-oldest: .venv-oldest/.ready
	.venv-oldest/bin/python -m pytest -n auto -W "ignore:'click:DeprecationWarning" $(OLDEST)

OLDEST := tests/door tests/ops tests/kernels tests/suites tests/metrics tests/design tests/data tests/store tests/cli \
	tests/corruptions/test_regression.py

.venv-oldest/.ready: pyproject.toml constraints.txt tools/oldest_versions.py
	$(PYTHON) -m venv .venv-oldest
	$(PYTHON) tools/oldest_versions.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check -c .venv-oldest/constraints.txt -e ".[report,test]"
	touch $@

test-real: setup
	SCUFF_DATA=$(DATA) $(BIN)/python -m pytest tests/results/test_real_*.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --jobs auto --quiet docs build/site
	@echo "The site: build/site/index.html"

gallery: setup
	rm -rf docs/gallery
	$(BIN)/scuff gallery docs/gallery --no-large
	$(BIN)/python tools/target_pictures.py docs/targets

locks: setup
	$(BIN)/python tests/repository_locks.py

bench: setup
	$(PIP) -e ".[bench]"
	$(BIN)/python benchmarks/corruptions_cpu.py
	$(BIN)/python benchmarks/separation.py
	$(BIN)/python benchmarks/augment.py
	$(BIN)/python benchmarks/validity.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/explore.py

clean:
	rm -rf .venv .venv-oldest out build dist docs/reference/generated
