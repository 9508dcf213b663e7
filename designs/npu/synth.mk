# Synthesis for an FPGA (docs/npu/synthesis.md). Results of a unit are kept in build/synth until one of its sources
# changes.
.PHONY: synth
synth: ## sign-off | synthesise the units with Yosys | N=8: the mesh size; UNITS="mesh acc": only these units; \
    PARAMS="PackMul=1": parameters of the top module; JOBS=1: Yosys processes at a time; TIMEOUT=3600: seconds \
    for each unit; JSON=file: write the figures as JSON; PNR=1: place and route each unit, and print its clock \
    frequency and worst path (nextpnr-ice40: make deps-dev)
	@scripts/build.sh generated
	@scripts/locked.sh $(BUILD)/synth.lock $(PYTHON) designs/npu/tools/synth$(if $(PNR),_pnr).py --build "$(BUILD)" \
	  --n $(if $(filter command,$(origin N)),$(N),8) \
	  $(if $(filter command,$(origin UNITS)),--units "$(UNITS)") $(addprefix --param ,$(PARAMS)) \
	  $(if $(call given,JOBS),--jobs "$(JOBS)") $(if $(TIMEOUT),--timeout "$(TIMEOUT)") $(if $(JSON),--json "$(JSON)")
