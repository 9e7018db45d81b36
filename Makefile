# make demo   compare the accountants on one training run and draw its trade-off curve
# make test   style, types and tests
# make lint   style and types only
# make bench  speed, width and memory against other accountants, installed in .bench-venv (20 to 25 minutes)
# make test-integrations         the adapters in the real Opacus and dp-accounting, the examples, the notebook
# make test-integrations-oldest  the same with the oldest supported releases, installed in .oldest-venv
# make tour   run the notebook examples/tour.ipynb again and keep its outputs
# make clean  remove everything that make and the tools made
#
# Each makes its environment first if it is not there, or if pyproject.toml changed.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
PEERS := .bench-venv/ready
INTEGRATIONS := .venv/integrations-ready
OLDEST := .oldest-venv/ready
TORCH := torch==2.13.0  # first and exactly this one, which has a CPU build: others bring gigabytes for graphics cards
# Two workers share two cores: threads of the linear algebra would only wait for each other.
TEST := OPENBLAS_NUM_THREADS=1
# Little of what is installed is ever imported, and compiled then: to compile all of it takes half the time.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
# What is compiled is kept, whatever the shell says: each process that a test starts would compile its imports again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench test-integrations test-integrations-oldest tour clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(READY): pyproject.toml
	@echo "Making .venv and installing edgeworth into it (first time only, a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python $(INSTALL) --editable '.[dev]'
	@touch $@

demo: $(READY)
	@mkdir -p out
	@$(BIN)/edgeworth compare --noise-multiplier 0.8 --rate 0.00512 --steps 5000 --delta 1e-5 \
		--plot out/demo-tradeoff.png

test: lint
	@echo "== tests"
	@$(TEST) $(BIN)/pytest --quiet

lint: $(READY)
	@echo "== style"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@echo "== types"
	@$(BIN)/mypy

$(INTEGRATIONS): $(READY)
	@echo "Installing torch, opacus and dp-accounting into .venv (first time only, some minutes)"
	@$(BIN)/python $(INSTALL) $(TORCH)
	@$(BIN)/python $(INSTALL) $(TORCH) --editable '.[dev,integrations]'
	@$(BIN)/python -m pip check
	@touch $@

test-integrations: $(INTEGRATIONS)
	@echo "== adapters, examples, notebook"
	@$(TEST) $(BIN)/pytest --quiet tests/integrations src/edgeworth/integrations

tour: $(INTEGRATIONS)
	@$(BIN)/jupyter-execute --inplace examples/tour.ipynb

$(OLDEST): pyproject.toml tests/integrations/oldest.txt
	@echo "Making .oldest-venv and installing the oldest supported releases into it (first time only, some minutes)"
	@test -x .oldest-venv/bin/python || $(PYTHON) -m venv .oldest-venv
	@.oldest-venv/bin/python $(INSTALL) $(TORCH)
	@.oldest-venv/bin/python $(INSTALL) --requirement tests/integrations/oldest.txt --editable '.[dev,integrations]'
	@.oldest-venv/bin/python -m pip check
	@touch $@

test-integrations-oldest: $(OLDEST)
	@echo "== the same with the oldest supported releases"
	@$(TEST) .oldest-venv/bin/pytest --quiet tests/integrations src/edgeworth/integrations

$(PEERS): pyproject.toml benchmarks/requirements.txt
	@echo "Making .bench-venv and installing the other accountants into it (first time only, some minutes)"
	@test -x .bench-venv/bin/python || $(PYTHON) -m venv .bench-venv
	@.bench-venv/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement benchmarks/requirements.txt --editable '.[plot]'
	@touch $@

bench: $(PEERS)
	@.bench-venv/bin/python -m benchmarks

clean:
	@rm -rf .venv .bench-venv .oldest-venv out build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
