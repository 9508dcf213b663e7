# What each step of a build costs (docs/bench.md).
.PHONY: build-times build-suite
TIMES := $(BUILD)/times
# into a folder of its own, without ccache, so that everything is made; WITH_CCACHE=1: as a build would find it
build-times: ## debugging | measure each step of building a suite (minutes) | prints CPU seconds by step and by \
    program; SUITE=smoke CFG= DUT=: which programs are built; WITH_CCACHE=1: use ccache
	@scripts/build.sh $(RUNNER)
	@rm -rf $(TIMES)
	@echo "building into $(TIMES), what compilers print is in $(TIMES).log"
	@$(if $(WITH_CCACHE),,CCACHE_DISABLE=1) $(PYTHON) scripts/build_times.py $(BUILD)/build-times.txt $(TIMES) \
	  $(MAKE) --no-print-directory BUILD=$(TIMES) TIMED_RUNNER=$(RUNNER) build-suite

build-suite:
	@{ scripts/build.sh $(RUNNER) && list=$$($(TIMED_RUNNER) targets $(RUNNER_OPTIONS)) && echo "$$list" | $(BUILDER); \
	  } >$(BUILD).log 2>&1 || { tail -n 20 $(BUILD).log; exit 1; }
