# Verilated builds: the NPU and the unit benches of one CFG and KIND.
RTL_PKGS := rtl/npu/npu_pkg.sv rtl/npu/regs/npu_regs_pkg.sv
RTL_PKGS += $(filter-out $(RTL_PKGS),$(wildcard rtl/lib/*/*_pkg.sv rtl/npu/*/*_pkg.sv))
RTL_DIRS := $(patsubst %/,%,$(sort $(dir $(wildcard rtl/lib/*.sv rtl/npu/*.sv rtl/lib/*/*.sv rtl/npu/*/*.sv))))
RTL_ALL := $(RTL_PKGS) $(filter-out $(RTL_PKGS),$(sort $(wildcard rtl/lib/*.sv rtl/npu/*.sv rtl/lib/*/*.sv rtl/npu/*/*.sv)))
UNIT_SV_DIR := $(wildcard testcases/npu/unit/sv)

# Lint is a step of its own (make lint): here only errors stop.
VFLAGS_COMMON := --cc --assert -O3 --unroll-count 1 -Wno-lint -Wno-style -MMD --MP
# The initial state is random in all kinds but cov: it costs nothing but the constructor (tests/test_init_state.py: nothing depends on it).
VFLAGS_fast := --x-assign fast --x-initial unique
VFLAGS_tap := --x-assign unique --x-initial unique --trace-fst --trace-structs
VFLAGS_debug := --x-assign unique --x-initial unique --trace-fst --trace-structs
VFLAGS_san := --x-assign unique --x-initial unique
# no random state here: from all zeros to a value at reset is one change at most, which is no toggle (tb/sim/shim_impl.hpp)
VFLAGS_cov := --x-assign fast --x-initial fast --coverage-line --coverage-toggle --coverage-user --coverage-max-width 64 tb/npu/cover/points.vlt
VFLAGS_TOOL := $(VFLAGS_COMMON) $(VFLAGS_$(KIND))
VFLAGS_RTL := -Irtl/lib $(addprefix -y ,$(RTL_DIRS)) $(wildcard rtl/npu/lint.vlt) $(RTL_PKGS)
VFLAGS := $(VFLAGS_TOOL) $(VFLAGS_RTL)

# modules bound into the units, which make their signals readable (tb/tap/tap.h)
UNIT_TAPS := tb/npu/taps/taps.vlt $(sort $(wildcard tb/npu/taps/*.sv))
TAPS := $(if $(filter tap,$(KIND)),$(sort $(wildcard tb/npu/taps/*.vlt)) $(sort $(wildcard tb/npu/taps/*.sv)))
# modules bound into the units, whose cover properties say which corners were seen (docs/coverage-code.md)
COVERS := $(if $(filter cov,$(KIND)),$(sort $(wildcard tb/npu/cover/*.sv)))

VM_TRACE := $(if $(filter debug tap,$(KIND)),1,0)
VM_COVERAGE := $(if $(filter cov,$(KIND)),1,0)
# The loops of the datapath count on vectorisation at -O3. Generated code gets no warnings, and no UBSan: the headers of Verilator do not pass it.
VM_CXX := -std=c++17 -faligned-new -I$(VROOT)/include -I$(VROOT)/include/vltstd -isystem $(VROOT)/include -DVM_COVERAGE=$(VM_COVERAGE) -DVM_SC=0 -DVM_TRACE=$(VM_TRACE) \
  -DVM_TRACE_FST=$(VM_TRACE) -DVM_TRACE_VCD=0 -DVL_USER_FINISH -DVL_USER_STOP -DVL_USER_FATAL $(if $(ARCH),-march=$(ARCH)) $(SANITIZE_VM) -w
# cov: counters between all statements leave the compiler little to do but take long
VM_FAST := $(if $(filter san cov,$(KIND)),-O1,-O3 -fno-stack-protector)
VM_SLOW := $(if $(filter cov,$(KIND)),-O0,-O1)

# ---- runtime, one for all tops of a kind ----
VLT_SRC := $(notdir $(wildcard $(addprefix $(VROOT)/include/,verilated.cpp verilated_threads.cpp verilated_random.cpp \
  $(if $(filter 1,$(VM_TRACE)),verilated_fst_c.cpp) $(if $(filter 1,$(VM_COVERAGE)),verilated_cov.cpp))))
VLT_OBJ := $(VLT_SRC:%.cpp=$(VLT)/%.o)
$(eval $(call stamp,$(VLT)/flags,$(CXX) $(VM_CXX) $(shell $(VERILATOR) --version 2>/dev/null)))
$(VLT)/%.o: $(VROOT)/include/%.cpp $(VLT)/flags tb/sim/vl_printf.h
	@echo "  CXX   $(notdir $<)"
	@$(CCACHE) $(CXX) $(VM_CXX) -O2 -include tb/sim/vl_printf.h -c $< -o $@
$(VLT)/libverilated.a: $(VLT_OBJ)
	@rm -f $@
	@ar rcs $@ $^

$(eval $(call stamp,$(OUT)/flags.v,$(VFLAGS) $(TAPS) $(UNIT_TAPS) $(COVERS) $(shell $(VERILATOR) --version 2>/dev/null)))
$(eval $(call stamp,$(OUT)/flags.cxx,$(CXX) $(VM_CXX) $(VM_FAST)))
$(eval $(call stamp,$(OUT)/flags.c,$(CC) $(CFLAGS_ALL)))

# Verilator 5.006 counts with atomic additions, at several times the price; a model runs in one thread here. And each instance enters its points into a table,
# which takes longer than a small case: the shim says when that is needed, and learns here which counters are those of toggles (tb/sim/shim_impl.hpp).
# Meanwhile the target is away: a make that is stopped here begins again.
PLAIN_COUNTERS = sed -i -E 's/std::atomic<uint32_t>( __Vcoverage\[|\* countp)/uint32_t\1/; s/(vlSymsp->__Vcoverage\[[0-9]+\])\.fetch_add\(1, std::memory_order_relaxed\)/++\1/; \
  s/^ +VL_COVER_INSERT\(/    extern bool tb_vl_cover_point(const uint32_t *, const char *, const char *);\n    if (!tb_vl_cover_point(count32p, pagep, commentp)) return;\n&/'

# what messages call this build
BUILD_LABEL ?= $(CFG)-$(KIND)

# ---- one Verilated top: $(1) name of its folder, $(2) module, $(3) parameters, $(4) more folders with modules, $(5) sources instead of the NPU's ----
# The model is compiled as two files, the code that runs every cycle and the rest; inside its folder, so that ccache sees one command for models that do not
# depend on the mesh size.
define verilated
DUT_$(1) := $(OUT)/v/$(1)/model.o $(OUT)/v/$(1)/model_slow.o $(OUT)/v/$(1)/shim.o
$(OUT)/v/$(1)/V$(2).mk: $(OUT)/flags.v $(if $(findstring .vlt,$(3) $(5)),scripts/tap_alias.py)
	@mkdir -p $$(@D)
	@echo "  VLT   $(2) $(filter -G%,$(3)) ($(BUILD_LABEL))"
	@rm -f $$(@D)/*.cpp $$(@D)/V*.h $$(@D)/*.dat
	@$(VERILATOR) $(VFLAGS_TOOL) $(or $(5),$(VFLAGS_RTL)) $(addprefix -y ,$(4)) $(3) --Mdir $$(@D) --top-module $(2) $(2)
	@$(if $(findstring .vlt,$(3) $(5)),$(PYTHON) scripts/tap_alias.py $$(@D) $(2),:)
	@$(if $(filter cov,$(KIND)),mv $$@ $$@.new && $(PLAIN_COUNTERS) $$(@D)/V$(2)*.h $$(@D)/V$(2)*.cpp && mv $$@.new $$@,:)
	@touch $$@
$(OUT)/v/$(1)/model.o: $(OUT)/v/$(1)/V$(2).mk $(OUT)/flags.cxx
	@echo "  CXX   $(2) ($(BUILD_LABEL))"
	@ls $$(@D)/V$(2)*.cpp | grep -Ev '__(Slow|Syms|Trace)' | sed 's|.*/|#include "|; s|$$$$|"|' > $$(@D)/model.cpp
	@cd $$(@D) && $(CCACHE) $(CXX) $(VM_CXX) $(VM_FAST) -c model.cpp -o model.o
$(OUT)/v/$(1)/model_slow.o: $(OUT)/v/$(1)/V$(2).mk $(OUT)/flags.cxx
	@ls $$(@D)/V$(2)*.cpp | grep -E '__(Slow|Syms|Trace)' | sed 's|.*/|#include "|; s|$$$$|"|' > $$(@D)/model_slow.cpp
	@cd $$(@D) && $(CCACHE) $(CXX) $(VM_CXX) $(VM_SLOW) -c model_slow.cpp -o model_slow.o
$(OUT)/v/$(1)/shim.o: $(OUT)/v/$(1)/V$(2).mk scripts/gen_shim.py tb/sim/shim.h tb/sim/shim_impl.hpp tb/sim/vl_printf.h $(OUT)/flags.cxx
	@$(PYTHON) scripts/gen_shim.py --top $(2) --header $$(@D)/V$(2).h --output $$(@D)/shim.cpp
	@$(CCACHE) $(CXX) -Itb $(VM_CXX) -O2 -c $$(@D)/shim.cpp -o $$@
-include $(wildcard $(OUT)/v/$(1)/V$(2)__ver.d)
endef

# C sources of programs: they know the mesh size (NPU_CFG_N, NPU_CFG_NAME)
$(OUT)/obj/%.o: %.c $(OUT)/flags.c
	@mkdir -p $(@D)
	@echo "  CC    $< ($(CFG)-$(KIND))"
	@$(CCACHE) $(CC) $(CFLAGS_ALL) -DNPU_CFG_N=$(N) -DNPU_CFG_NAME='"$(CFG)"' -MMD -MP -c $< -o $@

# coverage files name their job, the kind of build with it
$(OUT)/obj/testcases/npu/main.o $(OUT)/obj/testcases/npu/unit/bench_main.o: private CFLAGS_ALL += -DNPU_BUILD_KIND='"$(KIND)"'

# $(1) objects, $(2) Verilated folder, $(3) host libraries
# the FST writer of Verilator 5.04x and later compresses with lz4 (liblz4-dev)
link = $(CXX) $(LDFLAGS_ALL) $(1) $(DUT_$(2)) -Wl,--start-group $(3:%=$(HOST)/lib%.a) $(VLT)/libverilated.a -Wl,--end-group -o $@ $(if $(wildcard $(VROOT)/include/fstcpp),-llz4) -ljansson -lz -lm -lpthread -latomic

# ---- the NPU ----
PROGRAMS :=
ifneq ($(wildcard rtl/npu/npu_top.sv),)
$(eval $(call verilated,npu_top,npu_top,-GN=$(N) $(TAPS) $(COVERS),))

SRC_tandem := $(wildcard testcases/npu/*.c testcases/npu/operator/*.c testcases/npu/network/*.c)
OBJ_tandem := $(SRC_tandem:%.c=$(OUT)/obj/%.o)
-include $(OBJ_tandem:.o=.d)
TANDEM_LIBS := covnpu covcode coverage tbnpu tb opt cmodel drivers report
NET_LIBS := network $(TANDEM_LIBS)
$(OUT)/tandem: $(OBJ_tandem) $(DUT_npu_top) $(NET_LIBS:%=$(HOST)/lib%.a) $(VLT)/libverilated.a $(HOST)/flags.ld
	@echo "  LD    $@"
	@$(call link,$(OBJ_tandem),npu_top,$(NET_LIBS))
ifneq ($(SRC_tandem),)
PROGRAMS += $(OUT)/tandem
endif

# published cycle figures beside those of the RTL (make bench)
-include $(OUT)/obj/bench/figures.d
$(OUT)/bench-figures: $(OUT)/obj/bench/figures.o $(DUT_npu_top) $(TANDEM_LIBS:%=$(HOST)/lib%.a) $(VLT)/libverilated.a $(HOST)/flags.ld
	@echo "  LD    $@"
	@$(call link,$(OUT)/obj/bench/figures.o,npu_top,$(TANDEM_LIBS))

SRC_net := $(wildcard network/main/*.c)
OBJ_net := $(SRC_net:%.c=$(OUT)/obj/%.o)
-include $(OBJ_net:.o=.d)
$(OUT)/tandem-net: $(OBJ_net) $(DUT_npu_top) $(NET_LIBS:%=$(HOST)/lib%.a) $(VLT)/libverilated.a $(HOST)/flags.ld
	@echo "  LD    $@"
	@$(call link,$(OBJ_net),npu_top,$(NET_LIBS))
ifneq ($(SRC_net),)
PROGRAMS += $(OUT)/tandem-net
endif
endif

# ---- unit benches ----
UNIT_BENCHES := $(sort $(wildcard testcases/npu/unit/unit_*.c))
UNITS :=
ifneq ($(UNIT_BENCHES),)
$(eval $(call stamp,$(BUILD)/units.list,$(UNIT_BENCHES) $(RTL_ALL) $(wildcard testcases/npu/unit/sv/*.sv)))
$(BUILD)/units.mk: $(UNIT_BENCHES) $(BUILD)/units.list scripts/unit_duts.py
	@$(PYTHON) scripts/unit_duts.py --rtl rtl $(addprefix --rtl ,$(UNIT_SV_DIR)) $(UNIT_BENCHES) > $@.tmp && mv $@.tmp $@
-include $(BUILD)/units.mk
endif
OBJ_unit_common := $(patsubst %.c,$(OUT)/obj/%.o,$(filter-out $(UNIT_BENCHES),$(wildcard testcases/npu/unit/*.c)))
-include $(OBJ_unit_common:.o=.d)
UNIT_LIBS := tbnpu covnpu covcode coverage tb opt cmodel drivers report

define unit
$$(eval $$(call verilated,unit_$(1),$(UNIT_DUT_$(1)),$(UNIT_PARAMS_$(1)) $(UNIT_TAPS),$(UNIT_SV_DIR)))
-include $(OUT)/obj/testcases/npu/unit/unit_$(1).d
$(OUT)/unit-$(1): $(OUT)/obj/testcases/npu/unit/unit_$(1).o $(OBJ_unit_common) $$(DUT_unit_$(1)) $(UNIT_LIBS:%=$(HOST)/lib%.a) $(VLT)/libverilated.a $(HOST)/flags.ld
	@echo "  LD    $$@"
	@$$(call link,$(OUT)/obj/testcases/npu/unit/unit_$(1).o $(OBJ_unit_common),unit_$(1),$(UNIT_LIBS))
PROGRAMS += $(OUT)/unit-$(1)
endef
$(foreach u,$(UNITS),$(eval $(call unit,$(u))))

.PHONY: build
build: $(PROGRAMS) ## build all programs of one CFG and KIND
