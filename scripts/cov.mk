# Functional and code coverage (docs/coverage.md, docs/coverage-code.md).
.PHONY: cov-cost coverage
# counted C code: model and driver, and their shared libraries where a source of them includes one of its headers
uses_lib = $(if $(wildcard $(1)/lib/*.h),$(shell grep -lE \
  '^.include "($(subst $(SPACE),|,$(notdir $(wildcard $(1)/lib/*.h))))"' $(call room,$(DUT),$(1))/*.[ch]))
COV_ROOMS = $(strip $(call room,$(DUT),cmodel) $(call room,$(DUT),drivers) \
  $(foreach r,cmodel drivers,$(if $(call uses_lib,$(r)),$(r)/lib)))
COV_REQUEST = SUITE="$(SUITE)" DUT="$(DUT)" SEED="$(if $(call given,SEED),$(SEED))" REUSE="$(REUSE)" \
  CFGS="$(if $(call given,CFG),$(CFG),$(subst $(SPACE),$(,),$($(DUT).coverage)))" \
  OUT_DIR="$(BUILD)/$(DUT_FOLDER)coverage"
# CFG= for one configuration; THRESHOLDS=file CODE_THRESHOLDS=file instead of the project's
coverage: export BUILD := $(BUILD)
coverage: ## sign-off | measure coverage of a suite: pages, thresholds | runs the jobs that the suite marks for \
    coverage (all, if it marks none), merges their results and checks them against thresholds; the pages begin \
    at build/coverage/index.html; SUITE=default: the suite; CFG=: one configuration; DUT=: the design; REUSE=1: \
    report again without running the jobs
	$(if $(if $(call given,CFG),$(filter-out $($(DUT).coverage),$(CFG))),$(error CFG=$(CFG): expected one of \
	  $($(DUT).coverage), which count code coverage (docs/coverage-code.md)))
	@$(COV_REQUEST) SUITES="$(call room,$(DUT),designs)/suites" GIVEN="$(THRESHOLDS) $(CODE_THRESHOLDS)" \
	  scripts/coverage.sh check
	@scripts/build.sh KIND=fast $(RUNNER) $(HOST)/tandem-cov
	@$(COV_REQUEST) JOBS="$(JOBS)" RUNNER="$(RUNNER)" COV="$(HOST)/tandem-cov" ROOM="$(call room,$(DUT),coverage)" \
	  THRESHOLDS="$(or $(THRESHOLDS),$(call room,$(DUT),coverage)/thresholds.txt)" \
	  CODE_THRESHOLDS="$(or $(CODE_THRESHOLDS),$(call room,$(DUT),coverage)/thresholds-code.txt)" \
	  ONLY="$(subst $(SPACE),$(,),$(COV_ROOMS))" \
	  COUNTED="$(wildcard $($(DUT).counted))" scripts/locked.sh $(BUILD)/coverage.lock scripts/coverage.sh

cov-cost: ## sign-off | count what a sample of a covergroup costs (valgrind)
	@mkdir -p $(BUILD)/cov
	@scripts/locked.sh $(BUILD)/lock $(CC) -std=c11 -D_GNU_SOURCE= -O2 -I. coverage/*.c report/file.c \
	  bench/cov_cost.c -o $(BUILD)/cov/cost
	@for n in 1000 11000; do \
	  valgrind --tool=callgrind --callgrind-out-file=/dev/null $(BUILD)/cov/cost $$n 2>&1 | \
	    awk '/Collected/ { print $$NF }'; \
	done | awk 'NR == 1 { first = $$1 } \
	  NR == 2 { printf "%.0f instructions a sample of 8 coverpoints and 2 crosses\n", ($$1 - first) / 10000 }'

# Code coverage (docs/coverage-code.md): make CFG= KIND=cov build, then programs with --code-cov
.PHONY: cov-zero
cov-zero: ## sign-off | reset the counters of lines of model and driver | removes gcov's counters in \
    build/host-cov
	@if [ -d $(BUILD)/host-cov ]; then \
	  scripts/locked.sh $(BUILD)/coverage.lock find $(BUILD)/host-cov -name '*.gcda' -delete; fi
