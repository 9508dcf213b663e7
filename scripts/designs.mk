# The designs: variables NAME.KEY that scripts/design.py writes from the descriptions, and variables derived from them.
export DESIGNS
DESIGN_FILES := $(wildcard $(addsuffix /designs/*/design,. $(DESIGNS)))
$(BUILD)/designs.list: FORCE
	@mkdir -p $(@D)
	@echo '$(DESIGN_FILES)' | cmp -s - $@ || { echo '$(DESIGN_FILES)' > $@.$$$$ && mv $@.$$$$ $@; }
$(BUILD)/designs.mk: $(DESIGN_FILES) $(BUILD)/designs.list scripts/design.py
	@{ echo 'DESIGN_READ := $(DESIGN_FILES)'; $(PYTHON) scripts/design.py make; } > $@.$$$$ && mv $@.$$$$ $@
include $(BUILD)/designs.mk
# written for other designs: make rewrites it before anything else
ifneq ($(DESIGN_READ),$(DESIGN_FILES))
DUTS :=
endif

ifneq ($(DUTS),)
DUT ?= $(DUT_DEFAULT)
ifeq ($(filter $(DUT),$(DUTS)),)
  $(error DUT=$(DUT): expected one of $(DUTS))
endif
CFG ?= $($(DUT).cfg)
KIND ?= $(if $(SAN),san,$(if $(WAVE),debug,$($(DUT).kind)))
endif

# $(call room,NAME,folder): rtl/NAME, tb/NAME, ... as a path from here; $(call rooms,folder): of all designs
room = $($(1).root)$(2)/$(1)
rooms = $(foreach d,$(DUTS),$(call room,$(d),$(1)))
# headers of a design's own folders, and generated ones
room_includes = $(if $($(1).root),-I$($(1).root)) $(foreach r,cmodel drivers tb testcases,-I$(call room,$(1),$(r))) \
  -I$(call room,$(1),testcases)/unit -I$(call gen,$(1))
# $(call cfg_macros,CFG): macros of a configuration for C code of this design: NAME_CFG_NAME, and
# NAME_CFG_<PARAMETER>
upper = $(shell echo '$(1)' | tr a-z A-Z)
DUT_MACRO = $(call upper,$(DUT))_
cfg_macros = $(foreach p,$($(DUT).params.$(1)), \
  -D$(DUT_MACRO)CFG_$(call upper,$(firstword $(subst =, ,$(p))))=$(lastword $(subst =, ,$(p)))) \
  -D$(DUT_MACRO)CFG_NAME='"$(1)"'
