# Synthesis of the array and of the whole engine with Yosys, without mapping to a technology: cells by kind, and that
# there is no multiplier (docs/sac/synthesis.md).
SYNTH_W ?= 3
SYNTH_C ?= 2
SYNTH_N ?= 2
SYNTH_OUT := $(BUILD)/sac/synth
SYNTH_RTL := $(RTL_ALL)

.PHONY: synth
synth: ## sign-off | synthesise the units with Yosys: no multiplier | DUT=sac SYNTH_W=4 SYNTH_C=8 SYNTH_N=8: \
    sizes of the vectors; prints the cells of each unit, and fails if one multiplies
	@scripts/build.sh generated
	@$(PYTHON) designs/sac/tools/synth.py --out $(SYNTH_OUT) --rtl "$(SYNTH_RTL)" \
	  --include "$(sac.include) $(BUILD)/gen/sac" --w $(SYNTH_W) --c $(SYNTH_C) --n $(SYNTH_N)
