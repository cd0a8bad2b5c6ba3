# Everything starts here. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RAG := $(BIN)/rag
E ?= quickstart
B ?= $(or $(wildcard bundles/current),$(shell ls -td bundles/$(E)-*/ 2> /dev/null | head -n 1),bundles/current)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_RETRIES := 10
export PIP_DEFAULT_TIMEOUT := 60

.DEFAULT_GOAL := help
.PHONY: help install core lock sweep plan report baseline gate export serve ui ask chat test browser tests test-fast test-llm check bench docs clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

install: $(VENV)/installed ## Make the environment in .venv, with all extras and the tools of tests

core: $(VENV)/core ## Make the environment in .venv, with the core and MLflow alone

# uv takes a tenth of pip's time. pip installs where uv cannot, as from an index that only pip's configuration names.
define locked
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps $(1) \
		|| $(BIN)/pip install --quiet --require-hashes --no-deps $(1)
endef

$(VENV)/core: pyproject.toml requirements-uv.lock requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-uv.lock
	$(call locked,--requirement requirements.lock)
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/installed: $(VENV)/core requirements-image.lock requirements-dev.lock requirements-torch.lock
	$(call locked,--requirement requirements-image.lock --requirement requirements-dev.lock)
	$(BIN)/pip install --quiet --constraint requirements-torch.lock torch
	$(BIN)/pip check
	@touch $@

lock: core ## Write the locks anew, after a change of pyproject.toml
	bash .ci/lock

sweep: core ## Run an experiment and print its leaderboard       (E=quickstart)
	$(RAG) sweep $(E)

plan: core ## Show what a sweep would run, reuse and take       (E=quickstart)
	$(RAG) plan $(E)

report: core ## Write a page about a finished experiment          (E=quickstart)
	$(RAG) report $(E)

baseline: core ## Keep the recommended trial's scores, to commit    (E=quickstart)
	$(RAG) baseline $(E)

gate: core ## Compare today's conf with the committed baseline  (E=quickstart)
	@# 3 says that these questions cannot tell: a warning, unless the experiment says otherwise.
	$(RAG) gate $(E) || [ $$? -eq 3 ]

export: core ## Seal the recommended trial into bundles/          (E=quickstart)
	$(RAG) export $(E)

serve: install ## Serve a bundle on 127.0.0.1:8000                  (B=bundles/current, else the last of E)
	$(RAG) serve $(B)

ui: core ## Look at the trials in MLflow on 127.0.0.1:5000
	$(RAG) ui

ask: core ## Ask a question                                    (Q="How many days of leave do I get?")
	$(RAG) ask "$(Q)"

chat: core ## Converse; /help in it, Ctrl-D leaves
	$(RAG) chat

test: ## Check the code, run all tests
	$(MAKE) --no-print-directory -j 2 install browser
	$(MAKE) --no-print-directory -j 2 check tests

browser:
	bash .ci/browser

# One thread for each of two workers on two cores. Bytecode is written: a test process compiles what it imports otherwise.
tests test-fast: export OMP_NUM_THREADS := 1
tests test-fast: export PYTHONDONTWRITEBYTECODE :=
tests: install
	$(BIN)/pytest -n 2 --dist loadfile -rs -m "not llm"

test-fast: check ## Check the code, run the tests without browsers, databases, servers, kills and whole experiments
	$(BIN)/pytest -n 2 --dist loadfile -rs -m "not llm and not system"

test-llm: install ## Tests with a real model behind OPENAI_BASE_URL, of 1.5 billion weights or more
	$(BIN)/pytest -m llm -s -p no:cacheprovider tests/llm

check: install ## Lint, types and import contracts
	$(BIN)/ruff check rag tests docs examples
	$(BIN)/ruff format --check rag tests docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install ## Measure speed; the table goes to reports/bench.md
	PYTHONPATH=tests $(BIN)/python -m bench speed

docs: install ## Build the documentation as a site in site/
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --clean --strict

clean: ## Remove the environment, the store and what sweeps wrote
	find reports -mindepth 1 -maxdepth 1 -type d ! -name baselines -exec rm -rf {} + 2> /dev/null || true
	rm -rf $(VENV) .rag site .cache build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
