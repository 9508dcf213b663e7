# tandem.mk - a design of one's own, Verilated and linked with the framework. The Makefile of a project:
#
#     include $(shell tandem --where)/tandem.mk
#
# Beside it are designs/NAME/design, the description (top module, sources, configurations), designs/NAME/suites/, and
# the C sources, *.c and bench/*.c; taps.list names units that checks follow, coverage/ has thresholds, waivers and
# reasons (all optional). What may be set before the include or on the command line: CFG, KIND, SEED, COUNT, SUITE,
# ARGS, CFLAGS, CXXFLAGS, LDFLAGS, VFLAGS_USER, BUILD, VERILATOR, ARCH, and what `make help` names.
TANDEM_SHARE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
TANDEM_INCLUDE ?= $(abspath $(TANDEM_SHARE)/../../include/tandem)
TANDEM_LIB ?= $(abspath $(TANDEM_SHARE)/../../lib)

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.SUFFIXES:
PYTHON ?= /usr/bin/python3
VERILATOR ?= verilator
VROOT := $(shell $(VERILATOR) --getenv VERILATOR_ROOT 2>/dev/null)
CCACHE := $(shell command -v ccache 2>/dev/null)
BUILD ?= build
SEED ?= 1
SUITE ?= smoke
# the commands of the same installation
TANDEM_BIN := $(abspath $(TANDEM_SHARE)/../../bin)
TANDEM ?= $(TANDEM_BIN)/tandem
RUNNER := $(TANDEM_BIN)/tandem-regress
COUNT ?= 20
JOBS ?= $(shell nproc)
CFLAGS ?= -O2 -g -Wall

