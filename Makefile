# Everything one does in a checkout. `make help` lists it. Needs Python 3.11 or newer, git and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
HOST ?= 127.0.0.1
PORT ?= 8000

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -qq
SERVER := $(VENV)/.server-installed
DEV := $(VENV)/.dev-installed
BENCH := $(VENV)/.bench-installed

# What an operator would set; none of it is a secret, and nothing is connected to.
PRODUCTION := DATABASE_URL=postgresql://relayger@127.0.0.1/relayger REDIS_URL=redis://127.0.0.1/0 \
	RELAYGER_ORIGIN=https://relayger.example RELAYGER_TRUSTED_PROXIES=1 SECRET_KEY=$(shell printf 'check-%.0s' 1 2 3 4 5 6 7 8 9 10)only
SCHEMA := $(PY) manage.py spectacular --validate --fail-on-warn --file

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run demo install dev test test-faults check lint format types contracts migrations \
	migrations-check deploy-check openapi openapi-check bench lock clean

help:  ## Show this list
	@sed -nE 's/^([a-z-]+):.*  ## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-18s %s\n", $$1, $$2 }'

run: install  ## Install what is missing and serve on HOST:PORT (127.0.0.1:8000)
	exec $(VENV)/bin/relayger serve --host $(HOST) --port $(PORT)

demo: install  ## The same, after doing the main job once before your eyes
	exec env HOST=$(HOST) PORT=$(PORT) $(PY) -m relayger.demo

install: $(SERVER)  ## Install what the service needs, from the lock

dev: $(DEV)  ## Install what working on it needs, from the lock

# pip, too, is told nothing but the lock: every file it installs has its hash there.
$(VENV)/.made:
	@echo "Making $(VENV) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: make PYTHON=…")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(SERVER) $(DEV) $(BENCH): $(VENV)/.%-installed: requirements/%.txt pyproject.toml | $(VENV)/.made
	@echo "Installing $<"
	@$(PIP) install --require-hashes -r $<
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

test: $(DEV)  ## Run the tests: embedded always, PostgreSQL + Redis too when they answer (TEST_SETUP, ARGS)
	@$(PY) -m tests.harness.suite -m "not faults" $(ARGS)

test-faults: $(DEV)  ## Run the tests that stop, kill and starve parts of the service
	@$(PY) -m tests.harness.suite -m faults $(ARGS)

check: lint types contracts migrations-check deploy-check openapi-check  ## Everything but the tests

lint: $(DEV)  ## Ruff, rules and format
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

format: $(DEV)  ## Let ruff mend what it can
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

types: $(DEV)  ## mypy
	$(VENV)/bin/mypy apps relayger

contracts: $(DEV)  ## Which app may import which
	$(VENV)/bin/lint-imports

migrations: $(DEV)  ## Write the migrations that the models ask for
	$(PY) manage.py makemigrations

migrations-check: $(DEV)  ## Fail if the models ask for a migration
	$(PY) manage.py makemigrations --check --dry-run

deploy-check: $(DEV)  ## Django's checks with the settings of a deployment
	$(PRODUCTION) $(PY) manage.py check --deploy --fail-level WARNING

openapi: $(DEV)  ## Write docs/openapi.yaml from the code
	$(SCHEMA) docs/openapi.yaml

openapi-check: $(DEV)  ## Fail if docs/openapi.yaml is not what the code says
	@mkdir -p build
	$(SCHEMA) build/openapi.yaml
	diff -u docs/openapi.yaml build/openapi.yaml

bench: $(BENCH)  ## Measure the A2A paths beside the official SDK's server (ARGS)
	$(PY) -m benchmarks.a2a $(ARGS)

# The locks hold for every platform and each Python from 3.11 on; uv is needed only here.
UV ?= uv
COMPILE := $(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	--custom-compile-command "make lock" pyproject.toml --group build --extra server
lock:  ## Resolve the locks again; UPGRADE=--upgrade takes the newest releases
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: pip install uv"; exit 1; }
	$(COMPILE) $(UPGRADE) --output-file requirements/server.txt
	$(COMPILE) $(UPGRADE) --extra dev --constraints requirements/server.txt --output-file requirements/dev.txt
	$(COMPILE) $(UPGRADE) --extra bench --constraints requirements/dev.txt --output-file requirements/bench.txt

clean:  ## Remove what was installed and built; var/, the service's data, stays
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
