# ONNX (docs/onnx.md), and the overhead of Python (docs/python.md).
.PHONY: onnx-table
onnx-table: ## networks | write docs/onnx.md: ONNX's node tests on model and RTL | runs the tests with N=4; \
    needs the Debian package libonnx-testdata
	@scripts/build.sh python PYTHON_RTL=n4-fast
	@BUILD=$(BUILD) $(PYTHON) tools/onnx_table.py

# the same work from C
-include $(call deps,$(OUT)/obj/bench/python_pair.d)
$(OUT)/bench-python: $(OUT)/obj/bench/python_pair.o $(DUT_npu_top) $(TANDEM_LIBS:%=$(HOST)/lib%.a) \
  $(VLT)/libverilated.a $(HOST)/flags.ld
	@$(call link_top,$(OUT)/obj/bench/python_pair.o,npu_top,$(TANDEM_LIBS))

.PHONY: bench-python
bench-python: ## sign-off | compare calls from Python with C (minutes) | measures calls of units, and the speed \
    of the RTL; CFG=n8 R=9: configuration, and number of repetitions
	@scripts/build.sh python PYTHON_RTL=$(CFG)-fast
	@scripts/build.sh CFG=$(CFG) KIND=fast $(BUILD)/$(CFG)-fast/bench-python
	@$(PYTHON) bench/python_overhead.py --build $(BUILD) --n $(N) $(if $(R),--rounds $(R))
