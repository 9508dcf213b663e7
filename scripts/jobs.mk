# Packages, regressions, single runs.
.PHONY: deps deps-dev regress run perf unit repro network

# Only what `make regress` and `make test` need.
DEPS := build-essential ccache clang clang-format git help2man lcov libcmocka-dev libjansson-dev liblz4-dev \
  libonnx-testdata libsqlite3-dev libstb-dev make munge pkg-config python3 python3-dev python3-numpy python3-onnx \
  python3-pytest python3-sklearn slurm-wlm verilator yosys zlib1g-dev
DEPS_DEV := afl++ chromium cmake gtkwave libclang-rt-14-dev lintian mkdocs nextpnr-ice40 valgrind

# $(call apt,packages): nothing to do when all are installed; needs root or sudo
define apt
@missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || \
printf ' %s' $$p; done); if [ -z "$$missing" ]; then echo "all packages are installed"; exit 0; fi; \
if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; \
else echo "run as root: apt-get install --no-install-recommends$$missing" >&2; exit 1; fi; \
$$as apt-get update && DEBIAN_FRONTEND=noninteractive $$as apt-get install -y --no-install-recommends $$missing
endef

deps: ## every day | install the packages that regress and test need
	$(call apt,$(DEPS))

deps-dev: ## every day | install the packages of the optional tools
	$(call apt,$(DEPS_DEV))

# ---- regressions ----
given = $(filter command environment,$(firstword $(origin $(1))))
RUNNER = $(HOST)/tandem-regress
# ASan reserves terabytes of address space
# without DUT= every design has its part of a suite
RUNNER_DESIGN = $(if $(call given,DUT),--design $(DUT))
RUNNER_OPTIONS = --suite $(SUITE) $(RUNNER_DESIGN) --build-dir $(BUILD) --kind $(KIND) \
  $(if $(filter san,$(KIND)),--memory 0) $(if $(call given,CFG),--cfg $(CFG))

# signatures whose failures are explained; none in a run that stops at the first failure (make mutants) or of what has
# changed, which have to be quick
EXPLAIN ?= $(if $(filter --fail-fast,$(REGRESS_ARGS))$(filter changed,$(SUITE)),0,5)
REPORT_FILES = --explain $(EXPLAIN) --report --junit $(BUILD)/junit.xml --sarif $(BUILD)/regress.sarif
# slurm: job arrays of a cluster (docs/regress.md); SLURM_ARGS: more arguments for sbatch
LAUNCHER ?=
LAUNCHER_OPTIONS = $(if $(LAUNCHER),--launcher $(LAUNCHER)) $(if $(PARTITION),--slurm-partition $(PARTITION)) \
  $(if $(ACCOUNT),--slurm-account $(ACCOUNT)) \
  $(if $(SLURM_ARGS),--slurm-args "$(SLURM_ARGS)") $(if $(SHARD_SECONDS),--shard-seconds $(SHARD_SECONDS))
# builds the programs of a run while its first jobs run; the tasks of a cluster find all of them
BUILDER = scripts/build_suite.sh $(BUILD)
BUILD_BESIDE = $(if $(filter slurm,$(LAUNCHER)),,--build "$(BUILDER)")
define build_first
@list=$$($(RUNNER) targets --suite $(SUITE) $(1) --build-dir $(BUILD) --kind $(KIND)) && \
  echo "$$list" | $(BUILDER)
endef
# a resumed run already has its list, and its programs but those that were not built yet
CHANGED_SUITE = $(BUILD)/changed/changed.suite
RESUME_OPTIONS = --resume $(RUN) $(RUNNER_DESIGN) --build-dir $(BUILD) \
  $(if $(call given,SUITE),--suite $(if $(filter changed,$(SUITE)),$(CHANGED_SUITE),$(SUITE))) \
  $(if $(call given,SEED),--seed $(SEED)) $(if $(call given,CFG),--cfg $(CFG))

