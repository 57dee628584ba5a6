# Connector Gateway. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GATEWAY := target/release/connector-gateway
CORE := target/wasm/wasm32-unknown-unknown/connector
CONNECTORS := $(filter-out sdk,$(notdir $(patsubst %/Cargo.toml,%,$(wildcard connectors/*/Cargo.toml))))
GUESTS := $(notdir $(patsubst %/Cargo.toml,%,$(wildcard tests/guests/*/Cargo.toml)))
PYTHON_TOOLS := target/python

# Debian's packages for what cannot be built without: a C compiler for SQLite and the TLS library, Python for the
# validator of the API's description.
PACKAGES := gcc g++ libc6-dev make python3 python3-pip

.PHONY: help setup build modules guests run demo test bench lint clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Check the toolchain and install what is missing
	@command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup (https://rustup.rs), then run this again." >&2; exit 1; }
	@for tool in cc c++ python3; do \
	  command -v $$tool >/dev/null && continue; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PACKAGES); \
	  else \
	    echo "$$tool is missing: install $(PACKAGES), then run this again." >&2; exit 1; \
	  fi; \
	done

build: setup ## Build the gateway, and every connector into modules/
	@cargo build --release -p connector-gateway -p product-tests --bins
	@$(MAKE) --no-print-directory modules

modules:
	@connectors/build.sh
	@mkdir -p modules target/modules
	@for connector in $(CONNECTORS); do \
	  $(GATEWAY) connectors pack $(CORE)/$$connector.wasm --output target/modules/$$connector.wasm; \
	done
	@# The list first: a running gateway takes each module as soon as it is there.
	@cd target/modules && sha256sum $(addsuffix .wasm,$(CONNECTORS)) > SHIPPED && mv SHIPPED ../../modules/SHIPPED
	@for connector in $(CONNECTORS); do \
	  cmp -s target/modules/$$connector.wasm modules/$$connector.wasm || \
	    { cp target/modules/$$connector.wasm modules/.$$connector.new && mv modules/.$$connector.new modules/$$connector.wasm; }; \
	done

run: build ## Run the gateway on SQLite with every connector live
	@exec $(GATEWAY) serve

demo: build guests ## Walk through the product, offline
	@target/release/demo

guests: build
	@connectors/build.sh $(addprefix -p ,$(GUESTS))
	@mkdir -p target/guests
	@for guest in $(GUESTS); do \
	  $(GATEWAY) connectors pack $(CORE)/$$guest.wasm --output target/guests/$$guest.wasm; \
	done

test: build guests $(PYTHON_TOOLS) ## Run every test
	@tests/postgres.sh cargo test --release --workspace

$(PYTHON_TOOLS):
	@python3 -m pip install --quiet --disable-pip-version-check --target $@.new openapi-spec-validator==0.7.2
	@mv $@.new $@

bench: build guests ## Measure, each figure beside a peer in the same run
	@cargo bench -p connector-gateway --bench figures

lint: setup ## Check format, lints and documentation
	@cargo fmt --all --check
	@cargo clippy --release --workspace --all-targets -- -D warnings
	@RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --document-private-items --quiet

clean: ## Remove everything that was built
	@rm -rf target modules
