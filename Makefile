# Two commands set everything up on a machine that has Python 3.10 or newer, make and a way to PyPI:
#   make demo   classify a real log
#   make test   lint, types and the whole suite, on every Python here that is supported
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test suite score calibrate versions lint format bench drift clean

demo: $(VENV)/.installed
	-$(BIN)/vllm-crashsig classify samples/demo/vllm.log

test: lint suite score versions

suite: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

# How good the answers are on the labelled logs and on what is made of them; fails when they fell behind the stored baseline.
score: $(VENV)/.dev
	$(BIN)/python tools/score/score.py

# Fits the weights of the confidence anew (when `make score` says that they are stale).
calibrate: $(VENV)/.dev
	$(BIN)/python tools/score/calibrate.py

# The suite on the oldest and the newest other Python of this machine (a missing one is no error).
versions: $(VENV)/.dev
	$(BIN)/python tests/other_pythons.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vllm-crashsig catalogue lint

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# How fast it is beside other programs and bare libraries, as ratios, into benchmarks/RESULTS.md (ten minutes; BENCH=--quick: two).
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/bench.py --write $(BENCH)

# What the newest vLLM, Ray, torch and NCCL on PyPI changed of what the catalogue names and matches (1.5 GB to download).
drift: $(VENV)/.dev
	$(BIN)/python tools/upstream/drift.py

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed; run make PYTHON=/path/to/python3.x")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q vllm_crashsig
	touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -m compileall -q vllm_crashsig
	touch $@ $(VENV)/.installed

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python benchmarks/install.py
	touch $@

clean:
	rm -rf $(VENV) .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