# ---- the description ----
DESCRIPTION := $(wildcard designs/*/design)
$(BUILD)/design.mk: $(DESCRIPTION) $(TANDEM_SHARE)/design.py
	@mkdir -p $(@D)
	@TANDEM_PROJECT="$(CURDIR)" DESIGNS= $(PYTHON) $(TANDEM_SHARE)/design.py make > $@.tmp && mv $@.tmp $@
# scoreboards of the description, for the bench
$(BUILD)/design_boards.h: $(DESCRIPTION) $(wildcard *.regs regs/*.regs *.rdl *.xml regs/*.rdl regs/*.xml) \
  $(TANDEM_SHARE)/boards.py
	@mkdir -p $(@D)
	@TANDEM_PROJECT="$(CURDIR)" DESIGNS= $(PYTHON) $(TANDEM_SHARE)/design.py boards > $@.tmp && mv $@.tmp $@
ifeq ($(filter clean,$(MAKECMDGOALS)),)
include $(BUILD)/design.mk
endif

ifneq ($(DUTS),)
DUT := $(DUT_DEFAULT)
CFG ?= $($(DUT).cfg)
KIND ?= $($(DUT).kind)
ifeq ($(filter $(CFG),$($(DUT).cfgs)),)
  $(error CFG=$(CFG): expected one of $($(DUT).cfgs))
endif
KINDS := fast tap debug cov mut
ifeq ($(filter $(KIND),$(KINDS)),)
  $(error KIND=$(KIND): expected one of $(KINDS))
endif
OUT := $(BUILD)/$(CFG)-$(KIND)
# mutants have the runtime of fast
VLT := $(BUILD)/verilated-$(KIND:mut=fast)
TOP := $($(DUT).top)
, := ,
# loops that assign to arrays in sources of others
VFLAGS_LOOPS := --unroll-count 1024
include $(TANDEM_SHARE)/verilate.mk
# a mutant may give a state a value without a name, and select bits that are not there
VFLAGS_mut := $(VFLAGS_fast) -O2 -Wno-ENUMVALUE -Wno-SELRANGE
# warnings about the RTL of others are printed, and are no errors
VFLAGS := $(VFLAGS_COMMON) $(VFLAGS_$(KIND)) -Wno-fatal $(addprefix -I,$($(DUT).include)) $(VFLAGS_USER)
FRAMEWORK := $(TANDEM_LIB)/libtandem.a $(TANDEM_SHARE)/gen_shim.py $(TANDEM_SHARE)/verilate.mk \
  $(TANDEM_INCLUDE)/sim/shim_impl.hpp

# ---- sources; KIND=mut: with all mutants in them (make qualify) ----
MUT_DIR := $(OUT)/rtl
RTL := $(if $(filter mut,$(KIND)),$(foreach f,$($(DUT).file),$(MUT_DIR)/$(f:/%=%)),$($(DUT).file))
MUT_STAMP := $(if $(filter mut,$(KIND)),$(MUT_DIR)/stamp)
# so many of them, drawn when the sources are written
MUT_DRAW := --mutants $(if $(filter all,$(MUTANTS)),0,$(or $(MUTANTS),6000)) --draw $(or $(DRAW),1)
$(MUT_DIR)/draw: FORCE
	@mkdir -p $(@D)
	@echo '$(MUT_DRAW)' | cmp -s - $@ || echo '$(MUT_DRAW)' >$@
FORCE:
$(MUT_DIR)/stamp: $(TANDEM_SHARE)/mutate.py $($(DUT).file) $(MUT_DIR)/draw
	@mkdir -p $(@D)
	@echo "  MUT   $(DUT) ($(CFG)-$(KIND))"
	@$(PYTHON) $(TANDEM_SHARE)/mutate.py --output $(@D) $(MUT_DRAW) $($(DUT).file)
	@touch $@
$(if $(MUT_STAMP),$(RTL)): $(MUT_STAMP) ;

# ---- taps: units whose ports checks follow ----
TAP_LIST := $(wildcard taps.list)
TAPS := $(if $(filter tap mut,$(KIND)),$(if $(TAP_LIST),$(BUILD)/taps/taps.vlt $(BUILD)/taps/taps.sv))
$(BUILD)/taps/stamp: $(TAP_LIST) $($(DUT).file) $(TANDEM_SHARE)/gen_taps.py
	@mkdir -p $(@D)
	@$(PYTHON) $(TANDEM_SHARE)/gen_taps.py --list $(TAP_LIST) $(addprefix --rtl ,$(sort $(dir $($(DUT).file)))) \
	  --foreign --sv $(@D)/taps.sv --vlt $(@D)/taps.vlt
	@touch $@
$(BUILD)/taps/taps.vlt $(BUILD)/taps/taps.sv: $(BUILD)/taps/stamp ;

# ---- the model ----
$(OUT)/v/V$(TOP).mk: $(DESCRIPTION) $(RTL) $(TAPS) $(FRAMEWORK)
	@mkdir -p $(@D)
	@echo "  VLT   $(TOP) $($(DUT).params.$(CFG)) ($(CFG)-$(KIND))"
	@rm -f $(@D)/*.cpp $(@D)/V*.h
	@$(VERILATOR) $(VFLAGS) $(addprefix -G,$($(DUT).params.$(CFG))) --Mdir $(@D) --top-module $(TOP) $(RTL) $(TAPS)
	@$(if $(TAPS),$(PYTHON) $(TANDEM_SHARE)/tap_alias.py $(@D) $(TOP),:)
	@$(if $(filter cov,$(KIND)),mv $@ $@.new && $(PLAIN_COUNTERS) $(@D)/V$(TOP)*.h $(@D)/V$(TOP)*.cpp && mv $@.new $@,:)
	@touch $@
-include $(OUT)/v/V$(TOP)__ver.d
CXX_MODEL := $(CCACHE) $(CXX) -I$(TANDEM_INCLUDE) $(VM_CXX) \
  $(if $(MUT_STAMP),-include sim/mutant.h -DTB_MUTANTS -I../rtl) \
  $(if $(wildcard $(TANDEM_INCLUDE)/sim/vl_fast.h),-include sim/vl_fast.h) $(CXXFLAGS)
$(OUT)/v/model.o: $(OUT)/v/V$(TOP).mk
	@echo "  CXX   $(TOP) ($(CFG)-$(KIND))"
	@cd $(@D) && $(call CYCLE_CPP,$(TOP)) | $(INCLUDE_CPP) >model.cpp && $(CXX_MODEL) $(VM_FAST) -c model.cpp -o model.o
$(OUT)/v/model_slow.o: $(OUT)/v/V$(TOP).mk
	@cd $(@D) && { $(call TRACE_CPP,$(TOP)); $(call optimise,$(ONCE)); $(call ONCE_CPP,$(TOP)); } | $(INCLUDE_CPP) \
	  >model_slow.cpp && $(CXX_MODEL) $(VM_SLOW) -c model_slow.cpp -o model_slow.o
$(OUT)/v/shim.o: $(OUT)/v/V$(TOP).mk
	@$(PYTHON) $(TANDEM_SHARE)/gen_shim.py --top $(TOP) --header $(@D)/V$(TOP).h --output $(@D)/shim.cpp \
	  --read $(VERILATOR) $(VFLAGS_LOOPS) $(addprefix -I,$($(DUT).include)) $(VFLAGS_USER) \
	  $(addprefix -G,$($(DUT).params.$(CFG))) --top-module $(TOP) $($(DUT).file)
	@cd $(@D) && $(CXX_MODEL) -O2 -c shim.cpp -o shim.o
$(VLT)/%.o: $(VROOT)/include/%.cpp
	@mkdir -p $(@D)
	@echo "  CXX   $(notdir $<)"
	@$(CCACHE) $(CXX) -I$(TANDEM_INCLUDE) $(VM_CXX) -O2 -include sim/vl_printf.h -c $< -o $@
$(VLT)/libverilated.a: $(VLT_OBJ)
	@rm -f $@.tmp && ar rcs $@.tmp $^ && mv $@.tmp $@

# ---- the program ----
SRC := $(sort $(wildcard *.c bench/*.c))
OBJ := $(SRC:%.c=$(OUT)/obj/%.o)
upper = $(shell echo '$(1)' | tr a-z A-Z)
CFG_MACROS := -DTANDEM_CFG_NAME='"$(CFG)"' -DTANDEM_KIND='"$(KIND)"' $(foreach p,$($(DUT).params.$(CFG)), \
  -DCFG_$(call upper,$(firstword $(subst =, ,$(p))))=$(lastword $(subst =, ,$(p))))
$(OUT)/obj/%.o: %.c $(TANDEM_LIB)/libtandem.a $(DESCRIPTION) $(BUILD)/design_boards.h
	@mkdir -p $(@D)
	@echo "  CC    $< ($(CFG)-$(KIND))"
	@$(CCACHE) $(CC) -std=c11 $(CFLAGS) -isystem $(TANDEM_INCLUDE) -I. -I$(BUILD) $(CFG_MACROS) -MMD -MP -c $< -o $@
-include $(OBJ:.o=.d)
$(OUT)/tandem: $(OBJ) $(OUT)/v/model.o $(OUT)/v/model_slow.o $(OUT)/v/shim.o $(VLT)/libverilated.a \
  $(TANDEM_LIB)/libtandem.a
	@echo "  LD    $@"
	@$(CXX) $(LDFLAGS) $(REFUSALS_NOTED) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
	  $(if $(wildcard $(VROOT)/include/fstcpp),-llz4) \
	  -ljansson -lz -lm -lpthread -latomic -o $@.tmp && mv $@.tmp $@
endif

given = $(filter command environment,$(firstword $(origin $(1))))
# command-line variables in lower case are knobs: make run bus=hostile
KNOBS = $(filter $(foreach c,a b c d e f g h i j k l m n o p q r s t u v w x y z,$(c)%),$(MAKEOVERRIDES))
# scripts of the installation build through this Makefile
export TANDEM_PROJECT := $(CURDIR)
export BUILD PYTHON RUNNER
BUILDER := $(TANDEM_SHARE)/build_suite.sh $(BUILD)
LAUNCHER ?=
EXPLAIN ?= 3
# the tasks of a cluster find all programs, a machine builds them while jobs run
LAUNCHER_OPTIONS = $(if $(LAUNCHER),--launcher $(LAUNCHER),--build "$(BUILDER)") \
  $(if $(PARTITION),--slurm-partition $(PARTITION)) $(if $(ACCOUNT),--slurm-account $(ACCOUNT)) \
  $(if $(SLURM_ARGS),--slurm-args "$(SLURM_ARGS)") $(if $(SHARD_SECONDS),--shard-seconds $(SHARD_SECONDS))
# the SUITE, or the jobs that a run missed
RUN_JOBS = $(if $(RESUME),--resume $(RUN),--suite $(SUITE)) $(if $(call given,SEED),--seed $(SEED)) \
  $(if $(call given,CFG),--cfg $(CFG))
# a failure, by CASE=, RUN= [JOB=] or SEED=; in the build with checks of units, if there are units
FAILURE = CASE="$(CASE)" RUN="$(RUN)" JOB="$(JOB)" TEST="$(or $(TEST),$(if $(call given,SEED),$(DUT)))" \
  SEED="$(if $(call given,SEED),$(SEED))" CFG="$(CFG)" KNOBS="$(KNOBS)" KIND_GIVEN="$(call given,KIND)" \
  KIND="$(if $(call given,KIND)$(if $(TAP_LIST),,1),$(KIND),default)" ARGS="$(ARGS)"

.PHONY: build run regress repro shrink wave coverage closure qualify qualify-replay qualify-builds \
  qualify-hashes mutants query clean help
build: $(OUT)/tandem ## the program of one CFG and KIND: build/CFG-KIND/tandem
$(OUT)/%.ready: $(OUT)/%
	@echo "  READY $<"
run: build ## COUNT random cases from SEED; knob=value ..: pinned; ARGS: options
	$(OUT)/tandem --run-seed $(SEED) --count $(COUNT) $(KNOBS) $(ARGS)
regress: ## the SUITE: database, pages in build/regress/RUN/report; RESUME=1: what a run left; LAUNCHER=slurm: a cluster
	@$(if $(LAUNCHER),$(RUNNER) targets --suite $(SUITE) --build-dir $(BUILD) | $(BUILDER))
	@$(RUNNER) run $(RUN_JOBS) --build-dir $(BUILD) --jobs $(JOBS) $(LAUNCHER_OPTIONS) --explain $(EXPLAIN) --report \
	  --junit $(BUILD)/junit.xml --sarif $(BUILD)/regress.sarif $(ARGS)
repro: ## a failure again, with report and waveform: CASE=file, RUN=n [JOB=j], or SEED=s [knob=value ..]
	@$(FAILURE) REPORT="$(REPORT)" WAVE="$(WAVE)" $(TANDEM_SHARE)/repro.sh
shrink: ## a failure made small: CASE=file, RUN=n [JOB=j], or SEED=s [knob=value ..]
	@$(FAILURE) OUTPUT="$(OUTPUT)" KEEP="$(KEEP)" $(TANDEM_SHARE)/shrink.sh
wave: ## the waveform of a failure in GTKWave: RUN=n [JOB=j]
	@$(FAILURE) $(TANDEM_SHARE)/locked.sh $(BUILD)/wave.lock $(TANDEM_SHARE)/wave.sh
query: ## ask the database of results; ARGS: the question, without it what can be asked
	@$(RUNNER) query --build-dir $(BUILD) $(ARGS)
coverage: ## functional and code coverage of a SUITE (default), merged; build/coverage/index.html; REUSE=1: no new runs
	@SUITE="$(if $(call given,SUITE),$(SUITE),default)" DUT="$(DUT)" CFGS="$(CFG)" JOBS="$(JOBS)" REUSE="$(REUSE)" \
	  SEED="$(if $(call given,SEED),$(SEED))" COV="$(TANDEM_BIN)/tandem-cov" ROOM="coverage" COUNTED= ONLY=none \
	  THRESHOLDS="$(or $(THRESHOLDS),coverage/thresholds.txt)" OUT_DIR="$(BUILD)/coverage" \
	  CODE_THRESHOLDS="$(or $(CODE_THRESHOLDS),coverage/thresholds-code.txt)" \
	  $(TANDEM_SHARE)/locked.sh $(BUILD)/coverage.lock $(TANDEM_SHARE)/coverage.sh
GOAL ?= 98
closure: ## jobs that aim at holes of functional coverage, until GOAL percent; build/closure/index.html
	@$(RUNNER) targets --suite closure --build-dir $(BUILD) | $(BUILDER)
	@$(TANDEM_SHARE)/locked.sh $(BUILD)/closure.lock $(PYTHON) $(TANDEM_SHARE)/closure.py --design $(DUT) \
	  --build-dir $(BUILD) --host $(TANDEM_BIN) --out $(BUILD)/closure --cfg $(CFG) --kind $(KIND) --seed $(SEED) \
	  --goal $(GOAL) --jobs $(JOBS) $(if $(MAX_JOBS),--max-jobs $(MAX_JOBS)) $(if $(BUDGET),--budget $(BUDGET)) \
	  $(if $(filter 0,$(RANDOM)),,--random)
QUALIFY_OUT ?= $(BUILD)/qualify
QUALIFY_JOBS = --design $(DUT) --cfg $(CFG) --suite $(if $(call given,SUITE),$(SUITE),default) --build $(BUILD) \
  --out-build $(BUILD)/$(CFG)-mut --runner $(RUNNER) $(if $(call given,SEED),--seed $(SEED)) \
  $(if $(JOB),--job '$(JOB)')
QUALIFY_END = $(addprefix --gate ,$(GATE))
QUALIFY_PART = $(addprefix --since ,$(FROM)) $(if $(MODULES),--modules $(MODULES)) $(if $(ONLY),--only $(ONLY)) \
  $(if $(SAMPLE),--sample $(SAMPLE) $(addprefix --draw ,$(DRAW)))
qualify: ## all mutants of the RTL in one build: build/qualify/report.txt; SUITE=default: the checks; GATE=percent
	@$(MAKE) --no-print-directory CFG=$(CFG) KIND=mut $(addprefix MUTANTS=,$(MUTANTS)) $(addprefix DRAW=,$(DRAW)) build
	@$(PYTHON) $(TANDEM_SHARE)/qualify.py run $(QUALIFY_JOBS) --out $(QUALIFY_OUT) --jobs $(JOBS) \
	  --equivalent designs/$(DUT)/equivalent.txt --cycles $(or $(CYCLES),0) --tries $(or $(TRIES),16) \
	  $(addprefix --total ,$(TOTAL)) $(QUALIFY_PART) $(if $(ALL_CHECKS),--all-checks) $(if $(PROVE),,$(QUALIFY_END))
	@$(if $(PROVE),$(PYTHON) $(TANDEM_SHARE)/qualify.py prove $(QUALIFY_OUT) --seconds $(PROVE) --jobs $(JOBS) \
	  --total $(or $(PROVE_TOTAL),600) --top $(TOP) --parameters $($(DUT).params.$(CFG)) $(QUALIFY_END) \
	  $(if $(MODULES),--modules $(MODULES)) $(addprefix --include ,$($(DUT).include)) --sources $($(DUT).file),:)
qualify-replay: ## a mutant of the last run with a waveform: MUTANT=number; build/qualify/mutant-N.fst
	$(if $(MUTANT),,$(error MUTANT=: expected the number of a mutant))
	@$(PYTHON) $(TANDEM_SHARE)/qualify.py replay $(QUALIFY_OUT) $(MUTANT) --build $(BUILD) --kinds debug debug
qualify-builds: ## mutants of the last run, each built from its patch: the same verdicts? COUNT=20 DRAW=1; RESUME=1
	@$(PYTHON) $(TANDEM_SHARE)/qualify.py builds $(QUALIFY_OUT) --build $(BUILD) --kinds debug debug \
	  --count $(COUNT) --draw $(or $(DRAW),1) $(addprefix --total ,$(TOTAL)) $(if $(RESUME),--resume)
qualify-hashes: ## without a mutant the jobs of SUITE=default have the trace hashes of KIND=fast
	@$(MAKE) --no-print-directory CFG=$(CFG) KIND=mut $(addprefix MUTANTS=,$(MUTANTS)) $(addprefix DRAW=,$(DRAW)) build
	@$(MAKE) --no-print-directory CFG=$(CFG) KIND=fast build
	@$(PYTHON) $(TANDEM_SHARE)/qualify.py hashes $(QUALIFY_JOBS)
mutants: ## every patch of mutants/ in a copy of the project: the SUITE (default) must fail
	@$(TANDEM_SHARE)/mutants.sh "$(MAKE)" $(BUILD) $(if $(call given,SUITE),$(SUITE),default)
clean: ## remove $(BUILD)
	rm -rf $(BUILD)
help: ## this table
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(TANDEM_SHARE)/tandem.mk | sort
	@echo "  CFG=$(CFG) ($($(DUT).cfgs))  KIND=$(KIND) ($(KINDS))  SEED=$(SEED)  COUNT=$(COUNT)"
