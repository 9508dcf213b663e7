# Synthesis for an FPGA (docs/sgemm/synthesis.md).
.PHONY: synth
synth: ## sign-off | synthesise the units with Yosys | DUT=sgemm CFG=s8: the configuration; UNITS="sgemm_ld \
    sgemm_mac": only these units; TIMEOUT=seconds: for each unit
	@scripts/build.sh generated
	@$(PYTHON) designs/sgemm/tools/synth.py --build "$(BUILD)" $(if $(filter command,$(origin UNITS)),--units "$(UNITS)") \
	  $(if $(TIMEOUT),--timeout "$(TIMEOUT)") $($(DUT).params.$(CFG))
