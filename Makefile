# make demo   compare the accountants on one training run and draw its trade-off curve
# make test   style, types and tests
# make lint   style and types only
# make bench  speed, width and memory against other accountants, installed in .bench-venv (about half an hour)
# make clean  remove everything that make and the tools made
#
# Each makes its environment first if it is not there, or if pyproject.toml changed.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
PEERS := .bench-venv/ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(READY): pyproject.toml
	@echo "Making .venv and installing edgeworth into it (first time only, a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)
	@mkdir -p out
	@$(BIN)/edgeworth compare --noise-multiplier 0.8 --rate 0.00512 --steps 5000 --delta 1e-5 \
		--plot out/demo-tradeoff.png

test: lint
	@echo "== tests"
	@$(BIN)/pytest --quiet

lint: $(READY)
	@echo "== style"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@echo "== types"
	@$(BIN)/mypy

$(PEERS): pyproject.toml benchmarks/requirements.txt
	@echo "Making .bench-venv and installing the other accountants into it (first time only, some minutes)"
	@test -x .bench-venv/bin/python || $(PYTHON) -m venv .bench-venv
	@.bench-venv/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement benchmarks/requirements.txt --editable '.[plot]'
	@touch $@

bench: $(PEERS)
	@.bench-venv/bin/python -m benchmarks

clean:
	@rm -rf .venv .bench-venv out build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