# REGRESS_DATA: files that the jobs of the suite read, and which are generated
# coverage closure: planned jobs, round after round (docs/coverage.md). RANDOM=0: without the curve of plain random jobs
GOAL ?= 98
CLOSURE_OPTIONS = --design $(DUT) --build-dir $(BUILD) --host $(HOST) --out $(BUILD)/closure --cfg $(CFG) \
  --kind $(KIND) --seed $(SEED) --goal $(GOAL) --jobs $(JOBS) \
  $(if $(MAX_JOBS),--max-jobs $(MAX_JOBS)) $(if $(BUDGET),--budget $(BUDGET)) $(if $(filter 0,$(RANDOM)),,--random)

# what a change since BASE= can affect, as much of it as fits into BUDGET= seconds (docs/regress.md); the failures are
# shown, and make repro explains them
CHANGED_OPTIONS = --base "$(BASE)" $(RUNNER_DESIGN) $(if $(call given,CFG),--cfg $(CFG)) \
  $(if $(call given,KIND)$(SAN),--kind $(KIND)) --build-dir $(BUILD) --runner $(RUNNER) --jobs $(JOBS) \
  $(if $(BUDGET),--budget $(BUDGET)) --out $(CHANGED_SUITE)

regress: ## every day | run a suite on every design: units, operators, networks | writes pages into \
    build/regress/RUN/report; SUITE=smoke, default, nightly, ...: the suite; SUITE=closure GOAL=98: plan jobs \
    from coverage holes until so many percent are covered; SUITE=changed BASE= BUDGET=60: run for 60 s what the \
    changes since BASE can affect; DUT=: one design; CFG=: one configuration; RESUME=1 [RUN=n]: run the jobs \
    that a run did not reach; LAUNCHER=slurm: run on a cluster; EXPLAIN=5: how many failures are explained by a \
    report
	@scripts/build.sh $(RUNNER) $(REGRESS_DATA)
ifeq ($(SUITE),closure)
	@scripts/build.sh $(HOST)/tandem-cov
	$(call build_first,--design $(DUT) --cfg $(CFG))
	@scripts/locked.sh $(BUILD)/closure.lock $(PYTHON) scripts/closure.py $(CLOSURE_OPTIONS)
else ifeq ($(SUITE)$(RESUME),changed)
	$(if $(LAUNCHER),$(error SUITE=changed: expected no LAUNCHER=, it is a minute of jobs of this machine))
	@scripts/build.sh generated
	@$(PYTHON) scripts/changed.py $(CHANGED_OPTIONS) -- $(RUNNER) run --build-dir $(BUILD) --build "$(BUILDER)" \
	  --jobs $(JOBS) $(if $(call given,SEED),--seed $(SEED)) $(REPORT_FILES) $(REGRESS_ARGS)
else ifneq ($(RESUME),)
	@$(RUNNER) run $(RESUME_OPTIONS) $(BUILD_BESIDE) --jobs $(JOBS) $(LAUNCHER_OPTIONS) $(REPORT_FILES) \
	  $(REGRESS_ARGS)
else
	$(if $(BUILD_BESIDE),,$(call build_first,$(RUNNER_DESIGN) $(if $(call given,CFG),--cfg $(CFG))))
	@$(RUNNER) run $(RUNNER_OPTIONS) $(BUILD_BESIDE) --jobs $(JOBS) $(if $(call given,SEED),--seed $(SEED)) \
	  $(LAUNCHER_OPTIONS) $(REPORT_FILES) $(REGRESS_ARGS)
endif

.PHONY: verify
verify: ## sign-off | check the sign-off of a run and repeat some of its jobs | RUN=n: the run; SAMPLE=20 (or \
    all): how many of its jobs run again
	@scripts/build.sh $(RUNNER)
	$(call need,RUN,the number of a run)
	@$(RUNNER) verify $(RUN) --build-dir $(BUILD) --jobs $(JOBS) \
	  $(if $(filter all,$(SAMPLE)),--all,$(if $(SAMPLE),--sample $(SAMPLE)))

