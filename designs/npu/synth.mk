# Synthesis for an FPGA (docs/npu/synthesis.md). Results of a unit are kept in build/synth until one of its sources
# changes.
.PHONY: synth
synth: ## sign-off | synthesise the units with Yosys | N=8; UNITS="mesh acc"; PARAMS="PackMul=1"; JOBS=1; \
    TIMEOUT=seconds; JSON=file; PNR=1: place and route each unit (nextpnr-ice40: make deps-dev), MHz and worst path
	@scripts/build.sh generated
	@scripts/locked.sh $(BUILD)/synth.lock $(PYTHON) designs/npu/tools/synth$(if $(PNR),_pnr).py --build "$(BUILD)" \
	  --n $(if $(filter command,$(origin N)),$(N),8) \
	  $(if $(filter command,$(origin UNITS)),--units "$(UNITS)") $(addprefix --param ,$(PARAMS)) \
	  $(if $(call given,JOBS),--jobs "$(JOBS)") $(if $(TIMEOUT),--timeout "$(TIMEOUT)") $(if $(JSON),--json "$(JSON)")
