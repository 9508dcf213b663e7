# Compilers, flags, folders.
# what each recipe takes (make build-times)
ifneq ($(TANDEM_TIMES),)
SHELL := scripts/timed_shell.sh
.SHELLFLAGS = $(or $@,-) -c
endif
VERILATOR ?= verilator
VROOT := $(shell $(VERILATOR) --getenv VERILATOR_ROOT 2>/dev/null)
CCACHE := $(shell command -v ccache 2>/dev/null)

CFGS := $($(DUT).cfgs)
KINDS := fast tap debug cov san mut
ifeq ($(filter $(CFG),$(CFGS)),)
  $(error CFG=$(CFG): expected one of $(CFGS))
endif
ifeq ($(filter $(KIND),$(KINDS)),)
  $(error KIND=$(KIND): expected one of $(KINDS))
endif
ifeq ($(KIND),cov)
  ifeq ($(filter $(CFG),$($(DUT).coverage)),)
    $(error CFG=$(CFG) KIND=cov: expected one of $($(DUT).coverage), which count code coverage (docs/coverage-code.md))
  endif
endif

HOST := $(BUILD)/host$(if $(filter san cov,$(KIND)),-$(KIND))
# builds of the default design keep their short path, which stored cases, reproducers and documents name
DUT_FOLDER := $(if $(filter-out $(DUT_DEFAULT),$(DUT)),$(DUT)/)
OUT := $(BUILD)/$(DUT_FOLDER)$(CFG)-$(KIND)
# mutants have the runtime of fast
VLT := $(BUILD)/verilated-$(if $(filter mut,$(KIND)),fast,$(KIND))

# a design's folder sees its own design; other code (tests/, network/, python/) sees the default design
ROOM_INCLUDES := $(call room_includes,$(DUT_DEFAULT))
INCLUDES = -I. -Icmodel/lib -Idrivers/lib -Itb -Inetwork -Iregress $(ROOM_INCLUDES)
# gcc's -Wconversion has false positives on code that UBSan instruments
WARNINGS := -Wall -Wextra -Werror $(if $(filter san,$(KIND)),,-Wconversion) -Wshadow
, := ,
SPACE := $(subst ,, )
SANITIZE := $(if $(filter san,$(KIND)),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined \
  -fno-omit-frame-pointer)
# Verilator's own headers and generated code are checked with ASan only
SANITIZE_VM := $(if $(filter san,$(KIND)),-fsanitize=address -fno-omit-frame-pointer)
OPT := $(if $(filter san,$(KIND)),-O1,-O2) -g $(if $(ARCH),-march=$(ARCH))
# Objects serve programs and the shared objects of Python alike. These export only what asks for it, so that calls
# between files are as direct as in a program.
PIC := -fPIC -fvisibility=hidden -fno-semantic-interposition
# no contraction of a*b+c and no reassociation: every floating-point step is one IEEE-754 operation
# GCOV: of the objects that are counted (host.mk)
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE= $(WARNINGS) -ffp-contract=off -fno-fast-math $(OPT) $(PIC) $(SANITIZE) $(GCOV) \
  $(INCLUDES) $(CFLAGS)
LDFLAGS_ALL = $(SANITIZE) $(if $(filter cov,$(KIND)),--coverage) $(LDFLAGS)

# $(call stamp,file,text): a file that changes when the text does. Objects that depend on flags are built after the
# generated sources; with a third argument it is for a makefile, which make writes before the build has its lock.
define stamp
$(1): FORCE $(if $(3),,| $(GENERATED))
	@mkdir -p $$(@D)
	@printf '%s\n' '$(2)' | cmp -s - $$@ || { printf '%s\n' '$(2)' > $$@.$$$$$$$$ && mv $$@.$$$$$$$$ $$@; }
endef

# $(call deps,files): what compilers write is read by the make that has the lock
deps = $(if $(TANDEM_BUILDING),$(1))

# $(call link,command): a program. It replaces the one that is there, which may be running, or belong to a regression.
# READY: a runner waits for it (regress/builder.h).
link = echo "  LD    $@"; $(1) -o $@.tmp && mv $@.tmp $@$(if $(TANDEM_JOBSERVER), && echo "  READY $@")
# $(call archive,objects): the same for an archive. Programs that are linked meanwhile take the former one.
archive = rm -f $@.tmp && ar rcs $@.tmp $(1) && mv $@.tmp $@