.PHONY: gc
gc: ## sign-off | remove logs and waveforms of old runs | KEEP_RUNS=20 KEEP_DAYS= MAX_SIZE=MB: what is kept; \
    FORGET=1: also remove the runs from the database; DRY=1: only print what would be removed
	@scripts/build.sh $(RUNNER)
	@$(RUNNER) gc --build-dir $(BUILD) $(if $(KEEP_DAYS)$(MAX_SIZE)$(KEEP_RUNS),,--keep-runs 20) \
	  $(if $(KEEP_RUNS),--keep-runs $(KEEP_RUNS)) \
	  $(if $(KEEP_DAYS),--keep-days $(KEEP_DAYS)) $(if $(MAX_SIZE),--max-size $(MAX_SIZE)) $(if $(FORGET),--forget) \
	  $(if $(DRY),--dry-run)

# ---- single runs; the commands are printed, they work without make ----
# command-line variables in lower case are knobs: make run OP=copy w=3
KNOBS = $(filter $(foreach c,a b c d e f g h i j k l m n o p q r s t u v w x y z,$(c)%),$(MAKEOVERRIDES))
WAVE_ARGS = $(if $(WAVE),--wave $(WAVE))
DEVICE_ARGS = $(if $(DEVICE),--device $(DEVICE))
need = $(if $($(1)),,$(error $(1)= is missing: $(2)))

# BUS: statistics of the ports, with a name that ends in .json also as JSON
BUS_ARGS = $(if $(BUS),--bus $(filter %.json,$(BUS)))
run: ## every day | run one operator, or a testcase in Python | OP=name [knob=value ...]: the operator, and \
    words in lower case pin its knobs; SEED=: the seed of all other knobs and of the data; DEVICE=tandem, rtl or \
    model: what it runs on; WAVE=file.fst: write a waveform (KIND=debug or tap); BUS=1: print the statistics of \
    the buses; PY=name [SEED= INDEX= COUNT=]: a testcase in Python
ifneq ($(PY),)
	@scripts/build.sh $(OUT)/tandem-python
	$(OUT)/tandem-python test $(PY) $(KNOBS) --run-seed $(SEED) $(if $(INDEX),--index $(INDEX)) \
	  $(if $(COUNT),--count $(COUNT)) $(DEVICE_ARGS) $(WAVE_ARGS)
else
	$(call need,OP,make run OP=name [knob=value ...])
	@scripts/build.sh $(OUT)/tandem
	$(OUT)/tandem run $(OP) $(KNOBS) --seed $(SEED) $(DEVICE_ARGS) $(WAVE_ARGS) $(BUS_ARGS)
endif

perf: ## debugging | show where the cycles of an operator go | OP=name [knob=value ...]: the operator; \
    SVG=build/perf.svg: the picture, or the data if the name ends in .json; WINDOW=cycles: the length of a point \
    of the time series
	$(call need,OP,make perf OP=name [knob=value ...])
	@scripts/build.sh $(OUT)/tandem
	$(OUT)/tandem run $(OP) $(KNOBS) --seed $(SEED) $(DEVICE_ARGS) $(WAVE_ARGS) --perf $(or $(SVG),$(BUILD)/perf.svg) \
	  $(if $(WINDOW),--window $(WINDOW))

UNIT_ARGS = $(if $(VECTORS),--vectors $(VECTORS) $(if $(call given,SEED),--seed $(SEED)) \
  $(if $(COUNT),--count $(COUNT)),$(if $(call given,SEED),--seed $(SEED),--count $(or $(COUNT),20)))
