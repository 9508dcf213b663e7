# Functional qualification (docs/qualification.md): all mutants of a design in one build, KIND=mut.
.PHONY: qualify qualify-replay qualify-builds qualify-hashes
QUALIFY_OUT = $(BUILD)/$(DUT_FOLDER)qualify
QUALIFY_JOBS = --design $(DUT) --cfg $(CFG) --suite $(if $(call given,SUITE),$(SUITE),smoke) --build $(BUILD) \
  --out-build $(BUILD)/$(DUT_FOLDER)$(CFG)-mut --runner $(RUNNER) $(if $(call given,SEED),--seed $(SEED)) \
  $(if $(WHAT),--what $(WHAT)) $(if $(JOB),--job '$(JOB)')
QUALIFY_END = --record "$(RUNNER) --build-dir $(BUILD)" $(addprefix --gate ,$(GATE))
QUALIFY_PART = $(addprefix --since ,$(FROM)) $(if $(MODULES),--modules $(MODULES)) $(if $(ONLY),--only $(ONLY)) \
  $(if $(SAMPLE),--sample $(SAMPLE) $(addprefix --draw ,$(DRAW)))

qualify: ## sign-off | find mutants of the RTL that no check notices | CFG=, SUITE=smoke: the configuration, and \
    the suite of the tests; MUTANTS=6000 (or all), DRAW=1: how many mutants, drawn by this seed; CYCLES=0: clock \
    cycles that a mutant may take in a job, 0: to its end; TRIES=16: jobs that may infect a mutant without \
    detecting it, 0: all; TOTAL=seconds: no job begins later; ALL_CHECKS=1: measure how much each check and each \
    job is worth; PROVE=seconds: try to prove that survivors are equivalent, each for this time, \
    PROVE_TOTAL=600: all together; GATE=percent: exit status 1 below this score; FROM=folder: do not repeat what \
    the run of that folder has detected; MODULES= ONLY= SAMPLE=: mutants of these modules, with these numbers, \
    so many of them; WHAT="unit test case": jobs of these kinds; JOB=regex: jobs whose names match; \
    QUALIFY_OUT=folder: where the results go; the results are build/[DUT/]qualify/report.txt and \
    html/index.html; tandem-regress query qualify lists all runs
	@scripts/build.sh $(RUNNER)
	@begin=$$(date +%s) && programs=$$($(PYTHON) scripts/qualify.py programs $(QUALIFY_JOBS)) && \
	  scripts/build.sh DUT=$(DUT) CFG=$(CFG) KIND=mut $(addprefix MUTANTS=,$(MUTANTS)) $(addprefix DRAW=,$(DRAW)) \
	  $$programs && echo "qualify: built in $$(($$(date +%s) - begin)) s"
	@$(PYTHON) scripts/qualify.py run $(QUALIFY_JOBS) --out $(QUALIFY_OUT) --jobs $(JOBS) --cycles $(or $(CYCLES),0) \
	  --tries $(or $(TRIES),16) $(addprefix --total ,$(TOTAL)) $(QUALIFY_PART) \
	  --equivalent $($(DUT).root)designs/$(DUT)/equivalent.txt $(if $(ALL_CHECKS),--all-checks) \
	  $(if $(PROVE),,$(QUALIFY_END))
	@$(if $(PROVE),$(PYTHON) scripts/qualify.py prove $(QUALIFY_OUT) --seconds $(PROVE) --total $(or $(PROVE_TOTAL),600) \
	  --jobs $(JOBS) --top $(TOP) --parameters $($(DUT).params.$(CFG)) $(QUALIFY_END) \
  $(if $(MODULES),--modules $(MODULES)) \
	  $(addprefix --include ,$($(DUT).include) $(call gen,$(DUT))) --sources $(RTL_ALL),:)

qualify-replay: ## sign-off | replay the case that detects a mutant, with a waveform | DUT=, CFG=: the design \
    and configuration; MUTANT=number: the mutant, which is built from its patch and runs the case that decided \
    about it; the waveform is build/[DUT/]qualify/mutant-N.fst
	$(if $(MUTANT),,$(error MUTANT=: expected the number of a mutant))
	@$(PYTHON) scripts/qualify.py replay $(QUALIFY_OUT) $(MUTANT) --build $(BUILD)

qualify-builds: ## sign-off | build mutants of the last run the ordinary way, compare | DUT=, CFG=: the design \
    and configuration; COUNT=100, DRAW=1: how many mutants, drawn by this seed; TOTAL=seconds: none begins later; \
    RESUME=1: what an earlier call has left
	@$(PYTHON) scripts/qualify.py builds $(QUALIFY_OUT) --build $(BUILD) --count $(or $(COUNT),100) \
	  --draw $(or $(DRAW),1) $(addprefix --total ,$(TOTAL)) $(if $(RESUME),--resume)

qualify-hashes: ## sign-off | compare hashes of kind mut without a mutant and fast | compares the trace hashes \
    of all jobs; DUT=, CFG=, SUITE=smoke: the design, configuration and suite
	@scripts/build.sh $(RUNNER)
	@programs=$$($(PYTHON) scripts/qualify.py programs $(QUALIFY_JOBS)) && \
	  scripts/build.sh DUT=$(DUT) CFG=$(CFG) KIND=mut $(addprefix MUTANTS=,$(MUTANTS)) $(addprefix DRAW=,$(DRAW)) \
	  $$programs && scripts/build.sh DUT=$(DUT) CFG=$(CFG) KIND=fast $$(echo $$programs | sed "s/$(CFG)-mut/$(CFG)-fast/g")
	@$(PYTHON) scripts/qualify.py hashes $(QUALIFY_JOBS)
