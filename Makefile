# varicap: `make run` shows TCP on a varying link, `make test` checks everything. `make help` lists the rest.

VENV := .venv
BIN := $(VENV)/bin
OUT := varicap-out
SITE := docs/_build/html
# The papers' pages of the quick run: part of the site.
GALLERY := docs/_build/papers

# Stamps: each step runs again only when something that it read has changed.
TOOLS := $(VENV)/.tools-found
PACKAGES := $(VENV)/.packages-installed
DEV_PACKAGES := $(VENV)/.dev-packages-installed
DOCS_PACKAGES := $(VENV)/.docs-packages-installed
RELEASE_PACKAGES := $(VENV)/.release-packages-installed
FEATURES := $(VENV)/.features-found
QUIC := $(VENV)/.quic-wanted
EXTENSION := $(VENV)/.extension-
COMPILER := $(VENV)/.maturin-installed
COMPILED := $(VENV)/.compiled-

REQUIREMENTS := packaging/requirements

# How the extension module is built. PROFILE=… decides; else what computes takes an optimised one, `swift` in a fresh clone:
# within a few percent of the instructions of `release`, in half the time to compile. What tests takes any that is
# installed: in a fresh clone `dev`, which `cargo test` has compiled anyway. What measures speed takes `release`.
INSTALLED := $(filter release swift dev,$(patsubst $(EXTENSION)%,%,$(wildcard $(EXTENSION)*)))
OPTIMISED := $(EXTENSION)$(or $(PROFILE),$(filter-out dev,$(INSTALLED)),swift)
ANY := $(EXTENSION)$(or $(PROFILE),$(INSTALLED),dev)
CHECKED := $(EXTENSION)dev
RELEASED := $(EXTENSION)$(or $(PROFILE),release)

RUST_SOURCES := $(shell find crates -path '*/src/*.rs' -o -name build.rs -path 'crates/*' -o -name '*.bpf.o' -path 'crates/*' -o -name Cargo.toml -path 'crates/*') schema/scenario.schema.json

WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -path web/build -prune -o -path web/dist -prune -o -type f -print)
WEB_PACKAGES := web/node_modules/.installed
MODULE := web/build/varicap.wasm
PAGE := python/varicap/explore/page/index.html

PAPERS := $(shell find python/varicap/papers -name '*.py' -o -name '*.toml')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_QUIET := 1
export MPLBACKEND := Agg
# Empty, whatever the environment has: each command of the tests would compile its modules again.
export PYTHONDONTWRITEBYTECODE :=

.DELETE_ON_ERROR:
# The cargo option for the features of package $(1) that can be built here.
features = $$(sed 's,.*,--features $(1)/&,' $(FEATURES))
# QUIC's stack takes half a minute to compile: whoever wants it says so once, by `make quic`.
quic = $(if $(wildcard $(QUIC)),--features varicap-py/quic)
# Those of the extension module in profile $(1). Tests of the workspace have the schema of the types: so does what is to be
# compiled once for both.
extension = $(call features,varicap-py) $(quic) $(if $(filter dev,$(1)),--features varicap-py/schema)

