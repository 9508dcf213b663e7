# Generated sources, build/gen/NAME: SystemVerilog and C of a design's registers (regs/NAME.regs), and what its
# designs/NAME/gen.mk adds. $(call gen,NAME): where they are
gen = $(BUILD)/gen/$(1)

# $(call generated,NAME,SCRIPTS,ARGUMENTS,INPUT,PACKAGES): the first script writes files into $(call gen,NAME), packages
# for the RTL among them. Files whose text is unchanged keep their modification time, so nothing is rebuilt for them; a
# stamp records that the script has run.
define generated
$(gen)/$(basename $(notdir $(firstword $(2)))).stamp: $(2) scripts/gen_file.py $(4)
	@mkdir -p $$(@D)
	@$$(PYTHON) $(firstword $(2)) $(3) --out $$(@D)
	@touch $$@
GEN_STAMPS.$(1) += $(gen)/$(basename $(notdir $(firstword $(2)))).stamp
GEN_PKGS.$(1) += $(addprefix $(gen)/,$(5))
endef

REGS := $(foreach d,$(DUTS),$(wildcard $($(d).root)regs/$(d).regs))
$(foreach r,$(REGS),$(eval $(call generated,$(basename $(notdir $(r))),scripts/gen_regs.py scripts/regs_tasks.py, \
  $(r),$(r),$(basename $(notdir $(r)))_regs_pkg.sv)))
include $(foreach d,$(DUTS),$(wildcard $($(d).root)designs/$(d)/gen.mk))
GENERATED := $(foreach d,$(DUTS),$(GEN_STAMPS.$(d)))
# a generated file named by a dependency: run the generators of its design first
$(foreach d,$(DUTS),$(if $(GEN_STAMPS.$(d)),$(eval $(call gen,$(d))/%: $(GEN_STAMPS.$(d)) ;)))

.PHONY: regs generated
generated: $(GENERATED)
regs: ## every day | write docs/NAME/registers.md of every design | sources that are generated from the \
    registers are made by any build, in build/gen/NAME
	@scripts/build.sh generated
	@for r in $(REGS); do d=$$(basename $$r .regs); $(PYTHON) scripts/gen_regs.py $$r \
	  --doc $$(dirname $$r)/../docs/$$d/registers.md || exit 1; done
