# tandem.mk - a design of one's own, Verilated and linked with the framework. The Makefile of a project:
#
#     include $(shell tandem --where)/tandem.mk
#
# Beside it are designs/NAME/design, the description (top module, sources, configurations), designs/NAME/suites/, and
# the C sources, *.c and bench/*.c; taps.list names units that checks follow. What may be set before the include or on
# the command line: CFG, KIND, SEED, COUNT, SUITE, ARGS, CFLAGS, CXXFLAGS, LDFLAGS, VFLAGS_USER, BUILD, VERILATOR, ARCH.
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
# the command of the same installation
TANDEM ?= $(abspath $(TANDEM_SHARE)/../../bin/tandem)
COUNT ?= 20
JOBS ?= $(shell nproc)
CFLAGS ?= -O2 -g -Wall

# ---- the description ----
DESCRIPTION := $(wildcard designs/*/design)
$(BUILD)/design.mk: $(DESCRIPTION) $(TANDEM_SHARE)/design.py
	@mkdir -p $(@D)
	@TANDEM_PROJECT=$(CURDIR) DESIGNS= $(PYTHON) $(TANDEM_SHARE)/design.py make > $@.tmp && mv $@.tmp $@
ifeq ($(filter clean help,$(MAKECMDGOALS)),)
include $(BUILD)/design.mk
endif

ifneq ($(DUTS),)
DUT := $(DUT_DEFAULT)
CFG ?= $($(DUT).cfg)
KIND ?= $($(DUT).kind)
ifeq ($(filter $(CFG),$($(DUT).cfgs)),)
  $(error CFG=$(CFG): expected one of $($(DUT).cfgs))
endif
ifeq ($(filter $(KIND),fast tap debug cov),)
  $(error KIND=$(KIND): expected one of fast tap debug cov)
endif
OUT := $(BUILD)/$(CFG)-$(KIND)
VLT := $(BUILD)/verilated-$(KIND)
TOP := $($(DUT).top)
RTL := $($(DUT).file)
, := ,
include $(TANDEM_SHARE)/verilate.mk
# warnings about the RTL of others are printed, and are no errors
VFLAGS := $(VFLAGS_COMMON) $(VFLAGS_$(KIND)) -Wno-fatal $(addprefix -I,$($(DUT).include)) $(VFLAGS_USER)
FRAMEWORK := $(TANDEM_LIB)/libtandem.a $(TANDEM_SHARE)/gen_shim.py $(TANDEM_SHARE)/verilate.mk \
  $(TANDEM_INCLUDE)/sim/shim_impl.hpp

# ---- taps: units whose ports checks follow ----
TAP_LIST := $(wildcard taps.list)
TAPS := $(if $(filter tap,$(KIND)),$(if $(TAP_LIST),$(BUILD)/taps/taps.vlt $(BUILD)/taps/taps.sv))
$(BUILD)/taps/stamp: $(TAP_LIST) $(RTL) $(TANDEM_SHARE)/gen_taps.py
	@mkdir -p $(@D)
	@$(PYTHON) $(TANDEM_SHARE)/gen_taps.py --list $(TAP_LIST) $(addprefix --rtl ,$(sort $(dir $(RTL)))) \
	  --sv $(@D)/taps.sv --vlt $(@D)/taps.vlt
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
  $(if $(wildcard $(TANDEM_INCLUDE)/sim/vl_fast.h),-include sim/vl_fast.h) $(CXXFLAGS)
$(OUT)/v/model.o: $(OUT)/v/V$(TOP).mk
	@echo "  CXX   $(TOP) ($(CFG)-$(KIND))"
	@cd $(@D) && $(call CYCLE_CPP,$(TOP)) | $(INCLUDE_CPP) >model.cpp && $(CXX_MODEL) $(VM_FAST) -c model.cpp -o model.o
$(OUT)/v/model_slow.o: $(OUT)/v/V$(TOP).mk
	@cd $(@D) && { $(call TRACE_CPP,$(TOP)); $(call optimise,$(ONCE)); $(call ONCE_CPP,$(TOP)); } | $(INCLUDE_CPP) \
	  >model_slow.cpp && $(CXX_MODEL) $(VM_SLOW) -c model_slow.cpp -o model_slow.o
$(OUT)/v/shim.o: $(OUT)/v/V$(TOP).mk
	@$(PYTHON) $(TANDEM_SHARE)/gen_shim.py --top $(TOP) --header $(@D)/V$(TOP).h --output $(@D)/shim.cpp
	@cd $(@D) && $(CXX_MODEL) -O2 -c shim.cpp -o shim.o
$(VLT)/%.o: $(VROOT)/include/%.cpp
	@mkdir -p $(@D)
	@echo "  CXX   $(notdir $<)"
	@$(CCACHE) $(CXX) -I$(TANDEM_INCLUDE) $(VM_CXX) -O2 -include sim/vl_printf.h -c $< -o $@
$(VLT)/libverilated.a: $(VLT_OBJ)
	@rm -f $@
	@ar rcs $@ $^

# ---- the program ----
SRC := $(sort $(wildcard *.c bench/*.c))
OBJ := $(SRC:%.c=$(OUT)/obj/%.o)
upper = $(shell echo '$(1)' | tr a-z A-Z)
CFG_MACROS := -DTANDEM_CFG_NAME='"$(CFG)"' -DTANDEM_KIND='"$(KIND)"' $(foreach p,$($(DUT).params.$(CFG)), \
  -DCFG_$(call upper,$(firstword $(subst =, ,$(p))))=$(lastword $(subst =, ,$(p))))
$(OUT)/obj/%.o: %.c $(TANDEM_LIB)/libtandem.a $(DESCRIPTION)
	@mkdir -p $(@D)
	@echo "  CC    $< ($(CFG)-$(KIND))"
	@$(CCACHE) $(CC) -std=c11 $(CFLAGS) -isystem $(TANDEM_INCLUDE) -I. $(CFG_MACROS) -MMD -MP -c $< -o $@
-include $(OBJ:.o=.d)
$(OUT)/tandem: $(OBJ) $(OUT)/v/model.o $(OUT)/v/model_slow.o $(OUT)/v/shim.o $(VLT)/libverilated.a \
  $(TANDEM_LIB)/libtandem.a
	@echo "  LD    $@"
	@$(CXX) $(LDFLAGS) $(REFUSALS_NOTED) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
	  $(if $(wildcard $(VROOT)/include/fstcpp),-llz4) \
	  -ljansson -lz -lm -lpthread -latomic -o $@.tmp && mv $@.tmp $@
endif

.PHONY: build run regress repro shrink coverage qualify clean help
build: $(OUT)/tandem ## the program of one CFG and KIND: $(OUT)/tandem
run: build ## COUNT random cases from SEED; ARGS: knobs to pin and options
	$(OUT)/tandem --run-seed $(SEED) --count $(COUNT) $(ARGS)
regress: ## the SUITE: builds what it needs; results in a database, pages in build/regress/RUN/report, JUnit XML
	@for p in $$($(TANDEM) regress targets --suite $(SUITE) --build-dir $(BUILD)); do \
	  c=$${p%/*}; c=$${c##*/}; $(MAKE) --no-print-directory -s CFG=$${c%%-*} KIND=$${c#*-} build || exit 1; done
	@$(TANDEM) regress run --suite $(SUITE) --seed $(SEED) --jobs $(JOBS) --build-dir $(BUILD) --report \
	  --junit $(BUILD)/junit.xml --explain 3 $(ARGS)
repro: build ## a stored case again, with a report and a waveform around the failure (CASE=file, KIND=tap or debug)
	$(OUT)/tandem --case $(CASE) --report $(BUILD)/report $(ARGS)
shrink: build ## a stored failing case made small (CASE=file)
	$(OUT)/tandem --shrink $(CASE) $(ARGS)
coverage: ## code coverage of COUNT cases, as text
	@$(MAKE) --no-print-directory KIND=cov build
	$(BUILD)/$(CFG)-cov/tandem --run-seed $(SEED) --count $(COUNT) --code-cov $(BUILD)/code.cov $(ARGS)
	$(TANDEM) cov code report $(BUILD)/code.cov
qualify: ## every patch of mutants/ in a copy of the project: the suite must fail
	@$(TANDEM_SHARE)/qualify.sh "$(MAKE)" $(BUILD) $(SUITE)
clean: ## remove $(BUILD)
	rm -rf $(BUILD)
help: ## this table
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(TANDEM_SHARE)/tandem.mk | sort
	@echo "  CFG=$(CFG) ($($(DUT).cfgs))  KIND=$(KIND) (fast tap debug cov)  SEED=$(SEED)  COUNT=$(COUNT)"
