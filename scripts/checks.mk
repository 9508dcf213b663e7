# Tests, lint, mutants.
C_SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp')
# the injector of faults: a program, and the library that it preloads
FAULTS := $(HOST)/faults/inject $(HOST)/faults/inject.so
$(HOST)/faults/inject: tests/faults/inject.c tests/faults/inject.h
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) $< -o $@
# its functions take the place of others: all of them are to be seen
$(HOST)/faults/inject.so: tests/faults/inject_preload.c tests/faults/inject.h $(HOST)/flags.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) -fvisibility=default -shared $< -o $@

.PHONY: test check lint mutants chaos chaos-slurm axi-table
test: ## every day | run the quick tests of the libraries and tools
	@scripts/build.sh $(if $(SAN),,KIND=fast CFG=$(PYTHON_TEST_CFG) $(PYTHON_TEST)) host tests
	@$(if $(SAN)$(filter 1,$(TANDEM_CHECK)),scripts/build.sh python SAN= KIND=fast PYTHON_RTL="$(PYTHON_TEST_RTL)")
	@HOST="$(HOST)" BUILD="$(BUILD)" TANDEM_PYTHON="$(abspath $(BUILD)/python)" TANDEM_REGRESS="$(HOST)/tandem-regress" \
	  scripts/run_tests.sh $(TEST_PROGRAMS)

check: ## sign-off | run all tests with full case counts and with sanitizers
	@TANDEM_CHECK=1 $(MAKE) --no-print-directory test
	@TANDEM_CHECK=1 $(MAKE) --no-print-directory test SAN=1

lint: ## every day | check RTL, registers, source format, layers of includes | checks of RTL (Verilator, Yosys) \
    run again only if something that they read has changed
	@scripts/build.sh generated
	@BUILD="$(BUILD)" VERILATOR="$(VERILATOR)" scripts/lint.sh

.PHONY: docs
docs: ## every day | write HTML of docs/ into build/docs (mkdocs: make deps-dev) | also writes the API \
    reference, made from the public headers, into build/docs/api
	@command -v mkdocs >/dev/null || { echo "make docs: needs mkdocs (make deps-dev)" >&2; exit 2; }
	@mkdir -p $(BUILD)
	@mkdocs build -q --strict -f scripts/mkdocs.yml --site-dir $(abspath $(BUILD))/docs
	@$(PYTHON) install/api.py $(BUILD)/docs/api
	@echo "$(BUILD)/docs/index.html, $(BUILD)/docs/api/index.html"

axi-table: ## sign-off | write docs/axi-rules.md: AXI rules and traces that test them
	@$(PYTHON) tools/axi_table.py

# one fault alone: ONLY=RUN FAULT=CALL:K:MODE, as findings say
CHAOS_ARGS = --seed $(SEED) --jobs $(JOBS) $(if $(ALL),--all,--seconds $(or $(SECONDS),60)) \
  $(if $(ONLY),--only $(ONLY)) $(if $(FAULT),--fault $(FAULT)) $(if $(SCENARIO),--scenario $(SCENARIO))
chaos: ## sign-off | make single system calls fail in all programs | SECONDS=60: how long; ALL=1: every call of \
    every run; SCENARIO=kill ...: whole runs in bad surroundings (docs/chaos.md); ONLY=RUN FAULT=CALL:K:MODE: \
    repeat one fault, as a finding names it
	@scripts/build.sh host $(FAULTS)
	@scripts/build.sh CFG=n4 KIND=fast $(BUILD)/n4-fast/tandem $(BUILD)/n4-fast/unit-mesh
	@scripts/build.sh CFG=n4 KIND=tap $(BUILD)/n4-tap/tandem
	@HOST="$(HOST)" BUILD="$(BUILD)" $(PYTHON) tests/faults/chaos.py $(CHAOS_ARGS)

.PHONY: nightly
nightly: ## sign-off | run suite nightly of every design, then all faults (hours) | afterwards: every fault of \
    the machine (chaos ALL=1), all bad surroundings, and what the design adds
	@status=0; for part in "regress SUITE=nightly" "chaos ALL=1" "chaos SCENARIO=all" $(NIGHTLY); do \
	  $(MAKE) --no-print-directory $$part || status=1; done; exit $$status

chaos-slurm: ## sign-off | run on a Slurm cluster whose parts fail | starts a cluster on this machine, whose \
    nodes, controller and runner are killed, frozen and drained; SECONDS=600: how long
	@scripts/build.sh $(HOST)/tandem-regress
	@TANDEM_REGRESS="$(HOST)/tandem-regress" $(PYTHON) tests/slurm_chaos.py $(or $(SECONDS),600) $(SEED)

MODE ?= all
mutants: ## sign-off | check that deliberate bugs in the RTL are found and blamed | the bugs are the patches of \
    tests/mutants/DUT; MODE=kill: the suite must find each bug; MODE=name: the right unit must be blamed; \
    MODE=caught: the check that the patch names must find it; MODE=all: all of these (default); SUITE=default: \
    the suite that must find them; DUT=: the design
	@DUT="$(DUT)" SUITE="$(SUITE)" MODE="$(MODE)" JOBS="$(JOBS)" scripts/mutants.sh
