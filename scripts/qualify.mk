# Functional qualification (docs/qualification.md): all mutants of a design in one build, KIND=mut.
.PHONY: qualify
QUALIFY_OUT = $(BUILD)/$(DUT_FOLDER)qualify
qualify: ## sign-off | mutants of the RTL that no check notices | CFG=, SUITE=smoke: the tests; MUTANTS=n DRAW=1: so \
    many, drawn by this seed (all); CYCLES=n: of each in a job; GATE=percent: exit status 1 below this score; \
    build/[DUT/]qualify/report.txt
	@scripts/build.sh DUT=$(DUT) CFG=$(CFG) KIND=mut $(RUNNER) $(BUILD)/$(DUT_FOLDER)$(CFG)-mut/tandem
	@$(PYTHON) scripts/qualify.py run --design $(DUT) --cfg $(CFG) \
	  --suite $(if $(call given,SUITE),$(SUITE),smoke) --build $(BUILD) \
	  --out-build $(BUILD)/$(DUT_FOLDER)$(CFG)-mut --runner $(RUNNER) --out $(QUALIFY_OUT) --jobs $(JOBS) \
	  --equivalent $($(DUT).root)designs/$(DUT)/equivalent.txt \
	  $(if $(call given,SEED),--seed $(SEED)) $(if $(MUTANTS),--mutants $(MUTANTS)) $(if $(DRAW),--draw $(DRAW)) \
	  $(if $(CYCLES),--cycles $(CYCLES)) $(if $(GATE),--gate $(GATE))
