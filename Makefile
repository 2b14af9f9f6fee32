# The face of the repository. Each target sets up what it needs; a second run sets nothing up again.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
OVERLAYS = $(sort $(dir $(wildcard manifests/overlays/*/kustomization.yaml)))
CODE := certs cli cluster_model deletion_cost gpu_scheduler kube_client scheduler_plugins webhook tests benchmarks

.PHONY: help install demo test check format docs control-plane cluster bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile

install: $(INSTALLED) ## virtual environment .venv with the command gpu-scheduler

$(INSTALLED): setup.cfg pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(INSTALLED) ## admit and schedule an example workload, no cluster needed
	@$(BIN)/gpu-scheduler demo

test: $(INSTALLED) control-plane ## every test, those on the real control plane too
	$(BIN)/python -m pytest

check: $(INSTALLED) ## format, lint, types, import contracts, manifests
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo >.lint-imports.log || { cat .lint-imports.log; exit 1; }
	@for overlay in $(OVERLAYS); do echo "kustomize $$overlay"; $(BIN)/kubectl kustomize $$overlay >/dev/null || exit 1; done

format: $(INSTALLED) ## format and sort imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .

docs: $(INSTALLED) ## write docs/configuration.md anew from the code
	$(BIN)/python -m tests.docs.generate

control-plane: $(INSTALLED) ## build etcd and the Kubernetes binaries once, then take them from the cache
	@$(BIN)/python -m tests.control_plane.build

cluster: $(INSTALLED) control-plane ## a GPU cluster without a GPU, to try kubectl on, until Ctrl-C
	@$(BIN)/python -m tests.control_plane.up

bench: $(INSTALLED) control-plane ## measure against the peers; results in benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.webhook
	$(BIN)/python -m benchmarks.throughput
	$(BIN)/python -m benchmarks.deletion_cost

clean: ## remove what the targets made here (not the control plane's cache)
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .lint-imports.log build *.egg-info
