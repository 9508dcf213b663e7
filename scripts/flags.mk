# Compilers, flags, folders.
export PYTHON ?= /usr/bin/python3
VERILATOR ?= verilator
VROOT := $(shell $(VERILATOR) --getenv VERILATOR_ROOT 2>/dev/null)
CCACHE := $(shell command -v ccache 2>/dev/null)

CFGS := n4 n8 n16 n32
KINDS := fast tap debug cov san
ifeq ($(filter $(CFG),$(CFGS)),)
  $(error CFG=$(CFG): expected one of $(CFGS))
endif
ifeq ($(filter $(KIND),$(KINDS)),)
  $(error KIND=$(KIND): expected one of $(KINDS))
endif
ifeq ($(KIND),cov)
  ifeq ($(filter $(CFG),n4 n8),)
    $(error CFG=$(CFG) KIND=cov: expected n4 or n8; larger meshes have the same source and only more copies of it (docs/coverage-code.md))
  endif
endif
N := $(CFG:n%=%)

HOST := $(BUILD)/host$(if $(filter san cov,$(KIND)),-$(KIND))
OUT := $(BUILD)/$(CFG)-$(KIND)
VLT := $(BUILD)/verilated-$(KIND)

INCLUDES := -I. -Icmodel/npu -Icmodel/lib -Idrivers/npu -Idrivers/lib -Itb -Itb/npu -Inetwork -Iregress -Itestcases/npu -Itestcases/npu/unit
# gcc's -Wconversion has false positives on code that UBSan instruments
WARNINGS := -Wall -Wextra -Werror $(if $(filter san,$(KIND)),,-Wconversion) -Wshadow
, := ,
SANITIZE := $(if $(filter san,$(KIND)),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
# Verilator's own headers and generated code are checked with ASan only
SANITIZE_VM := $(if $(filter san,$(KIND)),-fsanitize=address -fno-omit-frame-pointer)
OPT := $(if $(filter san,$(KIND)),-O1,-O2) -g $(if $(ARCH),-march=$(ARCH))
# no contraction of a*b+c and no reassociation: every floating-point step is one IEEE-754 operation
# GCOV: of the objects that are counted (host.mk)
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE= $(WARNINGS) -ffp-contract=off -fno-fast-math $(OPT) $(SANITIZE) $(GCOV) $(INCLUDES) $(CFLAGS)
LDFLAGS_ALL = $(SANITIZE) $(if $(filter cov,$(KIND)),--coverage) $(LDFLAGS)

# $(call stamp,file,text): a file that changes when the text does
define stamp
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(2)' | cmp -s - $$@ || printf '%s\n' '$(2)' > $$@
endef
