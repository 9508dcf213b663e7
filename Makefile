# Tandem: every user command. `make help` prints the table; the work is done in scripts/*.mk and in the programs.

# ---- what a user may set ----
# the design; DESIGNS: folders with more of them (docs/architecture.md, section 15). CFG, KIND: as its description says
# DUT ?= the default design
DESIGNS ?=
SUITE ?= default
SEED ?= 1
JOBS ?= $(shell nproc)
CXX ?= g++
CC ?= gcc
BUILD ?= build
# native: fastest, for this machine only; empty: runs on any machine of this architecture (the default in CI)
ARCH ?= $(if $(CI),,native)
SAN ?=
# an FST file to write (run, unit, repro, network); takes a build with tracing
WAVE ?=

export PYTHON ?= /usr/bin/python3

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.PHONY: FORCE
FORCE:

# ---- building (scripts/build.sh) ----
export BUILD
export TANDEM_JOBS := $(JOBS)
export TANDEM_COMMAND ?= $(strip make $(MAKECMDGOALS) $(MAKEOVERRIDES))
export MAKE_COMMAND
# goals that only build are handed to a make that has the lock; all other commands build by themselves, and run without
BUILT := $(filter build host tests python-package generated $(BUILD)/% $(abspath $(BUILD))/%,$(MAKECMDGOALS))
ifneq ($(if $(TANDEM_BUILDING),,$(BUILT)),)
.PHONY: $(MAKECMDGOALS) one-by-one
$(MAKECMDGOALS): one-by-one
	@:
one-by-one:
	+@$(if $(filter-out $(BUILT),$(MAKECMDGOALS)),$(foreach g,$(MAKECMDGOALS),$(MAKE) --no-print-directory \
	  -f $(firstword $(MAKEFILE_LIST)) $(g) &&) :,scripts/build.sh -f $(firstword $(MAKEFILE_LIST)) $(MAKECMDGOALS))
else

include scripts/designs.mk
# make writes build/designs.mk first and then restarts
ifneq ($(DUTS),)
include scripts/gen.mk
include scripts/flags.mk
include scripts/host.mk
include scripts/rtl.mk
include scripts/checks.mk
include scripts/jobs.mk
include scripts/times.mk
include scripts/install.mk
include scripts/fuzz.mk
include scripts/qualify.mk
include scripts/cov.mk
include scripts/python.mk
include $(filter-out %/gen.mk,$(wildcard $($(DUT).root)designs/$(DUT)/*.mk))
endif

.PHONY: help clean format

help: ## every day | list the commands; C=goal: all that one takes | C=regress: print everything that make \
    regress takes
	@awk -v goal='$(C)' -f scripts/help.awk $(MAKEFILE_LIST)
ifeq ($(C),)
	@echo
	@printf '  %s\n' "DUT=$(DUT) ($(DUTS))  CFG=$(CFG) ($($(DUT).cfgs))" \
	  "SUITE=$(SUITE) ($(basename $(notdir $(wildcard $($(DUT).root)designs/$(DUT)/suites/*.suite))))" \
	  "KIND=$(KIND) (fast; debug: FST; cov: coverage; san: sanitizers; mut: mutants)" \
	  "SEED=$(SEED)  JOBS=$(JOBS)  ARCH=$(ARCH) (empty: portable)"
endif

format: ## every day | format C, C++ (clang-format) and SystemVerilog
	clang-format -i $(C_SOURCES)
	@git ls-files --cached --others --exclude-standard '*.sv' '*.svh' ':!tests' | xargs $(PYTHON) scripts/sv_style.py --fix

clean: ## every day | remove build/
	@scripts/clean.sh
endif
