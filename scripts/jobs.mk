# Packages, regressions, single runs.
.PHONY: deps deps-dev regress run unit repro network

# What `make regress` and `make test` need, and nothing else.
DEPS := build-essential ccache clang clang-format git libcmocka-dev libjansson-dev libsqlite3-dev make pkg-config python3 python3-numpy python3-pytest \
  python3-sklearn verilator yosys zlib1g-dev
DEPS_DEV := afl++ chromium gtkwave valgrind

# $(call apt,packages): nothing to do when all are there; needs root or sudo
define apt
@missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || printf ' %s' $$p; done); \
if [ -z "$$missing" ]; then echo "all packages are installed"; exit 0; fi; \
if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; \
else echo "run as root: apt-get install --no-install-recommends$$missing" >&2; exit 1; fi; \
$$as apt-get update && DEBIAN_FRONTEND=noninteractive $$as apt-get install -y --no-install-recommends $$missing
endef

deps: ## install the packages that `make regress` and `make test` need
	$(call apt,$(DEPS))

deps-dev: ## install the packages of the optional tools
	$(call apt,$(DEPS_DEV))

# ---- regressions ----
given = $(filter command environment,$(firstword $(origin $(1))))
RUNNER = $(HOST)/tandem-regress
RUNNER_OPTIONS = --suite $(SUITE) --build-dir $(BUILD) --kind $(KIND) $(if $(call given,CFG),--cfg $(CFG))

regress: ## run a SUITE (smoke, default, nightly); CFG= restricts it
	@$(MAKE) --no-print-directory $(PARALLEL) $(RUNNER)
	@JOBS=$(JOBS) MAKE="$(MAKE)" scripts/build_suite.sh $(BUILD) $(RUNNER) targets $(RUNNER_OPTIONS)
	@$(RUNNER) run $(RUNNER_OPTIONS) --jobs $(JOBS) $(if $(call given,SEED),--seed $(SEED)) --junit $(BUILD)/junit.xml $(REGRESS_ARGS)
