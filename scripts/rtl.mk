# Verilated builds: the design and its unit benches, of one CFG and KIND.
TOP := $($(DUT).top)
# sources: the folders that the description names, with those in them
RTL_PKGS := $(GEN_PKGS.$(DUT)) $($(DUT).package)
RTL_PKGS += $(filter-out $(RTL_PKGS),$(wildcard $(addsuffix /*_pkg.sv,$($(DUT).source)) \
  $(addsuffix /*/*_pkg.sv,$($(DUT).source))))
RTL_ALL := $(RTL_PKGS) $(filter-out $(RTL_PKGS),$(sort $(wildcard $(addsuffix /*.sv,$($(DUT).source)) \
  $(addsuffix /*/*.sv,$($(DUT).source)))))
RTL_DIRS := $(patsubst %/,%,$(sort $(dir $(RTL_ALL))))
# folders for scripts that read modules and types
RTL_ARGS := $(addprefix --rtl ,$($(DUT).source) $(call gen,$(DUT)))
UNIT_DIR := $(call room,$(DUT),testcases)/unit
# frames of benches, and structural twins of units
UNIT_SV_DIR := $(wildcard $(UNIT_DIR)/sv $(addsuffix /*/struct,$($(DUT).source)))

# KIND=mut: the same sources with all mutants in them (docs/qualification.md); generated packages have none
MUT_DIR := $(OUT)/rtl
MUT_FROM := $(if $(filter mut,$(KIND)),$(filter-out $(BUILD)/%,$(RTL_ALL)))
mutated = $(foreach f,$(1),$(if $(filter $(f),$(MUT_FROM)),$(MUT_DIR)/$(f:/%=%),$(f)))
MUT_PKGS := $(call mutated,$(RTL_PKGS))
MUT_DIRS := $(if $(MUT_FROM),$(patsubst %/,%,$(sort $(dir $(call mutated,$(RTL_ALL))))),$(RTL_DIRS))
MUT_TOOL := scripts/mutate.py scripts/mutants_of.py scripts/sv_tree.py scripts/rtl_modules.py
MUT_STAMP := $(if $(MUT_FROM),$(MUT_DIR)/stamp)
# so many of them, drawn when the sources are written: the build of a large design with all takes several minutes
MUT_DRAW := --mutants $(if $(filter all,$(MUTANTS)),0,$(or $(MUTANTS),6000)) --draw $(or $(DRAW),1)
$(if $(MUT_FROM),$(eval $(call stamp,$(MUT_DIR)/draw,$(MUT_DRAW))))
$(MUT_DIR)/stamp: $(MUT_TOOL) $(RTL_ALL) $(MUT_DIR)/draw
	@mkdir -p $(@D)
	@echo "  MUT   $(DUT) ($(BUILD_LABEL))"
	@$(PYTHON) scripts/mutate.py --output $(@D) $(MUT_DRAW) $(MUT_FROM)
	@touch $@

VFLAGS_LOOPS := --unroll-count 1
include scripts/verilate.mk
VFLAGS_cov += scripts/cov.vlt
# a mutant may give a state a value without a name, and select bits that are not there; instances of a module share
# their code where they can
VFLAGS_mut := $(VFLAGS_fast) -O2 -Wno-ENUMVALUE -Wno-SELRANGE
VFLAGS_TOOL := $(VFLAGS_COMMON) $(VFLAGS_$(KIND))
# the first folder with a module's file wins: with mutants theirs are before those of the sources
VFLAGS_RTL := $(if $(MUT_FROM),$(addprefix -y ,$(MUT_DIRS))) $(addprefix -I,$($(DUT).include)) \
  $(if $(MUT_FROM),,$(addprefix -y ,$(MUT_DIRS))) \
  $(wildcard $(call room,$(DUT),rtl)/lint.vlt) $(MUT_PKGS)
VFLAGS := $(VFLAGS_TOOL) $(VFLAGS_RTL)

# modules bound into the units, which make their signals readable (tb/tap/tap.h): made from the ports of the units in a
# list, and the registers that hang*.c name
TAP_LIST := $(wildcard $(call room,$(DUT),tb)/taps.list)
TAP_DIR := $(BUILD)/taps/$(DUT)
TAP_NEAR := $(TAP_DIR)/taps.near
TAP_READERS := $(wildcard $(call room,$(DUT),tb)/hang*.c)
UNIT_TAPS := $(if $(TAP_LIST),$(TAP_DIR)/taps.vlt $(TAP_DIR)/taps.sv)
TAPS := $(if $(filter tap mut,$(KIND)),$(UNIT_TAPS))
$(TAP_DIR)/stamp: scripts/gen_taps.py scripts/rtl_modules.py $(TAP_LIST) $(TAP_READERS) $(RTL_ALL) $(GEN_STAMPS.$(DUT))
	@mkdir -p $(@D)
	@$(PYTHON) scripts/gen_taps.py --list $(TAP_LIST) $(RTL_ARGS) $(addprefix --registers ,$(TAP_READERS)) \
	  --sv $(@D)/taps.sv --vlt $(@D)/taps.vlt --near $(TAP_NEAR)
	@touch $@
$(TAP_DIR)/taps.vlt $(TAP_DIR)/taps.sv $(TAP_NEAR): $(TAP_DIR)/stamp ;
# modules bound into the units, with cover properties of corner cases (docs/coverage-code.md): made from lists of points
COVER_LISTS := $(sort $(wildcard $(call room,$(DUT),tb)/cover/*.list))
COVER_SV := $(BUILD)/cover/$(DUT)/cover.sv
COVERS := $(if $(filter cov,$(KIND)),$(if $(COVER_LISTS),$(COVER_SV)))
$(COVER_SV).stamp: scripts/gen_cover.py scripts/rtl_modules.py $(COVER_LISTS) $(RTL_ALL) $(GEN_STAMPS.$(DUT))
	@mkdir -p $(@D)
	@$(PYTHON) scripts/gen_cover.py $(RTL_ARGS) --sv $(COVER_SV) $(COVER_LISTS)
	@touch $@
$(COVER_SV): $(COVER_SV).stamp ;

# ---- runtime, one for all tops of a kind ----
$(eval $(call stamp,$(VLT)/flags,$(CXX) $(VM_CXX) $(shell $(VERILATOR) --version 2>/dev/null)))
$(VLT)/%.o: $(VROOT)/include/%.cpp $(VLT)/flags tb/sim/vl_printf.h
	@echo "  CXX   $(notdir $<)"
	@$(CCACHE) $(CXX) $(VM_CXX) -O2 -include tb/sim/vl_printf.h -c $< -o $@
$(VLT)/libverilated.a: $(VLT_OBJ)
	@$(call archive,$^)

$(eval $(call stamp,$(OUT)/flags.v,$(VFLAGS) $(TAPS) $(UNIT_TAPS) $(COVERS) \
  $(shell $(VERILATOR) --version 2>/dev/null)))
$(eval $(call stamp,$(OUT)/flags.cxx,$(CXX) $(VM_CXX) $(VM_FAST)))
$(eval $(call stamp,$(OUT)/flags.c,$(CC) $(CFLAGS_ALL)))

# name of this build in messages
BUILD_LABEL := $(OUT:$(BUILD)/%=%)

# ---- one Verilated top: $(1) name of its folder, $(2) module, $(3) parameters, $(4) more folders with modules ----
# The design is compiled as two files beside the shim, the code that runs every cycle and the rest; a bench as one
# file, for reading the headers takes longer than most units. All inside the folder, so that ccache sees one command for
# models that do not depend on the configuration.
CXX_INSIDE = $(CCACHE) $(CXX) -I$$(realpath --relative-to=. $(CURDIR)/tb) $(VM_CXX) -include sim/vl_fast.h $(MUT_CXX)
MUT_CXX = $(if $(MUT_STAMP),-include sim/mutant.h -DTB_MUTANTS -I../../rtl)
SHIM_CPP = $(PYTHON) scripts/gen_shim.py --top $(1) --header $(@D)/V$(1).h --output $(@D)/shim.cpp
# with all mutants the code is ten times as large: as many files as a machine may compile at a time
MUT_PARTS := 1 2 3 4
MODEL_USES := tb/sim/vl_fast.h $(if $(MUT_STAMP),tb/sim/mutant.h)
SHIM_USES := scripts/gen_shim.py tb/sim/shim.h tb/sim/shim_impl.hpp tb/sim/vl_printf.h $(MODEL_USES) $(MUT_STAMP)

define verilated
$(OUT)/v/$(1)/V$(2).mk: $(OUT)/flags.v $(MUT_STAMP) $(filter $(BUILD)/%,$(3)) \
  $(if $(findstring .vlt,$(3)),scripts/tap_alias.py $(TAP_NEAR))
	@mkdir -p $$(@D)
	@echo "  VLT   $(2) $(filter -G%,$(3)) ($(BUILD_LABEL))"
	@rm -f $$(@D)/*.cpp $$(@D)/V*.h $$(@D)/*.dat
	@$(VERILATOR) $(VFLAGS) $(addprefix -y ,$(4)) $(3) --Mdir $$(@D) --top-module $(2) $(2)
	@$(if $(findstring .vlt,$(3)),$(PYTHON) scripts/tap_alias.py $$(@D) $(2) $(TAP_NEAR),:)
	@$(if $(filter cov,$(KIND)),mv $$@ $$@.new && $(PLAIN_COUNTERS) $$(@D)/V$(2)*.h $$(@D)/V$(2)*.cpp && mv $$@.new $$@,:)
	@touch $$@
-include $(wildcard $(OUT)/v/$(1)/V$(2)__ver.d)
endef

define verilated_design
$(call verilated,$(1),$(2),$(3),$(4))
DUT_$(1) := $(if $(MUT_STAMP),$(MUT_PARTS:%=$(OUT)/v/$(1)/model_%.o),$(OUT)/v/$(1)/model.o) \
  $(OUT)/v/$(1)/model_slow.o $(OUT)/v/$(1)/shim.o
$(MUT_PARTS:%=$(OUT)/v/$(1)/model_%.o): $(OUT)/v/$(1)/model_%.o: $(OUT)/v/$(1)/V$(2).mk $(MODEL_USES) $(OUT)/flags.cxx
	@echo "  CXX   $(2), part $$* ($(BUILD_LABEL))"
	@cd $$(@D) && $$(call CYCLE_CPP,$(2)) | sed -n '$$*~$(words $(MUT_PARTS))p' | $$(INCLUDE_CPP) >model_$$*.cpp && \
	  $$(CXX_INSIDE) $(VM_FAST) -c model_$$*.cpp -o model_$$*.o
$(OUT)/v/$(1)/model.o: $(OUT)/v/$(1)/V$(2).mk $(MODEL_USES) $(OUT)/flags.cxx
	@echo "  CXX   $(2) ($(BUILD_LABEL))"
	@cd $$(@D) && $$(call CYCLE_CPP,$(2)) | $$(INCLUDE_CPP) >model.cpp && $$(CXX_INSIDE) $(VM_FAST) -c model.cpp -o model.o
$(OUT)/v/$(1)/model_slow.o: $(OUT)/v/$(1)/V$(2).mk $(MODEL_USES) $(OUT)/flags.cxx
	@cd $$(@D) && { $$(call TRACE_CPP,$(2)); $$(call optimise,$(ONCE)); $$(call ONCE_CPP,$(2)); } | $$(INCLUDE_CPP) \
	  >model_slow.cpp && $$(CXX_INSIDE) $(VM_SLOW) -c model_slow.cpp -o model_slow.o
$(OUT)/v/$(1)/shim.o: $(OUT)/v/$(1)/V$(2).mk $(SHIM_USES) $(OUT)/flags.cxx
	@$$(call SHIM_CPP,$(2))
	@cd $$(@D) && $$(CXX_INSIDE) -O2 -c shim.cpp -o shim.o
endef

define verilated_unit
$(call verilated,$(1),$(2),$(3),$(4))
DUT_$(1) := $(OUT)/v/$(1)/model.o
$(OUT)/v/$(1)/model.o: $(OUT)/v/$(1)/V$(2).mk $(SHIM_USES) $(OUT)/flags.cxx
	@echo "  CXX   $(2) ($(BUILD_LABEL))"
	@$$(call SHIM_CPP,$(2))
	@cd $$(@D) && { echo shim.cpp; $$(call CYCLE_CPP,$(2)); $$(call optimise,O1); $$(call TRACE_CPP,$(2)); \
	  $$(call optimise,$(ONCE)); $$(call ONCE_CPP,$(2)); } | $$(INCLUDE_CPP) >model.cpp && \
	  $$(CXX_INSIDE) $(VM_FAST) -c model.cpp -o model.o
endef

# C sources of programs: compiled for the configuration
$(OUT)/obj/%.o: ROOM_INCLUDES := $(call room_includes,$(DUT))
# the program of networks plans those of the default design, whichever design it is linked with
ifneq ($(DUT),$(DUT_DEFAULT))
$(OUT)/obj/network/main/%.o: ROOM_INCLUDES += $(call room_includes,$(DUT_DEFAULT))
endif
CFG_MACROS := $(call cfg_macros,$(CFG))
$(OUT)/obj/%.o: %.c $(OUT)/flags.c
	@mkdir -p $(@D)
	@echo "  CC    $< ($(BUILD_LABEL))"
	@$(CCACHE) $(CC) $(CFLAGS_ALL) $(CFG_MACROS) -MMD -MP -c $< -o $@

# coverage files name their job, including the kind of build
$(OUT)/obj/%main.o: private CFLAGS_ALL += -D$(DUT_MACRO)BUILD_KIND='"$(KIND)"'

# $(1) objects, $(2) Verilated folder, $(3) host libraries
# the FST writer of Verilator 5.04x and later compresses with lz4 (liblz4-dev)
link_top = $(call link,$(CXX) $(LDFLAGS_ALL) $(if $(filter alloc,$(3)),$(REFUSALS_NOTED)) $(1) $(DUT_$(2)) \
  -Wl$(,)--start-group $(3:%=$(HOST)/lib%.a) $(VLT)/libverilated.a -Wl$(,)--end-group \
  $(if $(wildcard $(VROOT)/include/fstcpp),-llz4) -ljansson -lz -lm -lpthread -latomic)

# ---- the design and the programs that its description names ----
PROGRAMS :=
$(eval $(call verilated_design,$(TOP),$(TOP),$(addprefix -G,$($(DUT).params.$(CFG))) $(TAPS) $(COVERS)))
TANDEM_LIBS := cov$(DUT) covcode coverage tb$(DUT) tb opt cmodel drivers alloc report

# $(1): name, $(2): libraries above those that every program has
define program
SRC_$(1) := $$(sort $$(wildcard $$($(DUT).program.$(1):%=%/*.c)))
OBJ_$(1) := $$(SRC_$(1):%.c=$(OUT)/obj/%.o)
-include $$(call deps,$$(OBJ_$(1):.o=.d))
$(OUT)/$(1): $$(OBJ_$(1)) $(DUT_$(TOP)) $(patsubst %,$(HOST)/lib%.a,$(2) $(TANDEM_LIBS)) $(VLT)/libverilated.a \
  $(HOST)/flags.ld
	@$$(call link_top,$$(OBJ_$(1)),$(TOP),$(2) $(TANDEM_LIBS))
PROGRAMS += $(OUT)/$(1)
endef
$(foreach p,$($(DUT).programs),$(eval $(call program,$(p),$($(DUT).libs.$(p)))))

# ---- unit benches ----
# values of the parameters, for the benches whose module has them
$(foreach p,$($(DUT).params.$(CFG)),$(eval PARAM_$(firstword $(subst =, ,$(p))) := $(lastword $(subst =, ,$(p)))))
UNIT_BENCHES := $(sort $(wildcard $(UNIT_DIR)/unit_*.c))
UNITS :=
ifneq ($(UNIT_BENCHES),)
UNIT_LIST := $(dir $(OUT))units
$(eval $(call stamp,$(UNIT_LIST).list,$(UNIT_BENCHES) $(RTL_ALL) \
  $(wildcard $(UNIT_SV_DIR:%=%/*.sv)),makefile))
$(UNIT_LIST).mk: $(UNIT_BENCHES) $(UNIT_LIST).list $(BUILD)/designs.mk scripts/unit_duts.py
	@$(PYTHON) scripts/unit_duts.py --prefix $(DUT)_ $(addprefix --param ,$($(DUT).params)) \
	  $(addprefix --rtl ,$($(DUT).source) $(UNIT_SV_DIR)) $(UNIT_BENCHES) > $@.$$$$ && mv $@.$$$$ $@
-include $(UNIT_LIST).mk
endif
OBJ_unit_common := $(patsubst %.c,$(OUT)/obj/%.o,$(filter-out $(UNIT_BENCHES),$(wildcard $(UNIT_DIR)/*.c)))
-include $(call deps,$(OBJ_unit_common:.o=.d))
UNIT_LIBS := tb$(DUT) cov$(DUT) covcode coverage tb opt cmodel drivers alloc report

# Where a runner waits for programs, a bench is begun when the fourth one before it is done: make by itself would
# generate all of them, then compile all, and link all at the end.
define queued
AFTER.$(1) := $$(word 4,$$(QUEUE))
QUEUE := $(1) $$(wordlist 1,3,$$(QUEUE))
endef
$(foreach g,$(patsubst %.ready,%,$(filter %.ready,$(MAKECMDGOALS))),$(eval $(call queued,$(g))))

# parameters of a bench that the configuration names
set_of = $(filter-out %=,$(UNIT_PARAMS_$(1)))
# $(1): name, $(2): its frame, if several of a module stand in one, made from what the bench says of them
define unit
$$(eval $$(call verilated_unit,unit_$(1),$(UNIT_DUT_$(1)),$(call set_of,$(1)) $(UNIT_TAPS),$(UNIT_SV_DIR) $(dir $(2))))
$(OUT)/v/unit_$(1)/V$(UNIT_DUT_$(1)).mk: $(2) | $(AFTER.$(OUT)/unit-$(1))
$(2): $(UNIT_DIR)/unit_$(1).c $(UNIT_FRAMED_$(1)) scripts/unit_frame.py scripts/unit_duts.py scripts/rtl_modules.py
	@$(PYTHON) scripts/unit_frame.py $(UNIT_DIR)/unit_$(1).c $(UNIT_FRAMED_$(1)) $$@
-include $(call deps,$(OUT)/obj/$(UNIT_DIR)/unit_$(1).d)
$(OUT)/unit-$(1): $(OUT)/obj/$(UNIT_DIR)/unit_$(1).o $(OBJ_unit_common) $$(DUT_unit_$(1)) \
  $(UNIT_LIBS:%=$(HOST)/lib%.a) $(VLT)/libverilated.a $(HOST)/flags.ld
	@$$(call link_top,$(OUT)/obj/$(UNIT_DIR)/unit_$(1).o $(OBJ_unit_common),unit_$(1),$(UNIT_LIBS))
PROGRAMS += $(OUT)/unit-$(1)
endef
$(foreach u,$(UNITS),$(eval $(call unit,$(u),$(if $(UNIT_FRAMED_$(u)),$(BUILD)/frames/$(DUT)/$(UNIT_DUT_$(u)).sv))))

# tells a runner that a program is up to date, whether it was built now or was there
$(OUT)/%.ready: $(OUT)/%
	@echo "  READY $<"

.PHONY: build
build: $(PROGRAMS) ## every day | build all programs of one CFG and KIND