unit: ## every day | run one RTL unit against its model | UNIT=name [SEED= COUNT= knob=value ...]: the unit, and \
    its random cases; VECTORS=file (or - for standard input): TestFloat vectors for a floating-point unit
	$(call need,UNIT,one of $(UNITS))
	$(if $(filter $(UNIT),$(UNITS)),,$(error UNIT=$(UNIT): expected one of $(UNITS)))
	@scripts/build.sh $(OUT)/unit-$(UNIT) </dev/null
	$(OUT)/unit-$(UNIT) $(UNIT_ARGS) $(KNOBS) $(WAVE_ARGS)

# a failure of a regression: run, job
OF_RUN = RUN="$(RUN)" JOB="$(JOB)" RUNNER="$(RUNNER)" KIND_GIVEN="$(call given,KIND)$(SAN)"

# WAVE= requests a waveform of the whole run, which any build with tracing writes
repro: ## debugging | reproduce and explain a failure, with its waveform | CASE=file: of a stored case; RUN=n \
    [JOB=j]: of a run, its commonest failure; TEST= SEED= [DUT= CFG= KIND=]: of a test and its seed; \
    REPORT=folder: where the report goes
	@$(if $(RUN),scripts/build.sh $(RUNNER))
	@CASE="$(CASE)" DUT="$(if $(call given,DUT),$(DUT))" TEST="$(TEST)" SEED="$(if $(call given,SEED),$(SEED))" \
	  CFG="$(CFG)" KIND="$(if $(call given,KIND)$(SAN),$(KIND),default)" BUILD="$(BUILD)" \
	  KNOBS="$(KNOBS)" DEVICE="$(DEVICE)" WAVE="$(WAVE)" REPORT="$(REPORT)" BREAK="$(BREAK)" \
	  INIT_SEED="$(INIT_SEED)" PLUSARG="$(PLUSARG)" NO_CHECKS="$(NO_CHECKS)" $(OF_RUN) scripts/repro.sh

.PHONY: wave watch
wave: ## debugging | show the waveform of a failure | RUN=n [JOB=j]: of a run, its commonest failure or that of \
    job j
	@$(if $(RUN),scripts/build.sh $(RUNNER))
	@$(OF_RUN) DUT="$(if $(call given,DUT),$(DUT))" KIND="$(if $(call given,KIND)$(SAN),$(KIND),default)" \
	  BUILD="$(BUILD)" scripts/locked.sh $(BUILD)/wave.lock scripts/wave.sh

watch: ## every day | run SUITE=changed whenever a source changes | BASE= BUDGET= DUT=: as for regress; \
    UNIT=name [CFG= KIND= SEED= COUNT= knob=value ...]: run only the bench of this unit
ifeq ($(UNIT),)
	@PROGRAM= scripts/watch.sh $(MAKE) --no-print-directory regress SUITE=changed
else
	$(if $(filter $(UNIT),$(UNITS)),,$(error UNIT=$(UNIT): expected one of $(UNITS)))
	@PROGRAM="$(OUT)/unit-$(UNIT)" MAKE_ARGS="DUT=$(DUT) CFG=$(CFG) KIND=$(KIND)" scripts/watch.sh \
	  $(UNIT_ARGS) $(KNOBS)
endif

.PHONY: shrink
shrink: ## debugging | find the smallest case that fails in the same way | CASE=file: of a stored case; RUN=n \
    [JOB=j]: of a run, its commonest failure; TEST= SEED= [CFG= KIND=]: of a test and its seed; OUTPUT=: the \
    file to write; KEEP=k,s: knobs that keep their values
	@$(if $(RUN),scripts/build.sh $(RUNNER))
	@CASE="$(CASE)" DUT="$(if $(call given,DUT),$(DUT))" TEST="$(TEST)" SEED="$(if $(call given,SEED),$(SEED))" \
	  CFG="$(CFG)" KIND="$(if $(call given,KIND)$(SAN),$(KIND),default)" BUILD="$(BUILD)" \
	  KNOBS="$(KNOBS)" DEVICE="$(DEVICE)" OUTPUT="$(OUTPUT)" KEEP="$(KEEP)" ARGS="$(ARGS)" $(OF_RUN) \
	  scripts/shrink.sh