# Steps that compute beside steps that wait for the network.
beside = $(MAKE) --no-print-directory --jobs 2
# Programs of Rust tests in real time.
REAL_TIME := $(basename $(notdir $(wildcard crates/varicap-testbed/tests/*.rs)))

.PHONY: help setup deps quic kernel web explore test-web run quick test test-rust test-python test-real-time checked lint format bpf bench instructions reproduce fuzz docs docs-rust schema lock wheels smoke audit licences clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## the virtual environment in .venv, with the optimised extension module
	+@$(beside) $(OPTIMISED)

$(TOOLS): tools/deps.sh
	@sh tools/deps.sh setup build
	@command -v cargo >/dev/null || { echo "setup: missing: Rust 1.90 or later (cargo); distributions call it rustup or cargo" >&2; exit 3; }
	@mkdir -p $(VENV)
	@sh tools/deps.sh --python > $@

# What compiles comes first, so that it can begin while the other packages come.
$(COMPILER): $(REQUIREMENTS)/run.txt $(TOOLS)
	$$(cat $(TOOLS)) -m venv $(VENV)
	@sed -n '/^maturin==/,/[^\\]$$/p' $(REQUIREMENTS)/run.txt > $@.txt
	$(BIN)/python -m pip install --require-hashes -r $@.txt
	@touch $@

$(PACKAGES): $(REQUIREMENTS)/run.txt $(COMPILER)
	$(BIN)/python -m pip install --require-hashes -r $<
	@touch $@

$(DEV_PACKAGES): $(REQUIREMENTS)/test.txt $(PACKAGES)
	$(BIN)/python -m pip install --require-hashes -r $<
	@touch $@

$(DOCS_PACKAGES): $(REQUIREMENTS)/docs.txt $(PACKAGES)
	$(BIN)/python -m pip install --require-hashes -r $<
	@touch $@

$(RELEASE_PACKAGES): $(REQUIREMENTS)/release.txt $(PACKAGES)
	$(BIN)/python -m pip install --require-hashes -r $<
	@touch $@

$(FEATURES): $(TOOLS) tools/find_features.sh
	@sh tools/find_features.sh > $@

$(COMPILED)%: $(COMPILER) $(FEATURES) $(RUST_SOURCES) Cargo.toml Cargo.lock pyproject.toml
	$(BIN)/maturin develop --skip-install --profile $* --quiet $(call extension,$*)
	@touch $@

.PRECIOUS: $(COMPILED)%

$(EXTENSION)%: $(PACKAGES) $(COMPILED)%
	$(BIN)/maturin develop --profile $* --quiet $(call extension,$*)
	@rm -f $(EXTENSION)* && touch $@

deps: ## system packages that targets can do without: a browser, valgrind, libelf, what builds kernels (as root, by apt)
	@sh tools/deps.sh --optional bpf browser kernel valgrind web
	@rm -f $(FEATURES)

quic: $(PACKAGES) $(FEATURES) ## the extension module with QUIC (quinn-proto), from now on: half a minute more to compile
	@touch $(QUIC) && rm -f $(OPTIMISED) $(COMPILED)*
	@$(MAKE) --no-print-directory $(OPTIMISED)

kernel: $(ANY) ## a Linux kernel for simulated time, in the user's cache: from Debian's package, or SOURCE=DIR NAME=…
	$(BIN)/varicap kernel build $(SOURCE:%=--source %) $(NAME:%=--name %)

web: $(PAGE) ## the laboratory in a browser, into web/dist: one file that any host can serve (varicap explore opens it)

explore: setup web ## the laboratory in a browser: builds it and opens it (Ctrl-C ends it)
	$(BIN)/varicap explore

$(MODULE): $(RUST_SOURCES) Cargo.toml Cargo.lock tools/build_wasm.sh
	@sh tools/build_wasm.sh $@

$(WEB_PACKAGES): web/package-lock.json
	@sh tools/deps.sh web web
	npm ci --prefix web --silent --ignore-scripts
	@touch $@

$(PAGE): $(MODULE) $(WEB_PACKAGES) $(WEB_SOURCES) $(wildcard examples/traces/lte-like.*)
	cd web && node_modules/.bin/tsc --noEmit && node build.mjs build/varicap.wasm
	@mkdir -p $(@D) && cp web/dist/index.html $@

run: setup ## the main job: today's TCPs on an LTE-like link, each alone and then together: tables, and a page with plots
	$(BIN)/varicap run examples/today.toml --series -o $(OUT)/today
	@$(BIN)/varicap report $(OUT)/today
	$(BIN)/varicap run examples/today.toml --set isolate=false --no-plot -o $(OUT)/together

test: ## every test but those in real time: beside other work it takes longer, and passes
	+@$(beside) $(ANY:$(EXTENSION)%=$(COMPILED)%) $(DEV_PACKAGES)
	@$(MAKE) --no-print-directory $(ANY)
	+@$(beside) test-rust test-python

# Not the examples, of which `make lint` says whether they compile: as tests they took a seventh of the time.
test-rust: $(FEATURES)
	cargo test --workspace --tests --locked --quiet $(call features,varicap-testbed)
	MAKEFLAGS= cargo test --workspace --doc --locked --quiet $(call features,varicap-testbed)

# With GRIDS=yes, as in CI, the whole grids that the bounds of the models are made of; else a part of each.
test-python: $(ANY) $(DEV_PACKAGES)
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal -m "not real_time"

# One after the other: packets are to be in time, and some tests look at what the whole machine has.
test-real-time: $(ANY) $(DEV_PACKAGES) $(FEATURES) ## the tests in real time, for a machine that has nothing else to do: on a busy one they skip, and say so
	cargo test --workspace $(REAL_TIME:%=--test %) --locked --quiet $(call features,varicap-testbed) -- --ignored --test-threads 1 --show-output
	$(BIN)/python -m pytest --quiet -m real_time tests

# In `make test` they skip, and say so, where the page was not built: its standard library takes minutes.
test-web: web $(ANY) $(DEV_PACKAGES) ## the tests of the laboratory in a browser, with the page that they need
	$(BIN)/python -m pytest --quiet tests/test_web.py tests/test_explore.py tests/test_widget.py

quick: $(ANY) $(DEV_PACKAGES) ## the fast tier: formats, lint of what changed, unit tests, an example on each engine
	@sh tools/quick.sh

checked: $(CHECKED) ## the papers' quick runs with every assertion of the engine on (`make test` has them on in Rust)
	$(BIN)/varicap reproduce all --quick --strict -o $(GALLERY)

# clippy last: of two programs of cargo one waits, while mypy has a processor to itself.
lint: $(DEV_PACKAGES) $(FEATURES) ## formatting, clippy, ruff and mypy; a warning is an error
	cargo fmt --all --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cargo clippy --workspace --all-targets --locked --quiet $(call features,varicap-testbed) -- -D warnings

format: $(DEV_PACKAGES) ## rewrite the sources in the project's format
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bpf: ## the object of the congestion control that runs inside the kernel, from its C source (needs clang)
	@sh tools/build_bpf.sh

bench: $(RELEASED) ## the standard workloads: ns per delivered packet, packets per CPU second, memory
	$(BIN)/varicap bench

instructions: ## the simulator's instructions per packet, beside the record in bench (needs valgrind: make deps)
	python3 tools/count_instructions.py

reproduce: setup ## the papers, claim by claim
	$(BIN)/varicap reproduce all

SECONDS ?= 60

fuzz: $(ANY) $(DEV_PACKAGES) ## random input of all kinds for SECONDS (60), from SEED on; what fails is kept, and the command that repeats it printed
	$(BIN)/python tools/fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

schema: $(DEV_PACKAGES) ## the published schema, the typed Python front and the reference page, from the Rust types
	VARICAP_PUBLISH=1 cargo test --quiet --locked -p varicap-experiment --test all schema
	$(BIN)/python tools/generate_scenario.py

$(GALLERY)/index.html: $(ANY) $(PAPERS)
	$(BIN)/varicap reproduce all --quick --quiet -o $(GALLERY) > /dev/null

docs: $(ANY) $(DOCS_PACKAGES) docs-rust $(GALLERY)/index.html ## the site, into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going --write-all --quiet --jobs auto docs $(SITE)
	@rm -rf $(SITE)/rust && cp -R target/doc $(SITE)/rust
	@rm -rf $(SITE)/gallery && cp -R $(GALLERY) $(SITE)/gallery
	@rm -rf $(SITE)/laboratory && if [ -e $(PAGE) ]; then mkdir $(SITE)/laboratory && cp $(PAGE) $(SITE)/laboratory/; fi
	@echo "the site: $(SITE)/index.html"

docs-rust:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

RESOLVE := uv pip compile --universal --python-version 3.11 --upgrade --generate-hashes --no-header \
	--no-emit-index-url --quiet

lock: pyproject.toml ## resolve the Python packages again, into packaging/requirements (needs uv)
	$(RESOLVE) pyproject.toml --extra plot --group pyproject.toml:build --output-file $(REQUIREMENTS)/run.txt
	$(RESOLVE) pyproject.toml --extra dev --constraint $(REQUIREMENTS)/run.txt --output-file $(REQUIREMENTS)/test.txt
	$(RESOLVE) pyproject.toml --extra docs --constraint $(REQUIREMENTS)/test.txt --output-file $(REQUIREMENTS)/docs.txt
	$(RESOLVE) --group pyproject.toml:release --constraint $(REQUIREMENTS)/test.txt --output-file $(REQUIREMENTS)/release.txt

wheels: $(RELEASE_PACKAGES) ## wheels for Linux and the source distribution, into dist (TARGETS: Rust's names; WEB=no: builds no page), and try them
	@[ "$(WEB)" = no ] || if sh tools/deps.sh web web && sh tools/build_wasm.sh --tools; then $(MAKE) --no-print-directory web; \
	else [ $$? = 3 ] && echo "wheels: without the page for browsers, which cannot be built here" >&2; fi
	@sh tools/build_wheels.sh $(BIN) $(or $(PROFILE),release) $(TARGETS)
	@$(MAKE) --no-print-directory smoke

smoke: $(TOOLS) ## install each package in dist into an empty environment and use it there, without a compiler
	@$$(cat $(TOOLS)) tools/smoke.py dist/*

audit: $(RELEASE_PACKAGES) ## licences, sources and known weaknesses of what is used (needs cargo-deny and the network)
	cargo deny --all-features check --config packaging/deny.toml
	$(BIN)/pip-audit --require-hashes --disable-pip --requirement $(REQUIREMENTS)/run.txt --requirement $(REQUIREMENTS)/test.txt

licences: $(PACKAGES) ## THIRD_PARTY.md, which wheels carry: what the extension module links, with its licences
	$(BIN)/python tools/licences.py

clean: ## remove what was built and computed
	rm -rf $(VENV) $(OUT) target dist docs/_build docs/notebooks docs/reference/api docs/reference/commands.md docs/reference/results.md .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf web/build web/dist web/node_modules $(dir $(PAGE)) .cache THIRD_PARTY.md
	rm -f python/varicap/_core*.so python/varicap/_core*.pyd
	find python tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
