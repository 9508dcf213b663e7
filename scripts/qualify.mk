# Functional qualification (docs/qualification.md): all mutants of a design in one build, KIND=mut.
.PHONY: qualify
QUALIFY_OUT = $(BUILD)/$(DUT_FOLDER)qualify
qualify: ## which mutants of DUT= the tests of SUITE=smoke detect: build/[DUT/]qualify/report.txt; CFG=, MUTANTS=n \
    drawn by DRAW=1 (all), CYCLES=n of each in a job, GATE=percent
	@scripts/build.sh DUT=$(DUT) CFG=$(CFG) KIND=mut $(RUNNER) $(BUILD)/$(DUT_FOLDER)$(CFG)-mut/tandem
	@$(PYTHON) scripts/qualify.py run --design $(DUT) --cfg $(CFG) \
	  --suite $(if $(call given,SUITE),$(SUITE),smoke) --build $(BUILD) \
	  --out-build $(BUILD)/$(DUT_FOLDER)$(CFG)-mut --runner $(RUNNER) --out $(QUALIFY_OUT) --jobs $(JOBS) \
	  --equivalent $($(DUT).root)designs/$(DUT)/equivalent.txt \
	  $(if $(call given,SEED),--seed $(SEED)) $(if $(MUTANTS),--mutants $(MUTANTS)) $(if $(DRAW),--draw $(DRAW)) \
	  $(if $(CYCLES),--cycles $(CYCLES)) $(if $(GATE),--gate $(GATE))
