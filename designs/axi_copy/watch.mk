# The AXI checker alone, in a Verilator bench without the rest of the framework (docs/axi_copy/axi_copy.md).
$(OUT)/watch.o: testcases/axi_copy/watch/watch.cpp $(DUT_axi_copy) designs/axi_copy/watch.mk
	@echo "  CXX   $< ($(BUILD_LABEL))"
	@$(CCACHE) $(CXX) $(VM_CXX) -Itb -I$(OUT)/v/axi_copy -MMD -MP -c $< -o $@
-include $(call deps,$(OUT)/watch.d)
$(OUT)/axi_watch: $(OUT)/watch.o $(DUT_axi_copy) $(HOST)/libtb.a $(HOST)/libopt.a $(HOST)/libreport.a \
  $(VLT)/libverilated.a $(HOST)/flags.ld
	@$(call link_top,$(OUT)/watch.o,axi_copy,tb opt report)

.PHONY: axi-watch
axi-watch: ## debugging | run the AXI checker alone, in a stand-alone Verilator bench
	@scripts/build.sh $(OUT)/axi_watch
	$(OUT)/axi_watch
