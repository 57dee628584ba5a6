# Connector Gateway. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Every cargo command here names the whole workspace, even if it builds one binary. Cargo then chooses the same features for
# every dependency, and builds each dependency once.

# The binary that `make run` and the tests use. `make dist` and `make bench` use the optimised one instead.
GATEWAY := target/debug/connector-gateway
# It is built twice. The first one counts how often each part of its code runs while it is called, and the compiler optimises the second
# one by the counts. A call then takes about a sixth less of the processor. Build scripts do not count, because the target is named.
TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')
COUNTING = target/profile/$(TRIPLE)/release/connector-gateway
COUNTS := target/profile/counts
PROFILE := target/profile/gateway.profdata
BY_PROFILE := RUSTFLAGS="-Cprofile-use=$(CURDIR)/$(PROFILE)"
OPTIMISED = target/$(TRIPLE)/release/connector-gateway
CORE := target/wasm/wasm32-unknown-unknown/connector
# The gateway takes the connectors in this folder next to its binary for shipped ones.
SHIPPED := target/debug/connectors
EXAMPLES := $(notdir $(patsubst %/Cargo.toml,%,$(wildcard connectors/examples/*/Cargo.toml)))
CONNECTORS := $(filter-out sdk,$(notdir $(patsubst %/Cargo.toml,%,$(wildcard connectors/*/Cargo.toml))))
GUESTS := $(notdir $(patsubst %/Cargo.toml,%,$(wildcard tests/guests/*/Cargo.toml)))
# The parts of `make test-all` that need an installation. A test of a part is ignored unless its make target runs, and is in a module
# with the name of the part. The longest ones are first, so that no long one is left at the end if two run at once.
PARTS := authors languages browser clients shipping documents
# Packages of Python and Node.js, and programs of Debian's packages, for a part of the tests: target/python/PART, target/node/PART and
# target/debian/PART. `core` is what `make test` needs. A changed list of packages installs them anew.
PYTHON := target/python
NODE := target/node
DEBIAN := target/debian
# The program that renders the chart.
HELM := target/helm
# The SDKs for other languages, what they need to build a module, and the modules of the tests.
SDK_JS := connectors/sdk-js
SDK_PYTHON := connectors/sdk-python
COMPONENTIZE_JS := target/sdk-js
COMPONENTIZE_PY := target/sdk-python
LANGUAGES := $(addprefix target/languages/,javascript.wasm javascript-quickjs.wasm python.wasm)
# The crate of rows as a module, which both packages have: the build checks rows with it, and tests make their requests with it.
ROWS := $(SDK_JS)/rows.wasm $(SDK_PYTHON)/connector_sdk/rows.wasm
# Components for each published version of the contract.
FROZEN := $(foreach version,$(notdir $(wildcard wit/frozen/*)),$(addprefix target/frozen/$(version)/,javascript.wasm python.wasm))
# The program that makes the bindings of a connector in C. The page names its version.
WIT_BINDGEN := target/wit-bindgen/bin/wit-bindgen
# The crates of the page about libraries, some of which the gateway does not have. Cargo keeps them, so that the page's test needs no network.
CRATES := target/crates
# The packages and programs of others that the tests need, except $(WIT_BINDGEN), whose build takes minutes.
INSTALLED := $(addprefix $(DEBIAN)/,core languages shipping) $(addprefix $(NODE)/,clients browser documents languages) \
  $(addprefix $(PYTHON)/,clients shipping) $(COMPONENTIZE_JS) $(COMPONENTIZE_PY) $(HELM) $(CRATES)
# The last commit of the release before, and its gateway.
PREVIOUS_COMMIT := 0b29fd93fdaeaf0846030332f4daa1ed48cdbb53
PREVIOUS := target/previous/$(PREVIOUS_COMMIT)/connector-gateway
PREVIOUS_GUESTS := account liar
FUZZ_TARGETS := $(basename $(notdir $(wildcard host/fuzz/fuzz_targets/*.rs)))
FUZZ_SECONDS ?= 60
CARGO_DENY := 0.20.2

# Tests mostly wait for processes and sockets, and some for each other, so three of them share a core. In `make test`, five share a
# core, because some of its tests wait for a minute to pass.
TESTS_PER_CORE := 3
test test-product: TESTS_PER_CORE := 5
export RUST_TEST_THREADS ?= $(shell echo $$(($(TESTS_PER_CORE) * $$(nproc))))

# Otherwise Cargo would share the jobs of `make --jobs`, and each of two targets would build on one core.
export CARGO_MAKEFLAGS :=

# Debian packages that a fresh machine needs: a C compiler for SQLite and the TLS library, and curl and git for commands of tests.
PACKAGES := gcc g++ libc6-dev make curl ca-certificates git
# Those of parts of the tests.
PYTHON_PACKAGES := python3 python3-pip python3-venv
NODE_PACKAGES := nodejs npm

.PHONY: help setup setup-python setup-node build shipped guests run demo check sdks languages frozen test test-all test-parts $(addprefix test-,$(PARTS)) \
  installations test-unit test-simulation test-sdks test-product test-conformance test-upgrade soak fuzz fuzz-api audit browser bench profile dist lint \
  lint-docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Check the toolchain and install missing packages
	@command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup (https://rustup.rs), then run this command again." >&2; exit 1; }
	@$(call install,cc c++ curl git,$(PACKAGES),to build the gateway)

setup-python:
	@$(call install,python3 pip3,$(PYTHON_PACKAGES),for tools of the tests)

setup-node:
	@$(call install,node npm,$(NODE_PACKAGES),for tools of the tests)

# Installs the Debian packages $(2) if one of the programs $(1) is missing, and says why: $(3). A second apt-get waits for the first one.
install = for tool in $(1); do \
  command -v $$tool >/dev/null && continue; \
  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    echo "Installing $(2) $(3)."; \
    flock /etc/apt sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2) >/dev/null'; break; \
  else \
    echo "$$tool is missing: install $(2), then run this command again." >&2; exit 1; \
  fi; \
done

build: setup ## Build the gateway, and every connector into the folder `connectors` next to it
	@cargo build --workspace --bin connector-gateway
	@$(MAKE) --no-print-directory shipped

# Packs every connector into $(SHIPPED) with the binary $(GATEWAY), and removes those that the source no longer has.
shipped:
	@connectors/build.sh
	@mkdir -p $(SHIPPED)
	@for connector in $(CONNECTORS); do \
	  schemas=connectors/$$connector/answer_schemas.json; [ -f $$schemas ] || schemas=; \
	  $(GATEWAY) connectors pack $(CORE)/$$connector.wasm --output $(SHIPPED)/$$connector.wasm $${schemas:+--answer-schemas $$schemas}; \
	done
	@rm -f $(filter-out $(addprefix $(SHIPPED)/,$(addsuffix .wasm,$(CONNECTORS))),$(wildcard $(SHIPPED)/*.wasm))

run: build ## Run the gateway on SQLite with every connector
	@exec $(GATEWAY) serve

demo: build guests ## Walk through the product, offline
	@cargo build -q --workspace --bin demo && target/debug/demo

guests: build
	@connectors/build.sh --only $(addprefix -p ,$(GUESTS) $(EXAMPLES))
	@mkdir -p target/guests
	@for guest in $(GUESTS) $(EXAMPLES); do \
	  $(GATEWAY) connectors pack $(CORE)/$$guest.wasm --output target/guests/$$guest.wasm; \
	done

check: setup ## Check format, lints and unit tests: the quick loop while you write
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets --features simulation/run -- -D warnings
	@$(MAKE) --no-print-directory test-unit

# `make test` installs PostgreSQL and four small programs, and no toolchain.
test: build guests $(DEBIAN)/core ## Run the unit tests, and the tests of the product that need no toolchain of others
	@tests/postgres.sh cargo test --workspace
	@$(SIMULATION)

test-all: test test-parts ## Run every test: `make test`, then each part that needs an installation

# The parts share no files but those that are made before them, and the workshops of tests/support/workshop.rs. So two may run at once.
test-parts: $(addprefix test-,$(PARTS))

# This waits for networks and hardly needs a core, so `.ci/run` does it while other work needs the cores.
installations: $(INSTALLED) browser ## Install what `make test-all` needs, except wit-bindgen, which is built
	@tests/postgres.sh true

# Each part runs its ignored tests, with what they need. A part fails if what it needs cannot be installed.
test-clients: build guests $(PYTHON)/clients $(NODE)/clients ## Run generators of clients, MCP clients, and the conformance suite of MCP
	@$(call part,product,clients)

test-browser: build guests $(NODE)/browser browser setup-python ## Open the pages and the console in Chromium
	@$(call part,product,browser)

test-languages: build guests sdks languages frozen test-sdks $(DEBIAN)/languages $(WIT_BINDGEN) ## Test connectors in JavaScript, Python and C, and their SDKs
	@$(call part,product,languages)

test-authors: build guests sdks $(CRATES) $(DEBIAN)/core setup-python ## Make projects as authors do, follow the pages for authors, and check the messages of the SDK
	@$(call part,product,authors)
	@cargo test --workspace --test messages -- --ignored

test-documents: build $(NODE)/documents ## Make connectors of other people's OpenAPI documents
	@$(call part,conformance,documents)

test-shipping: build guests sdks $(DEBIAN)/core $(DEBIAN)/shipping $(HELM) $(PYTHON)/shipping ## Test the archive, the unit, the image, the chart and the alert rules
	@$(call part,product,shipping)

# The simulation needs crates with its feature.
SIMULATION = cargo test --workspace --features simulation/run --test simulation

part = tests/postgres.sh cargo test --workspace --test $(1) -- --ignored $(2)::

test-unit: setup ## Run the unit tests; T=name selects some
	@tests/postgres.sh cargo test --workspace --lib $(T)

test-simulation: setup ## Run the simulation of gateways on one clock: SIMULATION_SEED=n runs one schedule
	@$(SIMULATION)

test-sdks: $(NODE)/languages $(SDK_JS)/connector.wit $(ROWS) $(COMPONENTIZE_PY) ## Run the unit tests of the SDKs for JavaScript and Python
	@node --test --test-reporter=dot $(SDK_JS)/test/
	@$(NODE)/languages/node_modules/.bin/tsc --project $(SDK_JS)/test
	@PYTHONPATH=$(CURDIR)/$(SDK_PYTHON):$(CURDIR)/$(COMPONENTIZE_PY) python3 -m unittest discover --start-directory $(SDK_PYTHON)/tests

test-product: build guests $(DEBIAN)/core ## Run the tests of the product that `make test` has; T=name selects some
	@tests/postgres.sh cargo test --workspace --test product $(T)

test-conformance: build ## Compare every operation with its provider's specification and with the catalogue
	@cargo test --workspace --test conformance

# The release before is built from its last commit, in a separate target folder, and kept. Its gateways know only its contract, so both
# releases run its guests.
test-upgrade: build $(PREVIOUS) ## Replace gateways of the release before by gateways of this one, while they are called
	@PREVIOUS_COMMIT=$(PREVIOUS_COMMIT) PREVIOUS_GATEWAY=$(CURDIR)/$(PREVIOUS) GUESTS_FOLDER=$(CURDIR)/$(dir $(PREVIOUS))guests \
	  tests/postgres.sh cargo test --workspace --test upgrade

$(PREVIOUS):
	@rm -rf $(@D)/source && mkdir -p $(@D)/source
	@git archive $(PREVIOUS_COMMIT) | tar -x -C $(@D)/source
	@cargo build --manifest-path $(@D)/source/Cargo.toml --workspace --bin connector-gateway --target-dir $(@D)/target
	@$(@D)/source/connectors/build.sh --only $(addprefix -p ,$(PREVIOUS_GUESTS))
	@mkdir -p $(@D)/guests
	@for guest in $(PREVIOUS_GUESTS); do \
	  $(@D)/target/debug/connector-gateway connectors pack $(@D)/source/$(CORE)/$$guest.wasm --output $(@D)/guests/$$guest.wasm; \
	done
	@cp $(@D)/target/debug/connector-gateway $@

# The servers of `make soak` and `make bench` are as operators have them, except that they need not survive a crash of the machine.
soak bench: export POSTGRES_OF_OPERATORS := yes

soak: build guests ## Run gateways under load, attacks and failures for SOAK_MINUTES (10), and write host/docs/soak.md; SOAK_ONLY=simulation runs one part
	@case "$(SOAK_ONLY)" in ""|simulation) \
	  SIMULATION_SOAK=20000 $(SIMULATION) every_schedule_keeps_the_invariants -- --nocapture;; \
	esac
	@[ "$(SOAK_ONLY)" = simulation ] || { cargo build -q --workspace --bin soak && tests/postgres.sh target/debug/soak; }

# Each target has inputs with names in host/fuzz/corpus, and an archive of the inputs that libFuzzer found, which are unpacked into
# target/fuzz. What a run finds is there too. `-merge=1` keeps those that reach new code, and `tar -czf` packs them.
fuzz: setup ## Fuzz each target for FUZZ_SECONDS (60); T=name selects one
	@RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/host/fuzz/instrument.sh \
	  cargo build --workspace $(addprefix --bin fuzz_,$(or $(T),$(FUZZ_TARGETS)))
	@for target in $(or $(T),$(FUZZ_TARGETS)); do \
	  mkdir -p target/fuzz/$$target && \
	  tar -xzf host/fuzz/corpus/$$target.tar.gz -C target/fuzz/$$target && \
	  target/debug/fuzz_$$target target/fuzz/$$target host/fuzz/corpus/$$target \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -artifact_prefix=target/fuzz/$$target- -print_final_stats=1; \
	done

fuzz-api: build $(PYTHON)/fuzz_api ## Fuzz the API of a gateway by its description for FUZZ_MINUTES (15)
	@cargo build -q --workspace --bin fuzz_api
	@target/debug/fuzz_api

# cargo-deny is built without optimisation, which takes a minute, and is kept in Cargo's own folder. Without a network to the
# advisory database, its last copy is used; without a copy, everything else is checked.
audit: setup ## Check the dependencies: advisories, licences, bans and sources
	@command -v cargo-deny >/dev/null || cargo install --quiet --locked --debug cargo-deny@$(CARGO_DENY)
	@cargo deny --config .cargo/deny.toml check --hide-inclusion-graph licenses bans sources
	@if timeout 120 cargo deny --config .cargo/deny.toml fetch db 2>/dev/null || \
	    compgen -G "$${CARGO_HOME:-$$HOME/.cargo}/advisory-dbs/*/" >/dev/null; then \
	  cargo deny --config .cargo/deny.toml check --disable-fetch advisories; \
	else \
	  echo "audit: advisories are not checked, because there is neither a network to their database nor a copy of it" >&2; \
	fi

$(PYTHON)/%: tests/%/requirements.txt | setup-python
	@echo "Installing packages of Python into $@: $$(sed '/^#/d' $< | paste -sd ' ')."
	@rm -rf $@ $@.new
	@python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target $@.new --requirement $<
	@mv $@.new $@

$(NODE)/%: tests/%/package-lock.json | setup-node
	@echo "Installing packages of Node.js into $@: $$(sed -n 's/^  "description": "\(.*\)",/\1/p' tests/$*/package.json)"
	@rm -rf $@ $@.new && mkdir -p $@.new && cp tests/$*/package.json $< $@.new
	@npm ci --prefix $@.new --silent --no-audit --no-fund --ignore-scripts
	@mv $@.new $@

$(DEBIAN)/%: tests/debian.sh tests/debian.txt | setup
	@awk '$$1 == "$*" { package = $$2; $$1 = $$2 = ""; print "Unpacking " package ", which" $$0 "." }' tests/debian.txt | sed 's/ \+/ /g;s/which a /a /;s/which the /the /'
	@mkdir -p $(@D)
	@tests/debian.sh $@ $$(awk '$$1 == "$*" { print $$2 }' tests/debian.txt)

# Built without optimisation, which takes two minutes.
$(WIT_BINDGEN): connectors/docs/c.md | setup
	@echo "Building wit-bindgen into $@, for the page about connectors in C."
	@CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --no-default-features --features c \
	  --root $(abspath $(@D)/..) $$(grep -om1 'wit-bindgen-cli@[0-9.]*[0-9]' $<)
	@touch $@

$(CRATES): connectors/docs/libraries.md | setup
	@rm -rf $@ $@.new && mkdir -p $@.new && touch $@.new/lib.rs
	@printf '[package]\nname = "crates"\nedition = "2024"\n[lib]\npath = "lib.rs"\n[workspace]\n' >$@.new/Cargo.toml
	@sed -n 's|^cargo add|& --manifest-path $@.new/Cargo.toml|p' $< | bash -e
	@cargo fetch --quiet --manifest-path $@.new/Cargo.toml
	@mv $@.new $@

$(HELM): tests/helm.sh | setup-node setup-python
	@echo "Unpacking helm into $@, to render the chart."
	@mkdir -p $(@D)
	@tests/helm.sh $@

languages: $(LANGUAGES) ## Build the connectors of tests/languages with the SDKs for JavaScript and Python

$(COMPONENTIZE_JS): $(SDK_JS)/package-lock.json | setup-node
	@echo "Installing the tools of the SDK for JavaScript into $@."
	@rm -rf $@ $@.new && mkdir -p $@.new && cp $(SDK_JS)/package.json $< $@.new
	@npm ci --prefix $@.new --silent --no-audit --no-fund --ignore-scripts
	@mv $@.new $@ && ln -sfn ../../$@/node_modules $(SDK_JS)/node_modules

$(COMPONENTIZE_PY): $(SDK_PYTHON)/requirements.txt | setup-python
	@echo "Installing the tools of the SDK for Python into $@."
	@rm -rf $@ $@.new
	@python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target $@.new --requirement $<
	@mv $@.new $@

# npm packs no file from above the package and no link, so the package has a copy of the contract.
$(SDK_JS)/connector.wit: wit/connector.wit
	@cp $< $@

sdks: $(ROWS) $(SDK_JS)/connector.wit ## Build what the SDKs for JavaScript and Python have and the source does not

$(ROWS) &: $(shell find wit/rows wit/rows_module wit/rules -name '*.rs' -o -name Cargo.toml) | setup
	@connectors/build.sh --only -p rows_module
	@for file in $(ROWS); do cp $(CORE)/rows_module.wasm $$file; done

target/languages/javascript%wasm: tests/languages/javascript/connector.js $(SDK_JS)/connector.wit $(ROWS) $(COMPONENTIZE_JS) $(wildcard $(SDK_JS)/bin/* $(SDK_JS)/src/*.js $(SDK_JS)/src/build/*)
	@mkdir -p $(@D)
	@node $(SDK_JS)/bin/connector-build.js $< --output $@ $(if $(findstring quickjs,$@),--engine quickjs)

target/languages/python.wasm: tests/languages/python/connector.py wit/connector.wit $(ROWS) $(COMPONENTIZE_PY) $(wildcard $(SDK_PYTHON)/connector_sdk/*.py)
	@mkdir -p $(@D)
	@PYTHONPATH=$(SDK_PYTHON):$(COMPONENTIZE_PY) python3 -m connector_sdk.build $< --output $@

frozen: $(FROZEN) ## Build the components of wit/frozen in JavaScript and Python

target/frozen/%/javascript.wasm: wit/frozen/%/javascript/connector.js wit/frozen/%/connector.wit $(COMPONENTIZE_JS)
	@mkdir -p $(@D)
	@$(COMPONENTIZE_JS)/node_modules/.bin/componentize-qjs --wit wit/frozen/$*/connector.wit --world connector --js $< \
	  --stub-wasi --sync --output $@ >/dev/null

target/frozen/%/python.wasm: wit/frozen/%/python/connector.py wit/frozen/%/connector.wit $(COMPONENTIZE_PY)
	@mkdir -p $(@D)
	@PYTHONPATH=$(COMPONENTIZE_PY) $(COMPONENTIZE_PY)/bin/componentize-py --wit-path wit/frozen/$*/connector.wit --world connector \
	  componentize --stub-wasi --python-path $(<D) --output $@ connector >/dev/null

browser:
	@$(call install,chromium,chromium,to open pages)

profile: guests ## Call a gateway that counts how often its code runs, for `make dist`
	@RUSTFLAGS="-Cprofile-generate=$(CURDIR)/$(COUNTS)" \
	  cargo build --release --workspace --bin connector-gateway --target $(TRIPLE) --target-dir target/profile
	@[ $(PROFILE) -nt $(COUNTING) ] || { \
	  profdata=$$(host/llvm_profdata.sh); \
	  rm -rf $(COUNTS); \
	  GATEWAY_BINARY=$(CURDIR)/$(COUNTING) cargo bench --profile dev --workspace --bench figures -- train; \
	  $$profdata merge --output $(PROFILE) $(COUNTS)/*.profraw; \
	}

dist: profile sdks ## Build the optimised gateway and the connectors into target/dist, and pack them into an archive
	@GATEWAY_COMMIT=$$(git rev-parse HEAD) $(BY_PROFILE) \
	  cargo build --release --workspace --bin connector-gateway --target $(TRIPLE)
	@$(MAKE) --no-print-directory shipped GATEWAY=$(OPTIMISED) SHIPPED=target/dist/connectors
	@cp $(OPTIMISED) target/dist/.connector-gateway.new && mv target/dist/.connector-gateway.new target/dist/connector-gateway
	@host/deploy/pack.sh target/dist/connector-gateway target/dist/connectors $(TRIPLE) target/dist

bench: dist languages $(DEBIAN)/bench $(NODE)/browser browser ## Measure the optimised gateway, each figure compared with a peer in the same run; T=swap selects a section
	@connectors/build.sh --only -p bench_serve
	@$(BY_PROFILE) tests/postgres.sh cargo bench --workspace --bench figures --target $(TRIPLE) -- $(T)

lint: setup ## Check format, lints, words, places of files, clocks and names, and the features of crates
	@host/places.sh
	@host/words.sh
	@host/features.sh
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets --features simulation/run -- -D warnings

lint-docs: setup ## Check the documentation of the code
	@RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet

clean: ## Remove everything that was built
	@rm -rf target
