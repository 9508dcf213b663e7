# The example: another design under the same framework (docs/own-dut.md). OUT is the folder of one build of one design, so that a build of the example is a
# make of its own: build/example-axi_copy/d128-tap.
.PHONY: example example-watch example-mutants
DATA ?= 128
EXAMPLE := examples/axi_copy
EXAMPLE_RTL ?= $(EXAMPLE)/rtl
EXAMPLE_KIND := $(if $(call given,KIND),$(KIND),$(if $(SAN),san,tap))
EXAMPLE_PROGRAM := $(BUILD)/example-axi_copy/d$(DATA)-$(EXAMPLE_KIND)/axi_copy

ifeq ($(findstring /example-axi_copy/,$(OUT)),)
EXAMPLE_MAKE = @$(MAKE) -s OUT=$(@D) KIND=$(lastword $(subst -, ,$*)) BUILD_LABEL=$* $@
$(BUILD)/example-axi_copy/%/axi_copy: FORCE
	$(EXAMPLE_MAKE)
$(BUILD)/example-axi_copy/%/axi_watch: FORCE
	$(EXAMPLE_MAKE)
else
# the folder says how many bits the memory port has: d64-..., d128-...
EXAMPLE_CFG := $(firstword $(subst -, ,$(notdir $(OUT))))
EXAMPLE_TAPS := $(if $(filter tap,$(KIND)),$(EXAMPLE)/tap/taps.vlt $(sort $(wildcard $(EXAMPLE)/tap/*.sv)))
$(eval $(call verilated,axi_copy,axi_copy,-GDataBytes=$(if $(filter d64,$(EXAMPLE_CFG)),8,16) $(EXAMPLE_TAPS),,-y $(EXAMPLE_RTL)))
OBJ_example := $(patsubst %.c,$(OUT)/obj/%.o,$(wildcard $(EXAMPLE)/*.c))
-include $(OBJ_example:.o=.d)
$(OUT)/obj/$(EXAMPLE)/%.o: $(EXAMPLE)/%.c $(OUT)/flags.c
	@mkdir -p $(@D)
	@echo "  CC    $< ($(BUILD_LABEL))"
	@$(CCACHE) $(CC) $(CFLAGS_ALL) -I$(EXAMPLE) -DCOPY_CFG='"$(EXAMPLE_CFG)"' -MMD -MP -c $< -o $@
$(OUT)/axi_copy: $(OBJ_example) $(DUT_axi_copy) $(HOST)/libtb.a $(HOST)/libopt.a $(HOST)/libreport.a $(VLT)/libverilated.a $(HOST)/flags.ld
	@echo "  LD    $@"
	@$(call link,$(OBJ_example),axi_copy,tb opt report)

# the AXI checker alone, in a bench that is not ours
$(OUT)/watch.o: $(EXAMPLE)/watch/watch.cpp $(DUT_axi_copy) $(EXAMPLE)/axi_copy.mk
	@echo "  CXX   $< ($(BUILD_LABEL))"
	@$(CCACHE) $(CXX) $(VM_CXX) -Itb -I$(OUT)/v/axi_copy -MMD -MP -c $< -o $@
-include $(OUT)/watch.d
$(OUT)/axi_watch: $(OUT)/watch.o $(DUT_axi_copy) $(HOST)/libtb.a $(HOST)/libopt.a $(HOST)/libreport.a $(VLT)/libverilated.a $(HOST)/flags.ld
	@echo "  LD    $@"
	@$(call link,$(OUT)/watch.o,axi_copy,tb opt report)
endif

# make example [SEED= COUNT= KIND= DATA=64 knob=value ARGS=options], or CASE=file, or SHRINK=file
example: ## another design under the same framework (docs/own-dut.md)
	@$(BUILD_QUIETLY) $(EXAMPLE_PROGRAM)
	$(EXAMPLE_PROGRAM) $(if $(CASE),--case $(CASE),$(if $(SHRINK),--shrink $(SHRINK),--run-seed $(SEED) --count $(or $(COUNT),200) $(KNOBS))) $(ARGS)

example-watch: ## the AXI checker alone, in a Verilator bench of one's own
	@$(BUILD_QUIETLY) $(EXAMPLE_PROGRAM:%/axi_copy=%/axi_watch)
	$(EXAMPLE_PROGRAM:%/axi_copy=%/axi_watch)

example-mutants: ## deliberate bugs in the example's RTL, each found by the check that should
	@MAKE="$(MAKE)" JFLAG="$(PARALLEL)" BUILD="$(BUILD)" $(EXAMPLE)/mutants.sh
