# Speed of the testbench itself.
.PHONY: bench bench-check bench-taps
NIGHTLY += bench-check
BENCH_CFGS ?= $(if $(call given,CFG),$(CFG),n4 n8)
BENCH_KINDS := fast debug tap

# tandem's objects without its main program; functions that bench/without.c can switch off
BENCH_WRAP := tb_checks_open tb_axi_sample_port tb_axi_mon_step npu_rtl_open tb_ddr_find_unwritten \
  tb_ddr_find_protected tb_ddr_find_closed tb_ddr_open tb_buffers_meet \
  tb_ddr_compare tb_ddr_compare_dirty tb_snap_start tb_snap_stop
BENCH_LIBS := $(npu.libs.tandem) $(TANDEM_LIBS)
OBJ_speed := $(OUT)/obj/bench/speed.o $(OUT)/obj/bench/without.o $(filter-out %/main.o,$(OBJ_tandem))
-include $(call deps,$(OUT)/obj/bench/speed.d $(OUT)/obj/bench/without.d)
BENCH_PARTS := $(OBJ_speed) $(DUT_npu_top) $(BENCH_LIBS:%=$(HOST)/lib%.a) $(VLT)/libverilated.a $(HOST)/flags.ld \
  designs/npu/bench.mk
$(OUT)/bench-speed: $(BENCH_PARTS)
	@$(call link_top,$(OBJ_speed) $(BENCH_WRAP:%=-Wl$(,)--wrap=%),npu_top,$(BENCH_LIBS))
# the same with so many bytes before its code: another layout of the code
$(OUT)/bench-layout/%: $(BENCH_PARTS)
	@mkdir -p $(@D)
	@printf '.section .note.GNU-stack,"",@progbits\n.text\n.p2align 6\n.skip %d, 0x90\n' $* | \
	  $(CC) -x assembler -c - -o $@.o
	@$(call link_top,$@.o $(OBJ_speed) $(BENCH_WRAP:%=-Wl$(,)--wrap=%),npu_top,$(BENCH_LIBS))

# instruction counts: valgrind does not support the instructions of the newest machines
BENCH_PORTABLE := $(filter instructions,$(METHOD))$(filter bench-check,$(MAKECMDGOALS))
BENCH_BUILD := $(BUILD)$(if $(BENCH_PORTABLE),/portable)
BENCH_ARGS = --build $(BENCH_BUILD) --cfgs "$(BENCH_CFGS)" $(if $(R),--rounds $(R)) $(if $(METHOD),--method $(METHOD)) \
  $(if $(MD),--markdown) $(if $(BENCH_WORKLOADS),--workloads "$(BENCH_WORKLOADS)")
define bench_programs
@for c in $(BENCH_CFGS); do for k in $(1); do \
  scripts/build.sh CFG=$$c KIND=$$k BUILD=$(BENCH_BUILD) $(if $(BENCH_PORTABLE),ARCH=) \
  $(BENCH_BUILD)/$$c-$$k/bench-speed || exit 1; done; done
endef
BENCH_PY = VERILATOR="$(VERILATOR)" CXX="$(CXX)" $(PYTHON) bench/bench.py
bench: ## sign-off | measure the testbench's own speed (minutes) | CFG= or BENCH_CFGS="n4 n8": the \
    configurations; R=15: repetitions; METHOD=instructions: count instructions instead of time; MD=1: print a \
    table in Markdown
	$(call bench_programs,$(BENCH_KINDS))
	@$(BENCH_PY) $(BENCH_ARGS) $(BENCH_OPTIONS)

# padding in bytes, of the lines of a cache at different places in a page
BENCH_LAYOUTS ?= 64 4544 9728 12928 17216 22336 27904 33472 38144 44224 51136 60032
bench-taps: BENCH_CFGS := $(firstword $(if $(call given,CFG),$(CFG)) n8)
bench-taps: ## sign-off | measure what taps and checks cost in CPU time over debug | the mean of twelve layouts of the \
    code, minutes. CFG= (n8); R=2: runs of each program; BENCH_WORKLOADS="conv mix": some of the workloads
	@for k in debug tap; do scripts/build.sh CFG=$(BENCH_CFGS) KIND=$$k \
	  $(BENCH_LAYOUTS:%=$(BUILD)/$(BENCH_CFGS)-$$k/bench-layout/%) || exit 1; done
	@VERILATOR="$(VERILATOR)" CXX="$(CXX)" $(PYTHON) bench/layouts.py --build $(BUILD) --cfg $(BENCH_CFGS) \
	  $(if $(R),--rounds $(R)) $(if $(BENCH_WORKLOADS),--workloads "$(BENCH_WORKLOADS)") $(BENCH_LAYOUTS)

bench-check: ## sign-off | compare instructions of whole runs with the stored ones | takes minutes, and fails if \
    there are more than 3 % more than in bench/baseline.json; SAVE=1: store the new ones
	$(call bench_programs,fast tap)
	@$(BENCH_PY) --build $(BENCH_BUILD) --cfgs "$(BENCH_CFGS)" --baseline bench/baseline.json $(if $(SAVE),--save)
